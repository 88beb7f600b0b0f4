"""Functions in an unknown state, because their calls ended after the lock was lost.

The former holder must not write the record. It first writes a local note, which every later read
includes, and then updates the record under a new lock.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, convert

from fabric.model.records.changes import FunctionUnsure, apply_change
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.system.disk import read_bytes, remove, remove_empty_folders, write_atomic

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
