"""Delete a service on AWS: event sources first, then functions."""

from collections.abc import Sequence

from fabric.providers.cloud1.answers import GONE, unless
from fabric.providers.cloud1.clients import AT_ONCE
from fabric.providers.cloud1.function_settings import function_name
from fabric.providers.cloud1.gateway import removed_gateway
from fabric.providers.cloud1.kept import kept_in
from fabric.providers.cloud1.ownership import (
    is_foreign,
    refuse_other_account,
)
from fabric.providers.cloud1.statements import drop_statements
from fabric.providers.cloud1.unwiring import planned_unwiring, unwire, unwire_service
from fabric.providers.cloud1.versions import Cloud1Work, described
from fabric.providers.contract import DeploymentAddress, LiveFunction
from fabric.providers.side_by_side import side_by_side


def destroyed(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    refuse_other_account(work, address)
    unwire(planned_unwiring(work, address, functions, kept_in(address)))
    _delete(work, address, functions)


def dissolved(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    refuse_other_account(work, address)
    kept = kept_in(address)
    unwiring = planned_unwiring(work, address, functions, kept)
    removed_gateway(work, address, kept.texts)
    unwire_service(unwiring)
    _delete(work, address, functions)
    drop_statements(work, address, kept)


def _delete(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    def delete(one: LiveFunction) -> None:
        name = one.resource_name or function_name(address, one.name)
        found = described(work, name)
        if found is not None and is_foreign(address, one.name, found):
            work.watch.hear(f"{one.name}: `{name}` now belongs to another owner and is not deleted")
            return
        with unless(GONE):
            work.functions.delete_function(FunctionName=name)
        work.watch.hear(f"{one.name}: deleted with all its versions")

    side_by_side(delete, functions, AT_ONCE)
