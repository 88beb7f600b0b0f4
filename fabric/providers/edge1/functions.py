"""Deploy functions to Cloudflare: a deploy uploads a Worker version; the release switches traffic
to it."""

from msgspec.structs import replace

from fabric.model.problems import Problem, raise_if_any
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import mark_untouched, refuse_without_version
from fabric.providers.core.sources import TOO_LARGE
from fabric.providers.core.static_files import refuse_missing_files
from fabric.providers.edge1.assets import (
    find_static_folder,
    has_assets,
    list_asset_bindings,
    read_assets,
    upload_assets,
)
from fabric.providers.edge1.bindings.objects import deploy_objects
from fabric.providers.edge1.bindings.resources import resolve_bindings
from fabric.providers.edge1.client import (
    Owner,
    build_worker_name,
    build_worker_owner,
    format_worker_version_id,
    read_version,
)
from fabric.providers.edge1.uploads import build_function_upload, extend_mark
from fabric.providers.edge1.versions import (
    VersionRow,
    check_ownership,
    fetch_version,
    find_met_version,
    list_worker_versions,
    upload_version,
)
from fabric.providers.edge1.work import Edge1Work

_VARIABLE_BYTES = 5 * 1024
_VARIABLES = 128


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
    raise_if_any(problems)


def deploy_function(
    work: Edge1Work, address: DeploymentAddress, order: FunctionOrder
) -> LiveFunction:
    name, owner = build_worker_name(address, order.name), build_worker_owner(address, order.name)
    ident = read_version(order.version)
    then = fetch_version(work, name, ident) if ident else None
    date = work.own.compatibility_date
    if then is None or then.tag != owner.tag(extend_mark(order.mark, date)):
        refuse_without_version(order)
        with mark_untouched():
            static = find_static_folder(work.own.assets)
            upload = build_function_upload(order, owner, date, static)
            files = read_assets(order, static)
            if has_assets(work.own.assets, order.name):
                refuse_missing_files(static, files)
        bindings = resolve_bindings(work, address, order.name)
        deploy_objects(work, address, order, bindings)
        named = list_asset_bindings(work.own.assets, order.name)
        upload = upload.complete((*bindings, *named), work.own.metadata)
        if files and has_assets(work.own.assets, order.name):
            upload = replace(upload, assets=upload_assets(work, name, files))
        ident = upload_version(work, name, upload)
    work.watch.hear(f"{order.name}: version {ident} is ready")
    return LiveFunction(
        order.name,
        name,
        format_worker_version_id(work.api.account.account, name, ident),
        artifact_sha256=order.artifact.sha256,
        mark=order.mark,
        triggers=order.triggers,
    )


def find_by_mark(
    work: Edge1Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    name, owner = build_worker_name(address, function), build_worker_owner(address, function)
    rows = list_worker_versions(work, name) or ()
    tag = owner.tag(extend_mark(mark, work.own.compatibility_date))
    found = next((one for one in rows if one.tag == tag), None)
    return None if found is None else build_live_function(work, name, found, owner)


def find_active_version(
    work: Edge1Work, address: DeploymentAddress, function: str
) -> LiveFunction | None:
    """Find the version that receives traffic. A Worker of another owner is treated as missing."""
    name, owner = build_worker_name(address, function), build_worker_owner(address, function)
    ident = find_met_version(work, name)
    found = fetch_version(work, name, ident) if ident else None
    if found is None:
        return None
    if not owner.is_of(found.tag):
        check_ownership(name, list_worker_versions(work, name) or (), owner)
    return build_live_function(work, name, found, owner)


def build_live_function(work: Edge1Work, name: str, row: VersionRow, owner: Owner) -> LiveFunction:
    return LiveFunction(
        owner.function,
        name,
        format_worker_version_id(work.api.account.account, name, row.id),
        artifact_sha256=row.archive,
        mark=owner.mark_in(row.tag),
    )
