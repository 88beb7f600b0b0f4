"""Delete a service on Alibaba Cloud: triggers, aliases and versions first, then functions."""

from collections.abc import Sequence

from fabric.providers.cloud4.concurrency import set_concurrency
from fabric.providers.cloud4.functions import fetch_function
from fabric.providers.cloud4.release_state import require_ownership_tag
from fabric.providers.cloud4.settings import build_function_name, build_owner
from fabric.providers.cloud4.triggers import delete_trigger, list_triggers
from fabric.providers.cloud4.versions import (
    delete_alias,
    delete_version,
    list_aliases,
    list_versions,
)
from fabric.providers.cloud4.work import Cloud4Work
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.retry import run_parallel


def delete_functions(
    work: Cloud4Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    """Delete functions with all their triggers, aliases and versions, regardless of their creator.
    A function cannot be deleted while it has any."""

    def remove(one: LiveFunction) -> None:
        with attach_error_spot(one.name), work.convert_errors(f"function `{one.name}`"):
            _delete(work, address, one)

    run_parallel(remove, functions)


def _delete(work: Cloud4Work, address: DeploymentAddress, one: LiveFunction) -> None:
    name, owner = (
        one.resource_name or build_function_name(address, one.name),
        build_owner(address, one.name),
    )
    row = fetch_function(work, name)
    if row is None:
        require_ownership_tag(address, one.name, work.place)
        return
    if not owner.is_in(row.description):
        # What was never ours keeps nobody from taking away what is.
        work.watch.hear(
            f"the function `{name}` does not belong to {owner.title} and was not deleted"
        )
        return
    for trigger in list(list_triggers(work, name)):
        delete_trigger(work, name, trigger.trigger_name)
    for alias in list(list_aliases(work, name)):
        delete_alias(work, name, alias.alias_name)
    for version in list(list_versions(work, name)):
        delete_version(work, name, version.version_id)
    set_concurrency(work, name, None)
    work.delete("DeleteFunction", name)
    work.watch.hear(f"{one.name}: deleted with all its versions")
