"""Adoptions in a record: functions of another tool that fabric took over, wholly or halfway."""

from fabric.model.problems import Problem
from fabric.model.records.record import Record
from fabric.model.task import Pairs
from fabric.model.task_id import is_kind, name_of

ADOPT = "adopt"
# The names of values in `kept`, before the function: those of an adoption, and its unfinished mark.
_ADOPTED = "adopted:"
_UNFINISHED = "adopting:"


def mark_unfinished(kept: Pairs, function: str) -> Pairs:
    return (*unmark_unfinished(kept, function), (f"{_UNFINISHED}{function}", "yes"))


def unmark_unfinished(kept: Pairs, function: str) -> Pairs:
    return tuple(pair for pair in kept if pair[0] != f"{_UNFINISHED}{function}")


def list_unfinished_functions(record: Record) -> tuple[str, ...]:
    """List the functions whose adoption failed, or was interrupted."""
    failed = {
        name.removeprefix(_UNFINISHED) for name, _ in record.kept if name.startswith(_UNFINISHED)
    }
    interrupted = {name_of(one.task).function for one in record.pending if is_kind(one.task, ADOPT)}
    return tuple(sorted(failed | interrupted))


def can_release_adoption(record: Record) -> bool:
    """Return whether no deploy followed the adoption."""
    kept = dict(record.kept)
    is_adopted = all(f"{_ADOPTED}{one.name}" in kept or not one.key for one in record.functions)
    is_only = all(is_kind(one.task, ADOPT) for one in record.pending)
    return bool(record.functions) and is_adopted and is_only and len(record.history) <= 1


def find_unfinished_adoption(record: Record | None) -> Problem | None:
    """Return a problem if a deploy would duplicate event sources that are not moved yet."""
    names = list_unfinished_functions(record) if record else ()
    if record is None or not names:
        return None
    listed = ", ".join(f"`{name}`" for name in names)
    message = (
        f"refusing to change {record.ref.title}: the adoption of {listed} is not finished; "
        "nothing was changed"
    )
    return Problem("adopt/unfinished", message, format_adoption_hint(record))


def format_adoption_hint(record: Record) -> str:
    """Format the commands for an unfinished adoption. A deploy excludes the undo."""
    finish = "run: fabric adopt, to finish it"
    if record.pending or can_release_adoption(record):
        return f"{finish}, or fabric adopt --release, to undo it"
    return f"{finish}; a function that is not in the config must be added again first"
