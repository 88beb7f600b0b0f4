"""Deploy functions to Cloudflare: a deploy uploads a Worker version; the release switches traffic
to it."""

from fabric.model.problems import FabricError, Problem
from fabric.providers.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.edge1.own_settings import owner_of, version_id, version_in, worker_name
from fabric.providers.edge1.uploads import function_upload, made_mark
from fabric.providers.edge1.versions import (
    Edge1Work,
    live_function,
    met_version,
    refuse_foreign,
    uploaded,
    version,
    versions,
)
from fabric.providers.only_version import refuse_without_version
from fabric.providers.refused_calls import untouched
from fabric.providers.sources import TOO_LARGE

_VARIABLE_BYTES = 5 * 1024
_VARIABLES = 128


def made(work: Edge1Work, address: DeploymentAddress, order: FunctionOrder) -> LiveFunction:
    name, owner = worker_name(address, order.name), owner_of(address, order.name)
    ident = version_in(order.version)
    then = version(work, name, ident) if ident else None
    date = work.own.compatibility_date
    if then is None or then.tag != owner.tag(made_mark(order.mark, date)):
        refuse_without_version(order)
        with untouched():
            upload = function_upload(order, owner, date)
        ident = uploaded(work, name, upload)
    work.watch.hear(f"{order.name}: version {ident} is ready")
    return LiveFunction(
        order.name,
        name,
        version_id(work.api.account.account, name, ident),
        artifact_sha256=order.artifact.sha256,
        mark=order.mark,
        triggers=order.triggers,
    )


def refuse_variables(order: FunctionOrder) -> None:
    """Raise for unsupported variables before any API call: values are first known here."""
    pairs = order.env.reveal()
    large = sorted(name for name, text in pairs if len(text.encode()) > _VARIABLE_BYTES)
    problems = [
        Problem(
            "deploy/environment-too-large",
            f"function `{order.name}`: the variable `{name}` has more than {_VARIABLE_BYTES:,} "
            "bytes",
            "store large values in a file of the function: Cloudflare rejects larger variables",
        )
        for name in large
    ]
    if len(pairs) > _VARIABLES:
        why = f"has {len(pairs)} variables; Cloudflare allows {_VARIABLES}"
        message = f"function `{order.name}` {why}"
        problems.append(Problem("deploy/environment-too-large", message, TOO_LARGE))
    if problems:
        raise FabricError(*problems)


def found(
    work: Edge1Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find the version with a mark, or without one the version that receives traffic."""
    if mark:
        return made_under(work, address, function, mark)
    return met(work, address, function)


def made_under(
    work: Edge1Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    name, owner = worker_name(address, function), owner_of(address, function)
    rows = versions(work, name) or ()
    tag = owner.tag(made_mark(mark, work.own.compatibility_date))
    found = next((one for one in rows if one.tag == tag), None)
    return None if found is None else live_function(work, name, found, owner)


def met(work: Edge1Work, address: DeploymentAddress, function: str) -> LiveFunction | None:
    """Find the version that receives traffic. A Worker of another owner is treated as missing."""
    name, owner = worker_name(address, function), owner_of(address, function)
    ident = met_version(work, name)
    found = version(work, name, ident) if ident else None
    if found is None:
        return None
    if not owner.is_of(found.tag):
        refuse_foreign(name, versions(work, name) or (), owner)
    return live_function(work, name, found, owner)
