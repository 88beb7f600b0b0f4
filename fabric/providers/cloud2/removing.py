"""Delete a service on Google Cloud: schedules first, then their functions."""

from collections.abc import Callable, Sequence

from fabric.providers.cloud2.api import BUILDS_AT_ONCE, FUNCTIONS
from fabric.providers.cloud2.functions import fetch_function
from fabric.providers.cloud2.jobs import delete_job, list_all_jobs
from fabric.providers.cloud2.release_state import CLOCKS
from fabric.providers.cloud2.settings import build_function_name, build_owner
from fabric.providers.cloud2.work import Cloud2Work, OperationRow, wait_for_operation
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.triggers import collect_trigger_kinds


def delete_functions(
    work: Cloud2Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    """Delete functions, with their permissions, revisions and Cloud Run services."""
    jobs = list_all_jobs(work) if any(map(_build_clock_check(address), functions)) else []

    def remove(one: LiveFunction) -> None:
        owner = build_owner(address, one.name)
        with attach_error_spot(one.name), work.convert_errors(f"function `{one.name}`"):
            for job in jobs:
                if owner.is_in(job.description):
                    delete_job(work, job.name.rpartition("/")[2])
            _delete(work, address, one)

    run_parallel(remove, functions, BUILDS_AT_ONCE)


def _build_clock_check(address: DeploymentAddress) -> Callable[[LiveFunction], bool]:
    """Build a check for possible schedules. Without stored ones, no permission on jobs is needed.

    After an interrupted release the answer is unknown, so jobs are read.
    """
    kept = read_kept_texts(address)

    def has_clocks(one: LiveFunction) -> bool:
        return kept.sure(CLOCKS + one.name) != "" or "cron" in collect_trigger_kinds(one.triggers)

    return has_clocks


def _delete(work: Cloud2Work, address: DeploymentAddress, one: LiveFunction) -> None:
    name, owner = (
        one.resource_name or build_function_name(address, one.name),
        build_owner(address, one.name),
    )

    def act(work: Cloud2Work) -> bool:
        """Delete the function and return whether one of ours existed."""
        row = fetch_function(work, name)
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
        wait_for_operation(work, FUNCTIONS, begun, f"function `{one.name}`")
        return True

    if work.trying(act):
        work.watch.hear(f"{one.name}: deleted with all its revisions")
