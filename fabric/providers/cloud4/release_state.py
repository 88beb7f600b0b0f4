"""Names of the values that a release stores for the next one, and the place of a service."""

from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.providers.cloud4.settings import Cloud4Place, parse_version
from fabric.providers.core.contract import DeploymentAddress

# Of each function: the version that is met, its address, its clocks, and what it has beside.
MET_VERSION, ROUTE, CLOCKS, BESIDE = "version:", "route:", "clocks:", "beside:"


def locate_deployment(address: DeploymentAddress) -> DeploymentAddress:
    """Return the address with the deployed region, which can differ from the configured one."""
    noted = address.previous.functions if address.previous else ()
    places = (parse_version(one.resource_id).place for one in noted)
    there = next((one for one in places if one.region), None)
    return address if there is None else replace(address, region=there.region)


def require_ownership_tag(address: DeploymentAddress, function: str, place: Cloud4Place) -> None:
    """Raise if a missing function cannot be proven deleted, because the account is unknown.

    An unknown account does not prevent creation, but it does if state records a deployment.
    """
    record = address.previous
    known = record.function(function) if record else None
    account = parse_version(known.resource_id).place.account if known else ""
    if record is None or not account or place.account == account:
        return
    message = (
        f"function `{function}` of {record.ref.title} was not found with these credentials, and "
        f"the state records it in the account {account}"
    )
    hint = (
        f"set CLOUD4_ACCOUNT_ID={account} if the key belongs to that account: the "
        "function then counts as already deleted"
    )
    raise FabricError(Problem("deploy/unproven-account", message, hint))


def find_place_conflict(
    record: Record, place: Cloud4Place, *, is_region_known: bool = True
) -> Problem | None:
    """Return a problem if the record belongs to another account or region. An unset account or
    region is not compared."""
    places = [parse_version(one.resource_id).place for one in record.functions]
    other = [one for one in places if one.region and _is_other(one, place, is_region_known)]
    if not other:
        return None
    message = (
        f"refusing to change {record.ref.title}: it is deployed at {other[0].title}, not at "
        f"{place.title}; nothing was changed"
    )
    hint = (
        "set the region and `CLOUD4_ACCOUNT_ID` to the old values, or run `fabric remove` "
        "with them before you deploy elsewhere"
    )
    return Problem("deploy/other-place", message, hint)


def _is_other(there: Cloud4Place, place: Cloud4Place, is_region_known: bool) -> bool:  # noqa: FBT001
    is_account = bool(place.account and there.account) and place.account != there.account
    return is_account or (is_region_known and bool(place.region) and place.region != there.region)
