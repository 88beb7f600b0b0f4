"""Functions of which nobody knows what is live: calls that ended after their lock was lost.

Who lost it may not write the record as its holder any more. So it keeps a note on this machine
first, which every later look reads, and then tells the record under a lock of its own.
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
    """On the disk when this returns; with what an earlier note says."""
    names = sorted({*functions, *noted(home, ref)})
    content = json.dumps({"functions": names}).encode()
    write_atomic(unsure_path(home, ref), content, mode=0o600, durable=True)


def noted(home: Path, ref: RecordRef) -> tuple[str, ...]:
    """What this machine does not know of a record; a note that cannot be read says nothing."""
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
    """The record says it now; a note that says more meanwhile stays."""
    if set(noted(home, ref)) <= set(told):
        remove(unsure_path(home, ref))
        remove_empty_folders(unsure_path(home, ref).parent, home)
