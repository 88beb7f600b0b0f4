"""Deploy functions to OpenWhisk as actions.

A deploy creates an action for a version without traffic; the release switches traffic to it.
"""

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.providers.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.http_calls import sending
from fabric.providers.naming import function_endpoint
from fabric.providers.only_version import refuse_without_version
from fabric.providers.refused_calls import RefusedCallError, untouched
from fabric.providers.whisk.documents import VersionPlan, refuse_order, version_document
from fabric.providers.whisk.own_names import (
    ARCHIVE,
    AROUND,
    MARK,
    MET,
    OWNER,
    action_owner,
    package_name,
    resource_id,
    version_in,
    version_name,
)
from fabric.providers.whisk.packages import (
    ActionRow,
    PackageRow,
    action_row,
    foreign,
    have_package,
    own_package,
)
from fabric.providers.whisk.source import WhiskRuntimes, action_source
from fabric.providers.whisk.work import WhiskWork
from fabric.system.retry import TransientError


class _VersionMaking(Struct, frozen=True):
    work: WhiskWork
    address: DeploymentAddress
    plan: VersionPlan
    source: bytes


def made(
    work: WhiskWork, address: DeploymentAddress, order: FunctionOrder, runtimes: WhiskRuntimes
) -> LiveFunction:
    with untouched():
        runtime = runtimes.require(order, work.titles.name)
        source = action_source(order, runtime, work.titles.id)
        refuse_order(order, source)
    name = version_name(order.name, order.mark, runtime.digest)
    owner = action_owner(address, order.name)
    plan = VersionPlan(order, name, owner, runtime.id, runtime.digest)

    def act(work: WhiskWork) -> LiveFunction:
        return _made(_VersionMaking(work, address, plan, source))

    return work.trying(act)


def _made(making: _VersionMaking) -> LiveFunction:
    work, address, plan = making.work, making.address, making.plan
    found = _there(making)
    if found is None:
        refuse_without_version(plan.order)
        have_package(work, address)
        _put(making)
        work.watch.hear(f"{plan.order.name}: {plan.name} exists and receives no traffic yet")
    version = found.name if found else plan.name
    live = _live(work, address, plan.order.name, version)
    live = replace(
        live,
        artifact_sha256=found.said(ARCHIVE) if found else plan.order.artifact.sha256,
        mark=plan.order.mark,
        triggers=plan.order.triggers,
    )
    return replace(live, endpoint=action_endpoint(work, address, live))


def action_endpoint(work: WhiskWork, address: DeploymentAddress, live: LiveFunction) -> str:
    """Return the endpoint, from the triggers of the order: an interrupted run could have left an
    outdated action."""
    web = f"{work.api.door.web}/{package_name(address)}/{live.name}"
    return function_endpoint(web, live.triggers)


def _put(making: _VersionMaking) -> None:
    package, plan = package_name(making.address), making.plan
    path = f"/actions/{package}/{plan.name}?overwrite=false"
    try:
        making.work.change(sending("PUT", path, version_document(plan, making.source)))
    except RefusedCallError as error:
        if not error.is_gone:
            raise
        # The package has gone meanwhile.
        making.work.api.see(package, is_own=False)
        raise TransientError(f"`{error.call}` found no package") from error


def _there(making: _VersionMaking) -> ActionRow | None:
    """Find the version to roll back to, if it still exists, otherwise a version that matches the
    order."""
    work, address, plan = making.work, making.address, making.plan
    named = version_in(plan.order.version)
    then = action_row(work, address, named) if named and named != plan.name else None
    if then is not None and is_of(then, plan.owner) and then.said(MARK) == plan.order.mark:
        return then
    found = action_row(work, address, plan.name)
    if found is not None and not is_of(found, plan.owner):
        raise FabricError(foreign("action", found.name, plan.owner))
    return found


def is_of(row: ActionRow, owner: str) -> bool:
    return row.said(OWNER) == owner


def _live(work: WhiskWork, address: DeploymentAddress, function: str, version: str) -> LiveFunction:
    package = package_name(address)
    ident = resource_id(work.place, package, version)
    return LiveFunction(function, f"{package}/{function}", ident)


def found(
    work: WhiskWork, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find the version with a mark, or without one the version that receives traffic."""
    return _under(work, address, function, mark) if mark else _met(work, address, function)


def _under(
    work: WhiskWork, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find a version with this mark, whatever its surroundings."""
    package, owner = own_package(work, address), action_owner(address, function)
    for row in versions_of(package, owner) if package else ():
        if row.said(MARK) == mark:
            live = _live(work, address, function, row.name)
            return replace(live, artifact_sha256=row.said(ARCHIVE), mark=mark)
    return None


def versions_of(package: PackageRow, owner: str) -> list[ActionRow]:
    return [one for one in package.actions if is_of(one, owner) and one.said(AROUND)]


def _met(work: WhiskWork, address: DeploymentAddress, function: str) -> LiveFunction | None:
    package = own_package(work, address)
    row = package.action(function) if package else None
    if row is None:
        return None
    if not is_of(row, action_owner(address, function)):
        raise FabricError(foreign("action", row.name, action_owner(address, function)))
    version = row.said(MET).partition(" ")[0]
    live = _live(work, address, function, version)
    return replace(live, artifact_sha256=row.said(ARCHIVE), mark=row.said(MARK))
