"""The OpenWhisk package of a service, which lists all its actions in one call."""

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.errors import RefusedCallError, ignore_missing
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.whisk.refusals import CONFLICT
from fabric.providers.whisk.resource_names import (
    OWNER,
    WhiskAnnotation,
    build_annotations,
    package_name,
    package_owner,
    read_annotation,
)
from fabric.providers.whisk.work import WhiskWork


class ActionRow(Struct, frozen=True):
    name: str
    annotations: tuple[WhiskAnnotation, ...] = ()

    def read_annotation(self, name: str) -> str:
        return read_annotation(self.annotations, name)


def fetch_action(work: WhiskWork, address: DeploymentAddress, name: str) -> ActionRow | None:
    return work.look(f"/actions/{package_name(address)}/{name}?code=false", ActionRow)


class PackageRow(Struct, frozen=True):
    name: str
    annotations: tuple[WhiskAnnotation, ...] = ()
    actions: tuple[ActionRow, ...] = ()

    def is_of(self, address: DeploymentAddress) -> bool:
        return read_annotation(self.annotations, OWNER) == package_owner(address)

    def action(self, name: str) -> ActionRow | None:
        return next((one for one in self.actions if one.name == name), None)


def package_row(work: WhiskWork, address: DeploymentAddress) -> PackageRow | None:
    return work.look(f"/packages/{package_name(address)}", PackageRow)


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


def foreign_resource_problem(kind: str, name: str, owner: str) -> Problem:
    message = f"the {kind} `{name}` already exists and does not belong to {owner}"
    hint = "delete it manually, or rename the service; it was not changed"
    return Problem("deploy/foreign", message, hint)
