"""Names of the values that a release stores for the next one, and the place of a service."""

from msgspec.structs import replace

from fabric.model.problems import Problem
from fabric.model.records.record import Record
from fabric.providers.cloud2.settings import Cloud2Place, place_in
from fabric.providers.core.contract import DeploymentAddress

# Of each function: the revision that is met, who may call it, and its clocks.
REVISION, CALLERS, CLOCKS = "revision:", "callers:", "clocks:"


def locate_deployment(address: DeploymentAddress) -> DeploymentAddress:
    """Return the address with the deployed region, which can differ from the configured one."""
    noted = address.previous.functions if address.previous else ()
    there = next((place for one in noted if (place := place_in(one.resource_id))), None)
    return address if there is None else replace(address, region=there.region)


def find_place_conflict(
    record: Record, place: Cloud2Place, *, is_region_known: bool = True
) -> Problem | None:
    """Return a problem if the record belongs to another project or region. A missing project is
    reported with the missing credentials."""
    places = [place_in(one.resource_id) for one in record.functions]
    other = [
        one
        for one in places
        if one and (one != place if is_region_known else one.project != place.project)
    ]
    if not other or not place.project:
        return None
    then = other[0].path
    message = (
        f"refusing to change {record.ref.title}: it is deployed in `{then}`, not in "
        f"`{place.path}`; nothing was changed"
    )
    hint = (
        "set `CLOUD2_PROJECT_ID` and the region to the old values, or run `fabric remove` "
        "with them before you deploy elsewhere"
    )
    return Problem("deploy/other-place", message, hint)
