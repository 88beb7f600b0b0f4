"""Deploy functions to OpenWhisk as actions.

A deploy creates an action for a version without traffic; the release switches traffic to it.
"""

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import (
    RefusedCallError,
    ignore_missing,
    mark_untouched,
    refuse_without_version,
)
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.ownership import foreign_resource_problem
from fabric.providers.core.triggers import build_function_endpoint
from fabric.providers.whisk.client import (
    ARCHIVE,
    AROUND,
    CONFLICT,
    MARK,
    MET,
    OWNER,
    WhiskAnnotation,
    build_annotations,
    build_version_name,
    format_action_owner,
    format_resource_id,
    package_name,
    package_owner,
    read_annotation,
    read_version,
)
from fabric.providers.whisk.documents import (
    VersionPlan,
    build_action_source,
    build_version_document,
    refuse_order,
)
from fabric.providers.whisk.work import WhiskWork
from fabric.system.retry import TransientError


class _VersionMaking(Struct, frozen=True):
    work: WhiskWork
    address: DeploymentAddress
    plan: VersionPlan
    source: bytes


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


def _build_live_function(
    work: WhiskWork, address: DeploymentAddress, function: str, version: str
) -> LiveFunction:
    package = package_name(address)
    ident = format_resource_id(work.place, package, version)
    return LiveFunction(function, f"{package}/{function}", ident)


def find_by_mark(
    work: WhiskWork, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find a version with this mark, whatever its surroundings."""
    package, owner = fetch_own_package(work, address), format_action_owner(address, function)
    for row in list_versions(package, owner) if package else ():
        if row.read_annotation(MARK) == mark:
            live = _build_live_function(work, address, function, row.name)
            return replace(live, artifact_sha256=row.read_annotation(ARCHIVE), mark=mark)
    return None


def find_active_version(
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


def deploy_function(
    work: WhiskWork, address: DeploymentAddress, order: FunctionOrder
) -> LiveFunction:
    with mark_untouched():
        runtime = work.provider.runtimes.require(order)
        source = build_action_source(order, runtime, work.provider.id)
        refuse_order(order, source)
    name = build_version_name(order.name, order.mark, runtime.digest)
    owner = format_action_owner(address, order.name)
    plan = VersionPlan(order, name, owner, runtime.id, runtime.digest)

    def act(work: WhiskWork) -> LiveFunction:
        return _deploy_version(_VersionMaking(work, address, plan, source))

    return work.trying(act)


class ActionRow(Struct, frozen=True):
    name: str
    annotations: tuple[WhiskAnnotation, ...] = ()

    def read_annotation(self, name: str) -> str:
        return read_annotation(self.annotations, name)


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


def fetch_action(work: WhiskWork, address: DeploymentAddress, name: str) -> ActionRow | None:
    return work.look(
        ProviderCall("GET", f"/actions/{package_name(address)}/{name}?code=false"), ActionRow
    )


class PackageRow(Struct, frozen=True):
    name: str
    annotations: tuple[WhiskAnnotation, ...] = ()
    actions: tuple[ActionRow, ...] = ()

    def is_of(self, address: DeploymentAddress) -> bool:
        return read_annotation(self.annotations, OWNER) == package_owner(address)

    def action(self, name: str) -> ActionRow | None:
        return next((one for one in self.actions if one.name == name), None)


def list_versions(package: PackageRow, owner: str) -> list[ActionRow]:
    return [one for one in package.actions if is_of(one, owner) and one.read_annotation(AROUND)]


def package_row(work: WhiskWork, address: DeploymentAddress) -> PackageRow | None:
    return work.look(ProviderCall("GET", f"/packages/{package_name(address)}"), PackageRow)


def fetch_own_package(work: WhiskWork, address: DeploymentAddress) -> PackageRow | None:
    """Return the package, or None if it is missing or not ours."""
    row = package_row(work, address)
    if row is not None and not row.is_of(address):
        raise FabricError(foreign_resource_problem("package", row.name, package_owner(address)))
    return row


def ensure_package(work: WhiskWork, address: DeploymentAddress) -> None:
    name = package_name(address)
    if work.api.has_seen(name):
        return
    if fetch_own_package(work, address) is None:
        _make_package(work, address)
        if address.previous is not None and address.previous.functions:
            work.watch.hear(
                f"the package {name} was deleted with all its functions; run `fabric deploy "
                "--force` to re-create unchanged ones"
            )
    work.api.see(name, is_own=True)


def _make_package(work: WhiskWork, address: DeploymentAddress) -> None:
    name = package_name(address)
    document = {"annotations": build_annotations({OWNER: package_owner(address)})}
    work.change(build_json_call("PUT", f"/packages/{name}?overwrite=false", document))
    work.watch.hear(f"{address.service}: the package {name} exists")


def delete_package(work: WhiskWork, address: DeploymentAddress) -> None:
    """Delete the package if it is empty. Actions of other owners keep it in place."""
    name = package_name(address)
    work.api.see(name, is_own=False)
    try:
        with ignore_missing():
            work.ask(ProviderCall("DELETE", f"/packages/{name}"), object)
    except RefusedCallError as error:
        if error.status != CONFLICT:
            raise
        work.watch.hear(f"the package {name} has actions of other owners and was not deleted")
