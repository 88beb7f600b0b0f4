"""Records as JSON and back: versioned, checked, and the same bytes for the same record."""

import json
from collections.abc import Mapping

from msgspec import ValidationError, convert
from msgspec.json import format as format_json

from fabric.model.hashing import hash_bytes
from fabric.model.late_values import require_known_values
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.records.record import Record, RecordRef
from fabric.model.records.record_document import (
    VERSION,
    RecordDocument,
    encode_record,
    record_read,
)
from fabric.model.text.validation_message import describe_misfit


class CorruptRecordError(FabricError):
    """An unreadable record. A restore or a push can replace it."""


def encode(record: Record) -> bytes:
    """The stored form, its checksum at the end."""
    document = encode_record(record)
    document["checksum"] = compute_checksum(document)
    # The same as `json.dumps` with its indent, which is a slow one.
    text = format_json(json.dumps(document, ensure_ascii=False), indent=1) + "\n"
    require_known_values(f"the record of {record.ref.title}", (text,))
    return text.encode()


def decode(content: bytes, name: str) -> Record:
    """Decode a stored record. `name` is its origin for messages."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise corrupt_record_error(name, "it is not JSON") from error
    return decode_record(document, name)


def decode_at(content: bytes, name: str, ref: RecordRef) -> Record:
    """Decode the record of this key. A copy of another record is rejected."""
    record = decode(content, name)
    if record.ref != ref:
        raise corrupt_record_error(
            name, f"it is the record of {record.ref.path}, stored under {ref.path}"
        )
    return record


def decode_record(document: object, name: str) -> Record:
    if not isinstance(document, dict):
        raise corrupt_record_error(name, "it is not a JSON object")
    version = document.get("version")
    if isinstance(version, int) and version > VERSION:
        raise FabricError(
            Problem(
                "state/newer-version",
                f"`{name}` has format version {version}; this version of fabric reads up to "
                f"{VERSION}",
                hint="update fabric",
                where=Place(name),
            )
        )
    if document.get("checksum") != compute_checksum(document):
        raise corrupt_record_error(name, "its checksum does not match its content")
    try:
        return record_read(convert(document, RecordDocument))
    except ValidationError as error:
        raise corrupt_record_error(name, describe_misfit(error)) from error
    except LookupError as error:
        raise corrupt_record_error(
            name, f"its history refers to a missing version ({error})"
        ) from error


def compute_checksum(document: Mapping[str, object]) -> str:
    """Compute the checksum over everything else, in canonical form."""
    rest = {key: value for key, value in document.items() if key != "checksum"}
    return hash_bytes(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode())


def corrupt_record_error(name: str, why: str) -> CorruptRecordError:
    return CorruptRecordError(
        Problem(
            "state/corrupt",
            f"invalid state in `{name}`: {why}",
            hint="run: fabric state push --file FILE.bak, to restore the previous version, or "
            "`fabric state restore` to restore a backup",
            where=Place(name),
        )
    )
