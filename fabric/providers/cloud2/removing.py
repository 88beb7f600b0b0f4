"""Delete a service on Google Cloud: schedules first, then their functions."""

from collections.abc import Callable, Sequence

from fabric.providers.cloud2.api import BUILDS_AT_ONCE, FUNCTIONS
from fabric.providers.cloud2.functions import function_row
from fabric.providers.cloud2.jobs import all_jobs, delete_job
from fabric.providers.cloud2.kept import CLOCKS
from fabric.providers.cloud2.own_settings import function_name, owner_of
from fabric.providers.cloud2.work import Cloud2Work, OperationRow, finished
from fabric.providers.concerning import concerning
from fabric.providers.contract import DeploymentAddress, LiveFunction
from fabric.providers.http_calls import ProviderCall
from fabric.providers.kept_texts import kept_texts
from fabric.providers.side_by_side import side_by_side
from fabric.providers.trigger_kinds import kinds_of


def removed(
    work: Cloud2Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    """Delete functions, with their permissions, revisions and Cloud Run services."""
    jobs = all_jobs(work) if any(map(_may_have_clocks(address), functions)) else []

    def remove(one: LiveFunction) -> None:
        owner = owner_of(address, one.name)
        with concerning(one.name), work.told(f"function `{one.name}`"):
            for job in jobs:
                if owner.is_in(job.description):
                    delete_job(work, job.name.rpartition("/")[2])
            _delete(work, address, one)

    side_by_side(remove, functions, BUILDS_AT_ONCE)


def _may_have_clocks(address: DeploymentAddress) -> Callable[[LiveFunction], bool]:
    """Build a check for possible schedules. Without stored ones, no permission on jobs is needed.

    After an interrupted release the answer is unknown, so jobs are read.
    """
    kept = kept_texts(address)

    def may_have(one: LiveFunction) -> bool:
        return kept.sure(CLOCKS + one.name) != "" or "cron" in kinds_of(one.triggers)

    return may_have


def _delete(work: Cloud2Work, address: DeploymentAddress, one: LiveFunction) -> None:
    name, owner = one.resource_name or function_name(address, one.name), owner_of(address, one.name)

    def act(work: Cloud2Work) -> bool:
        """Delete the function and return whether one of ours existed."""
        row = function_row(work, name)
        if row is None:
            return False
        if not row.is_of(owner):
            # What was never ours keeps nobody from taking away what is.
            work.watch.hear(
                f"the function `{name}` does not belong to {owner.title} and was not deleted"
            )
            return False
        call = ProviderCall("DELETE", f"/v2/{work.place.function(name)}")
        begun = work.api.once(FUNCTIONS, call, OperationRow)
        finished(work, FUNCTIONS, begun, f"function `{one.name}`")
        return True

    if work.trying(act):
        work.watch.hear(f"{one.name}: deleted with all its revisions")
