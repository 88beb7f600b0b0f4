"""Files that come back from outside, pushed or restored: held against their schemas."""

import json

from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.model.records.record_json import CorruptRecordError, corrupt, decode
from fabric.state.records.backup import Backup, BrokenBackupError, broken, decode_backup, sound
from fabric.system.schemas import listed, misfits


def pushed_record(content: bytes, name: str) -> Record:
    wrong = _misfits("state", _parsed(content))
    try:
        record = decode(content, name)
    except CorruptRecordError as error:
        raise FabricError(*map(_of_input, _told(error, wrong))) from error
    if wrong:
        raise FabricError(_of_input(corrupt(name, listed(wrong)).first))
    sound(record)
    return record


def _of_input(problem: Problem) -> Problem:
    """Convert a problem of stored data to one of the user's input file."""
    return replace(
        problem, code="input/broken-state", hint="run: fabric state pull, to print valid state"
    )


def restored_backup(content: bytes, name: str) -> Backup:
    wrong = _backup_misfits(_parsed(content))
    try:
        backup = decode_backup(content, name)
    except (CorruptRecordError, BrokenBackupError) as error:
        raise type(error)(*_told(error, wrong)) from error
    if wrong:
        raise broken(name, listed(wrong))
    return backup


def _backup_misfits(document: object) -> tuple[str, ...]:
    """Find the backup's own schema problems, then those of each record."""
    records = document.get("records") if isinstance(document, dict) else None
    rows = records if isinstance(records, list) else ()
    return (
        *_misfits("backup", document),
        *(
            f"records[{number}].{words}"
            for number, row in enumerate(rows)
            if isinstance(row, dict)
            for words in _misfits("state", row)
        ),
    )


def _misfits(schema: str, document: object) -> tuple[str, ...]:
    """Find schema problems of an object. Other values are reported by the reader."""
    return misfits(schema, document) if isinstance(document, dict) else ()


def _parsed(content: bytes) -> object:
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found


def _told(error: FabricError, wrong: tuple[str, ...]) -> tuple[Problem, ...]:
    """Add the places of schema problems."""
    first, *rest = error.problems
    places = f"; {listed(wrong)}" if wrong else ""
    return replace(first, message=f"{first.message}{places}"), *rest
