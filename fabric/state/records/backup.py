"""Records as one file and back: versioned, and under one digest, so that no part of it is lost."""

import json
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct, ValidationError, convert

from fabric.config.rules.config import stage_problem
from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError, Place, Problem, raise_if_any
from fabric.model.records.record import Record, RecordRef
from fabric.model.records.record_document import Document, encode_record
from fabric.model.records.record_json import compute_checksum, decode_record, encode
from fabric.model.text.validation_message import describe_misfit

VERSION = 1


class BrokenBackupError(FabricError):
    """An invalid backup file. Nothing is restored from it."""


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Backup(Struct, frozen=True):
    service: str
    backend: str
    created_at: str
    records: tuple[Record, ...]


class _BackupDocument(Struct, frozen=True, rename="camel"):
    """A backup. Each record has its own checksum and format version."""

    service: str
    backend: str
    created_at: str
    records: list[object]


def encode_backup(backup: Backup) -> bytes:
    """Encode a backup deterministically, with its hash at the end."""
    document: dict[str, object] = {
        "version": VERSION,
        "service": backup.service,
        "backend": backup.backend,
        "createdAt": backup.created_at,
        "records": [_encode_entry(one) for one in sorted(backup.records, key=lambda one: one.ref)],
    }
    document["digest"] = _hash_document(document)
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def _encode_entry(record: Record) -> Document:
    document = encode_record(record)
    return {**document, "checksum": compute_checksum(document)}


def decode_backup(content: bytes, name: str) -> Backup:
    """Decode a valid backup. `name` is its file name for messages."""
    document = _parse_backup_document(content, name)
    version = document.get("version")
    if isinstance(version, int) and version > VERSION:
        message = f"unsupported format version {version} of `{name}` (maximum {VERSION})"
        raise FabricError(Problem("input/newer-version", message, "update fabric", Place(name)))
    if document.get("digest") != _hash_document(document):
        raise bad_backup_error(name, "the hash does not match the content")
    try:
        found = convert(document, _BackupDocument)
    except ValidationError as error:
        raise bad_backup_error(name, describe_misfit(error)) from error
    return Backup(
        found.service, found.backend, found.created_at, _decode_records(found.records, name)
    )


def _parse_backup_document(content: bytes, name: str) -> Mapping[str, object]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise bad_backup_error(name, "not valid JSON") from error
    if not isinstance(document, dict):
        raise bad_backup_error(name, "not a JSON object")
    return document


def _decode_records(entries: Iterable[object], name: str) -> tuple[Record, ...]:
    """Decode all records, or raise the problems of all invalid ones."""
    records: dict[RecordRef, Record] = {}
    errors: list[FabricError] = []
    for number, entry in enumerate(entries, 1):
        try:
            record = decode_record(entry, f"{name}, record {number}")
            check_record_paths(record)
            if record.ref in records:
                raise bad_backup_error(name, f"duplicate record {number}")
            records[record.ref] = record
        except FabricError as error:
            errors.append(error)
    if errors:
        raise type(errors[0])(*(problem for error in errors for problem in error.problems))
    return tuple(records.values())


def check_record_paths(record: Record) -> None:
    """Raise if a record from a file contains a path outside its directory."""
    ref = record.ref
    bad = [name for name in (ref.service, ref.provider) if not _NAME.fullmatch(name)]
    problems = [
        *(Problem("input/bad-name", f"invalid service or provider name {name!r}") for name in bad),
        *stage_problem(ref.stage),
    ]
    try:
        encode(record)
    except UnicodeEncodeError:
        message = "the backup contains an unpaired surrogate character"
        problems.append(Problem("input/bad-text", message))
    raise_if_any(problems)


def _hash_document(document: Mapping[str, object]) -> str:
    rest = {key: value for key, value in document.items() if key != "digest"}
    return hash_bytes(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode())


def bad_backup_error(name: str, why: str) -> BrokenBackupError:
    return BrokenBackupError(
        Problem(
            "input/broken-backup",
            f"invalid backup `{name}`: {why}; nothing was changed",
            hint="run: fabric state backup, to create a valid one",
            where=Place(name),
        )
    )
