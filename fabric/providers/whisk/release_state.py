"""Names of the values that a release stores for the next one, and the place of a service."""

from fabric.model.problems import Problem
from fabric.model.records.record import Record
from fabric.providers.whisk.resource_names import WhiskPlace, place_in

# Of each function: the version that is met, and by whom; and its clocks.
MET_NOW, CLOCKS = "met:", "clocks:"


def find_place_conflict(record: Record, place: WhiskPlace) -> Problem | None:
    """Return a problem if the record belongs to another namespace. A missing namespace is reported
    with the missing credentials."""
    places = [place_in(one.resource_id) for one in record.functions]
    other = [one for one in places if one and one != place.id]
    if not other or not place.namespace:
        return None
    message = (
        f"refusing to change {record.ref.title}: it is deployed in `{other[0]}`, not in "
        f"`{place.id}`; nothing was changed"
    )
    hint = (
        "set the variables to that namespace, or run `fabric remove` there before you deploy "
        "elsewhere"
    )
    return Problem("deploy/other-account", message, hint)
