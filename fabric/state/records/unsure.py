"""Functions in an unknown state, because their calls ended after the lock was lost.

The former holder must not write the record. It first writes a local note, which every later read
includes, and then updates the record under a new lock.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, convert

from fabric.model.records.changes import FunctionUnsure, applied
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.system.disk import read_bytes, remove, remove_empty_folders, write_atomic

_TASK = "unsure"


class _Note(Struct, frozen=True):
    functions: tuple[str, ...]


def unsure_path(home: Path, ref: RecordRef) -> Path:
    return home / "unsure" / f"{ref.path}.json"


def keep_note(home: Path, ref: RecordRef, functions: Iterable[str]) -> None:
    """Write the note durably, merged with an earlier one."""
    names = sorted({*functions, *noted(home, ref)})
    content = json.dumps({"functions": names}).encode()
    write_atomic(unsure_path(home, ref), content, mode=0o600, durable=True)


def noted(home: Path, ref: RecordRef) -> tuple[str, ...]:
    """Read the names of unknown functions from the local note. An unreadable note is ignored."""
    try:
        found = json.loads(read_bytes(unsure_path(home, ref)))
        return convert(found, _Note).functions
    except (OSError, ValueError, RecursionError):
        return ()


def with_note(home: Path, record: Record) -> Record:
    if record.mode is Mode.SIMULATED:
        return record
    return made_unknown(record, noted(home, record.ref))


def made_unknown(record: Record, functions: Iterable[str]) -> Record:
    for name in functions:
        record = applied(record, FunctionUnsure(_TASK, name))
    return record


def drop_note(home: Path, ref: RecordRef, told: Iterable[str]) -> None:
    """Delete the note once the record contains it. A note with more names stays."""
    if set(noted(home, ref)) <= set(told):
        remove(unsure_path(home, ref))
        remove_empty_folders(unsure_path(home, ref).parent, home)
