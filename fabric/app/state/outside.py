"""Files that come back from outside, pushed or restored: held against their schemas."""

import json

from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.model.records.record_json import CorruptRecordError, corrupt_record_error, decode
from fabric.state.records.backup import (
    Backup,
    BrokenBackupError,
    bad_backup_error,
    check_record_paths,
    decode_backup,
)
from fabric.system.schemas import find_misfits, format_misfits


def parse_pushed_record(content: bytes, name: str) -> Record:
    wrong = _find_misfits("state", _parse_json(content))
    try:
        record = decode(content, name)
    except CorruptRecordError as error:
        raise FabricError(*map(_convert_to_input_problem, _add_misfits(error, wrong))) from error
    if wrong:
        raise FabricError(
            _convert_to_input_problem(corrupt_record_error(name, format_misfits(wrong)).first)
        )
    check_record_paths(record)
    return record


def _convert_to_input_problem(problem: Problem) -> Problem:
    """Convert a problem of stored data to one of the user's input file."""
    return replace(
        problem, code="input/broken-state", hint="run: fabric state pull, to print valid state"
    )


def parse_backup(content: bytes, name: str) -> Backup:
    wrong = _find_backup_misfits(_parse_json(content))
    try:
        backup = decode_backup(content, name)
    except (CorruptRecordError, BrokenBackupError) as error:
        raise type(error)(*_add_misfits(error, wrong)) from error
    if wrong:
        raise bad_backup_error(name, format_misfits(wrong))
    return backup


def _find_backup_misfits(document: object) -> tuple[str, ...]:
    """Find the backup's own schema problems, then those of each record."""
    records = document.get("records") if isinstance(document, dict) else None
    rows = records if isinstance(records, list) else ()
    return (
        *_find_misfits("backup", document),
        *(
            f"records[{number}].{words}"
            for number, row in enumerate(rows)
            if isinstance(row, dict)
            for words in _find_misfits("state", row)
        ),
    )


def _find_misfits(schema: str, document: object) -> tuple[str, ...]:
    """Find schema problems of an object. Other values are reported by the reader."""
    return find_misfits(schema, document) if isinstance(document, dict) else ()


def _parse_json(content: bytes) -> object:
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found


def _add_misfits(error: FabricError, wrong: tuple[str, ...]) -> tuple[Problem, ...]:
    """Add the places of schema problems."""
    first, *rest = error.problems
    places = f"; {format_misfits(wrong)}" if wrong else ""
    return replace(first, message=f"{first.message}{places}"), *rest
