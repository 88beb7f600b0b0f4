"""Delete a service in a namespace: schedules first, then actions."""

from collections.abc import Callable, Sequence

from fabric.model.amounts import format_count
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.retry import run_parallel
from fabric.providers.whisk.clocks import Clocks
from fabric.providers.whisk.packages import ActionRow, delete_package, package_row
from fabric.providers.whisk.pruning import delete_action
from fabric.providers.whisk.resource_names import (
    OWNER,
    format_action_owner,
    package_name,
    package_owner,
)
from fabric.providers.whisk.work import WhiskWork


def delete_functions(
    work: WhiskWork,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
    clocks: Clocks,
) -> None:
    """Delete these functions with all their versions."""
    owners = frozenset(format_action_owner(address, one.name) for one in functions)
    _delete_matching(work, address, clocks, owners.__contains__)


def delete_service(
    work: WhiskWork,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],  # noqa: ARG001 - what is there says whose it is
    clocks: Clocks,
) -> None:
    """Delete all resources of the service, and the package if it is empty then."""
    begin = f"{package_owner(address)}/"
    _delete_matching(work, address, clocks, lambda owner: owner.startswith(begin))


def _delete_matching(
    work: WhiskWork, address: DeploymentAddress, clocks: Clocks, is_meant: Callable[[str], bool]
) -> None:
    package = package_row(work, address)
    name = package_name(address)
    own = {one.name: one.read_annotation(OWNER) for one in package.actions} if package else {}
    is_others = package is not None and not package.is_of(address)
    for ident, called in clocks.there(work, name).items():
        action = called.rpartition("/")[2]
        # In a package of others what it calls has to say itself that it is ours.
        owner = own.get(action, "") if is_others else format_action_owner(address, action)
        if is_meant(owner):
            clocks.delete(work, ident)
    if package is None:
        return
    going = [one for one in package.actions if is_meant(one.read_annotation(OWNER))]
    run_parallel(lambda one: delete_action(work, name, one.name), sorted(going, key=_rank_deletion))
    work.watch.hear(f"{name}: {format_count(len(going), 'action')} deleted")
    begin = f"{package_owner(address)}/"
    for one in sorted(package.actions, key=_rank_deletion):
        if not one.read_annotation(OWNER).startswith(begin):
            work.watch.hear(
                f"{name}: the action `{one.name}` does not belong to this service "
                "and was not deleted"
            )
    if is_others:
        # What was never ours keeps nobody from taking away what is.
        work.watch.hear(
            f"the package `{name}` does not belong to {package_owner(address)} and was not deleted"
        )
    elif len(going) == len(package.actions):
        delete_package(work, address)


def _rank_deletion(row: ActionRow) -> int:
    """Order active actions before versions."""
    return len(row.name)
