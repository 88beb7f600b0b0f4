"""The exchange format of traces beside a record, hashed with its salt.

Only readers of the record can compare these hashes.
"""

import hmac
import json
from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

from msgspec import Struct, convert

from fabric.engine.memory.trace_rows import Row, decode_traces, encode_trace
from fabric.graph.keyed_traces import hash_trace, trace_here
from fabric.graph.traces import Look, Trace
from fabric.model.task import InputEntry

VERSION = 2
# Rows by function, then by task. A row that is no trace says nothing, and spoils no other one.
Document: TypeAlias = dict[str, dict[str, Row]]


class _Shared(Struct, frozen=True):
    functions: Document


def encode_shared_trace(trace: Trace, salt: str) -> Row:
    """Encode a trace in the form that leaves this machine."""
    return encode_trace(hash_trace(trace, partial(_hash_with_salt, salt)))


def decode_shared_trace(
    row: Row, salt: str, kind: str, entries: tuple[InputEntry, ...], look: Look
) -> Trace | None:
    """Decode a trace for comparison with local files."""
    found = next(iter(decode_traces([row])), None)
    return found and trace_here(found, partial(_hash_with_salt, salt), (kind, entries), look)


def encode_trace_document(rows: Mapping[str, Mapping[str, Row]]) -> dict[str, object]:
    return {"version": VERSION, "functions": {name: dict(tasks) for name, tasks in rows.items()}}


def decode_trace_document(content: bytes, salt: str) -> Document:
    """Decode the rows by function. Unreadable content is ignored.

    Documents of the first version contained too much data; their valid parts are upgraded.
    """
    try:
        document = json.loads(content)
        if isinstance(document, dict) and document.get("version") == VERSION:
            return convert(document, _Shared).functions
        rows = convert(document, Document)
    except (ValueError, RecursionError):
        return {}
    return {
        name: {task: new for task, old in tasks.items() if (new := _upgrade_row(old, salt))}
        for name, tasks in rows.items()
    }


def _upgrade_row(old: Row, salt: str) -> Row | None:
    trace = next(iter(decode_traces([old])), None)
    return encode_shared_trace(trace, salt) if trace else None


def _hash_with_salt(salt: str, digest: str) -> str:
    return hmac.new(salt.encode(), digest.encode(), "sha256").hexdigest()
