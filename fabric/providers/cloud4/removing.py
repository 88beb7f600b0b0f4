"""Delete a service on Alibaba Cloud: triggers, aliases and versions first, then functions."""

from collections.abc import Sequence

from fabric.providers.cloud4.concurrency import set_concurrency
from fabric.providers.cloud4.functions import function_row
from fabric.providers.cloud4.kept import refuse_unproven
from fabric.providers.cloud4.own_settings import function_name, owner_of
from fabric.providers.cloud4.triggers import delete_trigger, triggers_of
from fabric.providers.cloud4.versions import (
    aliases_of,
    delete_alias,
    delete_version,
    versions_of,
)
from fabric.providers.cloud4.work import Cloud4Work
from fabric.providers.concerning import concerning
from fabric.providers.contract import DeploymentAddress, LiveFunction
from fabric.providers.side_by_side import side_by_side


def removed(
    work: Cloud4Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    """Delete functions with all their triggers, aliases and versions, regardless of their creator.
    A function cannot be deleted while it has any."""

    def remove(one: LiveFunction) -> None:
        with concerning(one.name), work.told(f"function `{one.name}`"):
            _delete(work, address, one)

    side_by_side(remove, functions)


def _delete(work: Cloud4Work, address: DeploymentAddress, one: LiveFunction) -> None:
    name, owner = one.resource_name or function_name(address, one.name), owner_of(address, one.name)
    row = function_row(work, name)
    if row is None:
        refuse_unproven(address, one.name, work.place)
        return
    if not owner.is_in(row.description):
        # What was never ours keeps nobody from taking away what is.
        work.watch.hear(
            f"the function `{name}` does not belong to {owner.title} and was not deleted"
        )
        return
    for trigger in list(triggers_of(work, name)):
        delete_trigger(work, name, trigger.trigger_name)
    for alias in list(aliases_of(work, name)):
        delete_alias(work, name, alias.alias_name)
    for version in list(versions_of(work, name)):
        delete_version(work, name, version.version_id)
    set_concurrency(work, name, None)
    work.delete("DeleteFunction", name)
    work.watch.hear(f"{one.name}: deleted with all its versions")
