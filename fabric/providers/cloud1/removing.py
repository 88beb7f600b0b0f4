"""Delete a service on AWS: event sources first, then functions."""

from collections.abc import Sequence

from fabric.providers.cloud1.answers import GONE, ignore_codes
from fabric.providers.cloud1.clients import MAX_PARALLEL
from fabric.providers.cloud1.delete_event_sources import plan_unwiring, unwire, unwire_service
from fabric.providers.cloud1.function_settings import build_function_name
from fabric.providers.cloud1.gateway import remove_gateway
from fabric.providers.cloud1.ownership import (
    is_foreign,
    refuse_other_account,
)
from fabric.providers.cloud1.release_state import read_kept_state
from fabric.providers.cloud1.statements import drop_statements
from fabric.providers.cloud1.versions import Cloud1Work, describe_function
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.retry import run_parallel


def delete_functions(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    refuse_other_account(work, address)
    unwire(plan_unwiring(work, address, functions, read_kept_state(address)))
    _delete(work, address, functions)


def delete_service(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    refuse_other_account(work, address)
    kept = read_kept_state(address)
    unwiring = plan_unwiring(work, address, functions, kept)
    remove_gateway(work, address, kept.texts)
    unwire_service(unwiring)
    _delete(work, address, functions)
    drop_statements(work, address, kept)


def _delete(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    def delete(one: LiveFunction) -> None:
        name = one.resource_name or build_function_name(address, one.name)
        found = describe_function(work, name)
        if found is not None and is_foreign(address, one.name, found):
            work.watch.hear(f"{one.name}: `{name}` now belongs to another owner and is not deleted")
            return
        with ignore_codes(GONE):
            work.functions.delete_function(FunctionName=name)
        work.watch.hear(f"{one.name}: deleted with all its versions")

    run_parallel(delete, functions, MAX_PARALLEL)
