"""How a trace is told to other machines: no declared input, every digest of a file keyed.

Values of variables and small files are soon guessed from a plain digest. One that is keyed by the
salt of the record can only be compared, by who has the record.
"""

import hmac
import json
from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct, convert
from msgspec.structs import replace

from fabric.engine.memory.trace_rows import Row, decode_traces, encode_trace
from fabric.graph.traces import Look, Trace, full_key, static_digest
from fabric.model.names import Digest
from fabric.model.task import InputEntry

VERSION = 2
# Rows by function, then by task. A row that is no trace says nothing, and spoils no other one.
Document: TypeAlias = dict[str, dict[str, Row]]


class _Shared(Struct, frozen=True):
    functions: Document


def shared(trace: Trace, salt: str) -> Row:
    """The form that leaves this machine."""
    told = replace(
        trace,
        static=Digest(_keyed(trace.static, salt)),
        entries=(),
        files=tuple((path, _keyed(digest, salt)) for path, digest in trace.files),
        key=Digest(""),
    )
    return encode_trace(told)


def arrived(
    row: Row, salt: str, kind: str, entries: tuple[InputEntry, ...], look: Look
) -> Trace | None:
    """The trace, where it says just what this machine has: plain digests again, for comparing.

    What is different here keeps its keyed digest: it equals nothing, and counts as changed.
    """
    found = next(iter(decode_traces([row])), None)
    if found is None:
        return None
    static = static_digest(kind, entries)
    fits = _keyed(static, salt) == found.static
    files = tuple(
        (path, here if _keyed(here := look.digest(path), salt) == digest else digest)
        for path, digest in found.files
    )
    return replace(
        found,
        static=static if fits else found.static,
        entries=entries if fits else (),
        files=files,
        key=full_key(static, files, found.upstream),
    )


def encoded(rows: Mapping[str, Mapping[str, Row]]) -> dict[str, object]:
    return {"version": VERSION, "functions": {name: dict(tasks) for name, tasks in rows.items()}}


def decoded(content: bytes, salt: str) -> Document:
    """The rows by function; what cannot be read says nothing. Documents of the first version said
    more than they should: what is good in them is brought into today's form."""
    try:
        document = json.loads(content)
        if isinstance(document, dict) and document.get("version") == VERSION:
            return convert(document, _Shared).functions
        rows = convert(document, Document)
    except (ValueError, RecursionError):
        return {}
    return {
        name: {task: new for task, old in tasks.items() if (new := _renewed(old, salt))}
        for name, tasks in rows.items()
    }


def _renewed(old: Row, salt: str) -> Row | None:
    trace = next(iter(decode_traces([old])), None)
    return shared(trace, salt) if trace else None


def _keyed(digest: str, salt: str) -> str:
    return hmac.new(salt.encode(), digest.encode(), "sha256").hexdigest()
