"""What a record has noted of deploys at host2: a title may have no room for it. No effects."""

from collections.abc import Iterable, Iterator

from fabric.model.marks import mark_of
from fabric.model.records.record import FunctionRecord, Record
from fabric.providers.host2.own_settings import SiteVersion, version_in

# A function's name with its mark.
Marked = tuple[str, str]


def noted_rows(record: Record | None) -> Iterator[FunctionRecord]:
    """Of now, and of all that can be gone back to: the newest first."""
    if record is not None:
        yield from record.functions
        for past in record.history:
            yield from past.functions


def noted_versions(record: Record | None, function: str, mark: str) -> tuple[SiteVersion, ...]:
    """Those in which this function is under this mark: a deploy never changes."""
    if record is None:
        return ()
    rows = (one for one in noted_rows(record) if one.name == function and one.key)
    found = (version_in(one.resource_id) for one in rows if mark_of(one.key, record.salt) == mark)
    return tuple(dict.fromkeys(one for one in found if one.deploy))


def noted_wholes(record: Record | None, marked: Iterable[Marked]) -> tuple[SiteVersion, ...]:
    """Those that have just these functions under these marks."""
    wanted = tuple(marked)
    each = [noted_versions(record, *one) for one in wanted]
    first = each[0] if each else ()
    return tuple(
        one for one in first if one.count == len(wanted) and all(one in rest for rest in each)
    )
