"""Segments: cached results of runs and the locations of their contents. No effects.

Everything is validated before use: names, numbers, and that each location is inside a listed pack.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder, Encoder
from msgspec.structs import replace

from fabric.graph.traces import Keyed, ListingTrace, RowsTrace, Trace, hash_trace
from fabric.model.hashing import is_digest
from fabric.model.names import Digest
from fabric.model.task import Output, OutputFile, Pairs
from fabric.model.task_id import TaskId
from fabric.remote.contract import PACK_BYTES
from fabric.remote.packs import Extent
from fabric.system.source.names import is_plain_name

VERSION = 2
# Earlier segments had no rows.
_READABLE = (1, VERSION)
# So many runs of a task are kept when segments are joined.
KEPT_TRACES = 4
_LARGEST = 1 << 31

Traces: TypeAlias = Mapping[TaskId, tuple[Trace, ...]]


class Segment(Struct, frozen=True):
    """A segment.

    Traces have no entries and no key yet: a reader adds them when it compares them with its own
    files.
    """

    # Names the key of its hashes.
    key_id: str
    traces: Traces
    # The packs of each kind.
    streams: Mapping[str, tuple[Digest, ...]]
    contents: Mapping[Digest, Extent]

    def has(self, trace: Trace) -> bool:
        """Return whether all outputs of a run are available."""
        return all(one.digest in self.contents for one in trace.output.files)


class _FileRow(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    path: str
    digest: Digest
    size: int
    executable: bool


class _ListingLine(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    folder: str
    pattern: str
    ignore: tuple[str, ...]
    digest: str


class _KeyedRow(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Files, listings and rows by number, because thousands of tasks share them."""

    static: Digest
    files: tuple[int, ...]
    absent: tuple[str, ...]
    listings: tuple[int, ...]
    upstream: Pairs
    links: Pairs
    ms: int
    digest: Digest
    facts: Pairs
    made: tuple[_FileRow, ...]
    rows: tuple[int, ...] = ()


class _SegmentDocument(Struct, frozen=True):
    version: int
    pairs: Pairs
    listings: tuple[_ListingLine, ...]
    traces: dict[str, tuple[_KeyedRow, ...]]
    streams: dict[str, tuple[Digest, ...]]
    contents: dict[Digest, Extent]
    # Rows of files: the file, the selector and the hash.
    rows: tuple[tuple[str, str, str], ...] = ()


def convert_trace_for_upload(trace: Trace, keyed: Keyed) -> Trace:
    """Convert a trace for upload: hashes of inputs and of lists of names are keyed."""
    lists = tuple(replace(one, digest=keyed(one.digest)) for one in trace.listings)
    return replace(hash_trace(trace, keyed), listings=lists)


def encode_segment(segment: Segment) -> bytes:
    pairs: dict[tuple[str, str], int] = {}
    lists: dict[ListingTrace, int] = {}
    parts: dict[tuple[str, str, str], int] = {}
    rows = {
        str(task_id): tuple(_build_row(one, pairs, lists, parts) for one in traces)
        for task_id, traces in segment.traces.items()
    }
    lines = tuple(_ListingLine(one.folder, one.pattern, one.ignore, one.digest) for one in lists)
    document = _SegmentDocument(
        version=VERSION,
        pairs=tuple(pairs),
        listings=lines,
        traces=rows,
        streams=dict(segment.streams),
        contents=dict(segment.contents),
        rows=tuple(parts),
    )
    return Encoder().encode(document)


def _build_row(
    trace: Trace,
    pairs: dict[tuple[str, str], int],
    lists: dict[ListingTrace, int],
    parts: dict[tuple[str, str, str], int],
) -> _KeyedRow:
    output = trace.output
    return _KeyedRow(
        static=trace.static,
        files=tuple(pairs.setdefault(pair, len(pairs)) for pair in trace.files),
        absent=trace.absent,
        listings=tuple(lists.setdefault(one, len(lists)) for one in trace.listings),
        upstream=trace.upstream,
        links=trace.links,
        ms=trace.ms,
        digest=output.digest,
        facts=output.facts,
        made=tuple(
            _FileRow(one.path, one.digest, one.size, one.executable) for one in output.files
        ),
        rows=tuple(
            parts.setdefault((one.file, *pair), len(parts))
            for one in trace.rows
            for pair in one.rows
        ),
    )


def decode_segment(body: bytes, key_id: str) -> Segment | None:
    """Decode a segment; None if it is incomplete or invalid."""
    try:
        found = Decoder(_SegmentDocument).decode(body)
        return _build_checked_segment(found, key_id) if found.version in _READABLE else None
    except (DecodeError, ValidationError, ValueError, IndexError, RecursionError):
        return None


def _build_checked_segment(found: _SegmentDocument, key_id: str) -> Segment:
    for extent in found.contents.values():
        reach = len(found.streams.get(extent.stream, ())) * PACK_BYTES
        if extent.offset < 0 or not 0 <= extent.size <= _LARGEST:
            raise ValueError("a content has no location")
        if extent.offset + extent.size > reach:
            raise ValueError("a content is located after its packs")
    names = (*found.contents, *(one for packs in found.streams.values() for one in packs))
    if not all(map(is_digest, names)):
        raise ValueError("a name is not a hash")
    lists = tuple(
        ListingTrace(one.folder, one.pattern, one.ignore, one.digest) for one in found.listings
    )
    traces = {
        TaskId(task_id): tuple(_trace(row, found, lists) for row in rows)
        for task_id, rows in found.traces.items()
    }
    return Segment(key_id, traces, found.streams, found.contents)


def _trace(row: _KeyedRow, found: _SegmentDocument, lists: Sequence[ListingTrace]) -> Trace:
    if min((row.ms, *row.files, *row.listings, *row.rows)) < 0:
        raise ValueError("a number is negative")
    return Trace(
        static=row.static,
        entries=(),
        files=tuple(found.pairs[number] for number in row.files),
        absent=row.absent,
        listings=tuple(lists[number] for number in row.listings),
        upstream=row.upstream,
        links=row.links,
        key=Digest(""),
        output=Output(row.digest, tuple(map(_decode_file, row.made)), row.facts),
        ms=row.ms,
        rows=_group_rows(found.rows[number] for number in row.rows),
    )


def _group_rows(rows: Iterable[tuple[str, str, str]]) -> tuple[RowsTrace, ...]:
    found: dict[str, list[tuple[str, str]]] = {}
    for file, selector, digest in rows:
        found.setdefault(file, []).append((selector, digest))
    return tuple(RowsTrace(file, tuple(pairs)) for file, pairs in found.items())


def _decode_file(row: _FileRow) -> OutputFile:
    """Decode an output file. A path outside the task's own directory is invalid."""
    if not is_plain_name(row.path) or not is_digest(row.digest) or row.size < 0:
        raise ValueError("not an output")
    return OutputFile(row.path, row.digest, row.size, executable=row.executable)


def join_segments(segments: Sequence[Segment]) -> Segment:
    """Join segments of one key: the newest few runs of each task, with their packs. The first
    segment is the newest."""
    traces: dict[TaskId, tuple[Trace, ...]] = {}
    for segment in segments:
        for task_id, rows in segment.traces.items():
            have = traces.get(task_id, ())
            fresh = tuple(one for one in rows if one not in have and segment.has(one))
            traces[task_id] = (*have, *fresh)[:KEPT_TRACES]
    used = {one.digest for rows in traces.values() for row in rows for one in row.output.files}
    streams: dict[str, tuple[Digest, ...]] = {}
    contents: dict[Digest, Extent] = {}
    for segment in segments:
        _take_over(segment, used - contents.keys(), streams, contents)
    return Segment(segments[0].key_id, traces, streams, contents)


def _take_over(
    segment: Segment,
    wanted: Iterable[Digest],
    streams: dict[str, tuple[Digest, ...]],
    contents: dict[Digest, Extent],
) -> None:
    """Append whole streams, so that the offsets of contents stay valid."""
    there = {one: extent for one in wanted if (extent := segment.contents.get(one)) is not None}
    for kind in sorted({extent.stream for extent in there.values()}):
        shift = len(streams.get(kind, ())) * PACK_BYTES
        streams[kind] = (*streams.get(kind, ()), *segment.streams[kind])
        for digest, extent in there.items():
            if extent.stream == kind:
                contents[digest] = Extent(kind, extent.offset + shift, extent.size)
