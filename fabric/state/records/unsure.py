"""Functions in an unknown state, because their calls ended after the lock was lost.

The former holder must not write the record. It first writes a local note, which every later read
includes, and then updates the record under a new lock.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, convert

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.records.changes import FunctionUnsure, apply_change
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.model.records.record_json import encode
from fabric.state.contract import STATE_SUFFIX
from fabric.system.files.disk import read_bytes, remove, remove_empty_folders, write_atomic

_TASK = "unsure"


class _Note(Struct, frozen=True):
    functions: tuple[str, ...]


def build_unsure_path(home: Path, ref: RecordRef) -> Path:
    return home / "unsure" / f"{ref.path}.json"


def keep_note(home: Path, ref: RecordRef, functions: Iterable[str]) -> None:
    """Write the note durably, merged with an earlier one."""
    names = sorted({*functions, *read_unsure_names(home, ref)})
    content = json.dumps({"functions": names}).encode()
    write_atomic(build_unsure_path(home, ref), content, mode=0o600, durable=True)


def read_unsure_names(home: Path, ref: RecordRef) -> tuple[str, ...]:
    """Read the names of unknown functions from the local note. An unreadable note is ignored."""
    try:
        found = json.loads(read_bytes(build_unsure_path(home, ref)))
        return convert(found, _Note).functions
    except (OSError, ValueError, RecursionError):
        return ()


def with_note(home: Path, record: Record) -> Record:
    if record.mode is Mode.SIMULATED:
        return record
    return mark_unknown(record, read_unsure_names(home, record.ref))


def mark_unknown(record: Record, functions: Iterable[str]) -> Record:
    for name in functions:
        record = apply_change(record, FunctionUnsure(_TASK, name))
    return record


def drop_note(home: Path, ref: RecordRef, told: Iterable[str]) -> None:
    """Delete the note once the record contains it. A note with more names stays."""
    if set(read_unsure_names(home, ref)) <= set(told):
        remove(build_unsure_path(home, ref))
        remove_empty_folders(build_unsure_path(home, ref).parent, home)


# A record that its backend did not accept: stored locally until a user pushes it.


def build_unwritten_path(home: Path, ref: RecordRef) -> Path:
    return home / "errored" / f"{ref.path}{STATE_SUFFIX}"


def keep_unwritten(home: Path, record: Record, cause: FabricError) -> FabricError:
    """Both errors, and the command that puts the record where it belongs."""
    path = build_unwritten_path(home, record.ref)
    write_atomic(path, encode(record), mode=0o600, durable=True)
    problem = Problem(
        "state/not-written",
        f"the state of {record.ref.title} could not be written: saved to `{path}` instead",
        hint=f"when the backend is available again, run: {push_command(home, path)}",
        where=Place(str(path)),
    )
    return FabricError(problem, *cause.problems)


def find_unwritten_problem(home: Path, ref: RecordRef) -> Problem | None:
    """Return why a record must not change now: an earlier state is still unwritten."""
    path = build_unwritten_path(home, ref)
    if not path.exists():
        return None
    return Problem(
        "state/errored",
        f"an earlier state of {ref.title} was not written to its backend",
        hint=f"run: {push_command(home, path)}, or delete that file to discard it",
        where=Place(str(path)),
    )


def drop_unwritten(home: Path, ref: RecordRef, content: bytes) -> None:
    """Delete the local copy once the backend has exactly this record."""
    path = build_unwritten_path(home, ref)
    if path.is_file() and read_bytes(path) == content:
        remove(path)
        remove_empty_folders(path.parent, home)


def push_command(home: Path, path: Path) -> str:
    return f"fabric state push -c {home.parent} --file {path}"
