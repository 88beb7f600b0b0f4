"""The stored form of traces. Invalid rows are cache misses."""

import json
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Annotated, TypeAlias

from msgspec import DecodeError, Meta, Struct, ValidationError, convert, to_builtins
from msgspec.json import Decoder

from fabric.graph.traces import ListingTrace, RowsTrace, Trace
from fabric.model.hashing import is_digest
from fabric.model.names import Digest
from fabric.model.task import InputEntry, Output, OutputFile, Pairs
from fabric.system.source.names import is_plain_name

Row: TypeAlias = dict[str, object]
_Count: TypeAlias = Annotated[int, Meta(ge=0)]


class _MadeRow(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    path: str
    digest: Digest
    size: _Count
    executable: bool


class _ListingRow(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    folder: str
    pattern: str
    ignore: tuple[str, ...]
    digest: str


class _RowsRow(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    file: str
    rows: Pairs
    whole: str


class _TraceRow(Struct, frozen=True, omit_defaults=True):
    """A trace row, in field order."""

    static: Digest
    entries: tuple[InputEntry, ...]
    files: Pairs
    absent: tuple[str, ...]
    listings: tuple[_ListingRow, ...]
    upstream: Pairs
    links: Pairs
    key: Digest
    ms: _Count
    digest: Digest
    facts: Pairs
    made: tuple[_MadeRow, ...]
    is_far: bool = False
    rows: tuple[_RowsRow, ...] = ()


_Rows: TypeAlias = tuple[_TraceRow, ...]

# Thousands of functions have outputs of the same few names.
_is_plain = lru_cache(maxsize=1024)(is_plain_name)


def encode_traces(traces: Iterable[Trace]) -> bytes:
    rows = [encode_trace(trace) for trace in traces]
    return json.dumps(rows, separators=(",", ":")).encode()


def encode_trace(trace: Trace) -> Row:
    """Plain values, as JSON and marshal both take them."""
    output = trace.output
    row = _TraceRow(
        static=trace.static,
        entries=trace.entries,
        files=trace.files,
        absent=trace.absent,
        listings=tuple(
            _ListingRow(one.folder, one.pattern, one.ignore, one.digest) for one in trace.listings
        ),
        upstream=trace.upstream,
        links=trace.links,
        key=trace.key,
        ms=trace.ms,
        digest=output.digest,
        facts=output.facts,
        made=tuple(
            _MadeRow(one.path, one.digest, one.size, one.executable) for one in output.files
        ),
        is_far=trace.is_far,
        rows=tuple(_RowsRow(one.file, one.rows, one.whole) for one in trace.rows),
    )
    plain: Row = to_builtins(row)
    return plain


def read_traces(raw: bytes | None) -> tuple[Trace, ...]:
    """Traces out of the bytes of a memo record."""
    if raw is None:
        return ()
    try:
        return _decode_traces(_get_decoder().decode(raw))
    except ValidationError:
        return ()
    except DecodeError:
        # Names that are not UTF-8 are halves of surrogate pairs, which only `json` takes.
        return decode_traces(_load_row(raw))
    except (ValueError, RecursionError):
        return ()


def decode_traces(rows: object) -> tuple[Trace, ...]:
    try:
        return _decode_traces(convert(rows, _Rows))
    except ValueError:
        return ()


def _load_row(raw: bytes) -> object:
    try:
        found: object = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found


@cache
def _get_decoder() -> "Decoder[_Rows]":
    return Decoder(_Rows)


def _decode_traces(rows: Sequence[_TraceRow]) -> tuple[Trace, ...]:
    return tuple(map(_trace, rows))


def _trace(row: _TraceRow) -> Trace:
    return Trace(
        static=row.static,
        entries=row.entries,
        files=row.files,
        absent=row.absent,
        listings=tuple(
            ListingTrace(one.folder, one.pattern, one.ignore, one.digest) for one in row.listings
        ),
        upstream=row.upstream,
        links=row.links,
        key=row.key,
        output=Output(row.digest, tuple(map(_decode_output_file, row.made)), row.facts),
        ms=row.ms,
        is_far=row.is_far,
        rows=tuple(RowsTrace(one.file, one.rows, one.whole) for one in row.rows),
    )


def _decode_output_file(one: _MadeRow) -> OutputFile:
    """Decode an output file. A path outside the task's directory or an invalid hash is a cache
    miss."""
    if not _is_plain(one.path) or not is_digest(one.digest):
        raise ValueError(f"invalid output name: {one.path}")
    return OutputFile(one.path, one.digest, one.size, executable=one.executable)
