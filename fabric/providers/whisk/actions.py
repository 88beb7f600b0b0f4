"""Deploy functions to OpenWhisk as actions.

A deploy creates an action for a version without traffic; the release switches traffic to it.
"""

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import RefusedCallError, mark_untouched, refuse_without_version
from fabric.providers.core.http_calls import build_json_call
from fabric.providers.core.triggers import build_function_endpoint
from fabric.providers.whisk.documents import VersionPlan, build_version_document, refuse_order
from fabric.providers.whisk.packages import (
    ActionRow,
    PackageRow,
    ensure_package,
    fetch_action,
    fetch_own_package,
    foreign_resource_problem,
)
from fabric.providers.whisk.resource_names import (
    ARCHIVE,
    AROUND,
    MARK,
    MET,
    OWNER,
    build_version_name,
    format_action_owner,
    format_resource_id,
    package_name,
    read_version,
)
from fabric.providers.whisk.source import WhiskRuntimes, build_action_source
from fabric.providers.whisk.work import WhiskWork
from fabric.system.retry import TransientError


class _VersionMaking(Struct, frozen=True):
    work: WhiskWork
    address: DeploymentAddress
    plan: VersionPlan
    source: bytes


def deploy_function(
    work: WhiskWork, address: DeploymentAddress, order: FunctionOrder, runtimes: WhiskRuntimes
) -> LiveFunction:
    with mark_untouched():
        runtime = runtimes.require(order, work.titles.name)
        source = build_action_source(order, runtime, work.titles.id)
        refuse_order(order, source)
    name = build_version_name(order.name, order.mark, runtime.digest)
    owner = format_action_owner(address, order.name)
    plan = VersionPlan(order, name, owner, runtime.id, runtime.digest)

    def act(work: WhiskWork) -> LiveFunction:
        return _deploy_version(_VersionMaking(work, address, plan, source))

    return work.trying(act)


def _deploy_version(making: _VersionMaking) -> LiveFunction:
    work, address, plan = making.work, making.address, making.plan
    found = _find_matching_version(making)
    if found is None:
        refuse_without_version(plan.order)
        ensure_package(work, address)
        _put(making)
        work.watch.hear(f"{plan.order.name}: {plan.name} exists and receives no traffic yet")
    version = found.name if found else plan.name
    live = _build_live_function(work, address, plan.order.name, version)
    live = replace(
        live,
        artifact_sha256=found.read_annotation(ARCHIVE) if found else plan.order.artifact.sha256,
        mark=plan.order.mark,
        triggers=plan.order.triggers,
    )
    return replace(live, endpoint=build_action_endpoint(work, address, live))


def build_action_endpoint(work: WhiskWork, address: DeploymentAddress, live: LiveFunction) -> str:
    """Return the endpoint, from the triggers of the order: an interrupted run could have left an
    outdated action."""
    web = f"{work.api.door.web}/{package_name(address)}/{live.name}"
    return build_function_endpoint(web, live.triggers)


def _put(making: _VersionMaking) -> None:
    package, plan = package_name(making.address), making.plan
    path = f"/actions/{package}/{plan.name}?overwrite=false"
    try:
        making.work.change(
            build_json_call("PUT", path, build_version_document(plan, making.source))
        )
    except RefusedCallError as error:
        if not error.is_gone:
            raise
        # The package has gone meanwhile.
        making.work.api.see(package, is_own=False)
        raise TransientError(f"`{error.call}` found no package") from error


def _find_matching_version(making: _VersionMaking) -> ActionRow | None:
    """Find the version to roll back to, if it still exists, otherwise a version that matches the
    order."""
    work, address, plan = making.work, making.address, making.plan
    named = read_version(plan.order.version)
    then = fetch_action(work, address, named) if named and named != plan.name else None
    if (
        then is not None
        and is_of(then, plan.owner)
        and then.read_annotation(MARK) == plan.order.mark
    ):
        return then
    found = fetch_action(work, address, plan.name)
    if found is not None and not is_of(found, plan.owner):
        raise FabricError(foreign_resource_problem("action", found.name, plan.owner))
    return found


def is_of(row: ActionRow, owner: str) -> bool:
    return row.read_annotation(OWNER) == owner


def _build_live_function(
    work: WhiskWork, address: DeploymentAddress, function: str, version: str
) -> LiveFunction:
    package = package_name(address)
    ident = format_resource_id(work.place, package, version)
    return LiveFunction(function, f"{package}/{function}", ident)


def find_function(
    work: WhiskWork, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find the version with a mark, or without one the version that receives traffic."""
    return (
        _find_by_mark(work, address, function, mark)
        if mark
        else _find_active_version(work, address, function)
    )


def _find_by_mark(
    work: WhiskWork, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find a version with this mark, whatever its surroundings."""
    package, owner = fetch_own_package(work, address), format_action_owner(address, function)
    for row in list_versions(package, owner) if package else ():
        if row.read_annotation(MARK) == mark:
            live = _build_live_function(work, address, function, row.name)
            return replace(live, artifact_sha256=row.read_annotation(ARCHIVE), mark=mark)
    return None


def list_versions(package: PackageRow, owner: str) -> list[ActionRow]:
    return [one for one in package.actions if is_of(one, owner) and one.read_annotation(AROUND)]


def _find_active_version(
    work: WhiskWork, address: DeploymentAddress, function: str
) -> LiveFunction | None:
    package = fetch_own_package(work, address)
    row = package.action(function) if package else None
    if row is None:
        return None
    if not is_of(row, format_action_owner(address, function)):
        raise FabricError(
            foreign_resource_problem("action", row.name, format_action_owner(address, function))
        )
    version = row.read_annotation(MET).partition(" ")[0]
    live = _build_live_function(work, address, function, version)
    return replace(
        live, artifact_sha256=row.read_annotation(ARCHIVE), mark=row.read_annotation(MARK)
    )
