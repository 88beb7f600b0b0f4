"""Deploys of Netlify in state, because a title can be too short for their content. No effects."""

from collections.abc import Iterable, Iterator

from fabric.model.ownership_tags import mark_of
from fabric.model.records.record import FunctionRecord, Record
from fabric.providers.host2.resource_names import SiteVersion, parse_version

# A function's name with its mark.
Marked = tuple[str, str]


def list_recorded_rows(record: Record | None) -> Iterator[FunctionRecord]:
    """Yield function records, current and rollback targets, newest first."""
    if record is not None:
        yield from record.functions
        for past in record.history:
            yield from past.functions


def list_recorded_versions(
    record: Record | None, function: str, mark: str
) -> tuple[SiteVersion, ...]:
    """Return deploys that contain this function with this mark: a deploy never changes."""
    if record is None:
        return ()
    rows = (one for one in list_recorded_rows(record) if one.name == function and one.key)
    found = (
        parse_version(one.resource_id) for one in rows if mark_of(one.key, record.salt) == mark
    )
    return tuple(dict.fromkeys(one for one in found if one.deploy))


def list_recorded_wholes(
    record: Record | None, marked: Iterable[Marked]
) -> tuple[SiteVersion, ...]:
    """Return deploys that contain exactly these functions with these marks."""
    wanted = tuple(marked)
    each = [list_recorded_versions(record, *one) for one in wanted]
    first = each[0] if each else ()
    return tuple(
        one for one in first if one.count == len(wanted) and all(one in rest for rest in each)
    )
