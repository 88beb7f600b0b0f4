"""Segments go out and come back as they were; what is not right in any way is nothing at all."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.graph.traces import ListingTrace, RowsTrace, Trace
from fabric.model.hashing import hash_fields
from fabric.model.names import Digest
from fabric.model.task import Output, OutputFile
from fabric.model.task_id import TaskId
from fabric.remote.contract import PACK_BYTES
from fabric.remote.heads import (
    MOST_SEGMENTS,
    WHOLE_SECONDS,
    Head,
    NewSegment,
    decode_head,
    encode_head,
    is_due,
    with_segment,
)
from fabric.remote.packs import Extent
from fabric.remote.segments import (
    KEPT_TRACES,
    Segment,
    convert_trace_for_upload,
    decode_segment,
    encode_segment,
    join_segments,
)

_TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
_DIGEST = _TEXT.map(lambda text: hash_fields((text,)))
_PAIRS = st.lists(st.tuples(_TEXT, _DIGEST), max_size=4).map(tuple)
_PLAIN = st.sampled_from(("index.js", "a/b.py", ".packages.zip"))
_FILES = st.builds(OutputFile, _PLAIN, _DIGEST, st.integers(0, 99), executable=st.booleans())
_OUTPUTS = st.builds(Output, _DIGEST, st.lists(_FILES, max_size=3).map(tuple), _PAIRS)
_LISTINGS = st.builds(ListingTrace, _TEXT, _TEXT, st.lists(_TEXT, max_size=2).map(tuple), _DIGEST)
_SOME_PAIRS = st.lists(st.tuples(_TEXT, _DIGEST), min_size=1, max_size=4).map(tuple)
# Each file once, as builds record them.
_ROWS = st.dictionaries(_TEXT, _SOME_PAIRS, max_size=2).map(
    lambda found: tuple(RowsTrace(file, rows) for file, rows in found.items())
)
_TRACES = st.builds(
    Trace,
    static=_DIGEST,
    entries=st.just(()),
    files=_PAIRS,
    absent=st.lists(_TEXT, max_size=3).map(tuple),
    listings=st.lists(_LISTINGS, max_size=2).map(tuple),
    upstream=_PAIRS,
    links=_PAIRS,
    key=st.just(Digest("")),
    output=_OUTPUTS,
    ms=st.integers(0, 10**6),
    rows=_ROWS,
)


def segment_of(*rows: tuple[str, Trace]) -> Segment:
    traces: dict[TaskId, tuple[Trace, ...]] = {}
    contents: dict[Digest, Extent] = {}
    offset = 0
    for name, trace in rows:
        traces[TaskId(name)] = (*traces.get(TaskId(name), ()), trace)
        for one in trace.output.files:
            contents.setdefault(one.digest, Extent("build", offset, one.size))
            offset += one.size
    packs = tuple(hash_fields((str(n),)) for n in range(-(-offset // PACK_BYTES)))
    return Segment("0" * 8, traces, {"build": packs} if packs else {}, contents)


def trace(name: str, content: str = "", *, size: int = 5) -> Trace:
    made = (OutputFile("index.js", hash_fields((content or name,)), size),)
    digest = hash_fields((name,))
    files = ((f"{name}.js", digest),)
    return Trace(digest, (), files, (), (), (), (), Digest(""), Output(digest, made), 3)


@given(st.lists(st.tuples(st.sampled_from(("build:a/b", "package:a/b")), _TRACES), max_size=4))
def test_a_segment_comes_back_as_it_went_out(rows: list[tuple[str, Trace]]) -> None:
    segment = segment_of(*rows)
    again = decode_segment(encode_segment(segment), segment.key_id)
    if any(extent.size == 0 and not segment.streams for extent in segment.contents.values()):
        return  # a stream of nothing is named by nobody
    assert again == segment


@given(_TRACES)
def test_no_digest_of_an_input_travels_as_it_is(found: Trace) -> None:
    told = convert_trace_for_upload(found, lambda digest: f"keyed {digest}")
    assert told.static == f"keyed {found.static}"
    assert told.entries == ()
    assert told.key == ""
    for before, after in zip(found.files, told.files, strict=True):
        assert after == (before[0], f"keyed {before[1]}")
    assert [one.digest for one in told.listings] == [
        f"keyed {one.digest}" for one in found.listings
    ]


def _document() -> Any:
    return json.loads(encode_segment(segment_of(("build:a/b", trace("a")))))


def _with_output(name: str) -> Any:
    found = _document()
    found["traces"]["build:a/b"][0][9][0][0] = name
    return found


def _with_extent(offset: int, size: int) -> Any:
    found = _document()
    (digest,) = found["contents"]
    found["contents"][digest] = ["build", offset, size]
    return found


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param({}, id="empty"),
        pytest.param([], id="no document"),
        pytest.param({**_document(), "version": 3}, id="of another version"),
        pytest.param({**_document(), "pairs": []}, id="a number that leads nowhere"),
        pytest.param({**_document(), "streams": {}}, id="a content without packs"),
        pytest.param({**_document(), "streams": {"build": ["../../x"]}}, id="no name of a pack"),
        pytest.param(_with_output("../escaped.js"), id="an output outside of its folder"),
        pytest.param(_with_output("/etc/passwd"), id="an absolute output"),
        pytest.param(_with_output("a\\..\\b"), id="an output for another system"),
        pytest.param(_with_extent(-1, 5), id="a content before its pack"),
        pytest.param(_with_extent(0, -5), id="a content that is less than nothing"),
        pytest.param(_with_extent(PACK_BYTES, 5), id="a content behind its pack"),
        pytest.param(_with_extent(0, 1 << 60), id="a content without end"),
    ],
)
def test_invalid_segment_decodes_to_none(bad: Any) -> None:
    assert decode_segment(json.dumps(bad).encode(), "0" * 8) is None


def test_deeply_nested_segment_decodes_to_none() -> None:
    assert decode_segment(b"[" * 200_000, "0" * 8) is None
    assert decode_segment(b'{"version":1,"pairs":' + b"[" * 200_000, "0" * 8) is None


def test_joined_segments_have_the_newest_runs_and_their_contents() -> None:
    runs = [segment_of(("build:a/b", trace("a", f"run {n}"))) for n in range(KEPT_TRACES + 2)]
    one = join_segments(runs)
    kept = one.traces[TaskId("build:a/b")]
    assert kept == tuple(run.traces[TaskId("build:a/b")][0] for run in runs[:KEPT_TRACES])
    assert set(one.contents) == {row.output.files[0].digest for row in kept}
    assert len(one.streams["build"]) == KEPT_TRACES
    offsets = [one.contents[row.output.files[0].digest].offset for row in kept]
    assert offsets == [number * PACK_BYTES for number in range(KEPT_TRACES)]
    assert decode_segment(encode_segment(one), one.key_id) == one


def test_traces_without_contents_are_dropped_on_join() -> None:
    lost = segment_of(("build:a/b", trace("a")))
    lost = Segment(lost.key_id, lost.traces, {}, {})
    kept = segment_of(("build:a/b", trace("b")))
    assert join_segments((lost, kept)).traces == kept.traces


def _digest(number: int) -> Digest:
    return hash_fields((str(number),))


def test_new_segment_precedes_older_ones() -> None:
    head = with_segment(None, NewSegment(_digest(1), 100, "0.1"))
    head = with_segment(head, NewSegment(_digest(2), 200, "0.1"))
    assert head.segments == (_digest(2), _digest(1))
    assert (head.made, head.whole_since) == (200, 100)
    assert decode_head(encode_head(head)) == head


def test_head_has_a_maximum_number_of_segments() -> None:
    head: Head | None = None
    for number in range(MOST_SEGMENTS + 3):
        head = with_segment(head, NewSegment(_digest(number), 100, ""))
    assert head is not None
    assert len(head.segments) == MOST_SEGMENTS
    replaced = NewSegment(_digest(99), 100, "", frozenset(head.segments))
    assert with_segment(head, replaced).segments == (_digest(99),)


def test_old_segments_are_uploaded_again() -> None:
    head = with_segment(None, NewSegment(_digest(1), 100, ""))
    later = 100 + WHOLE_SECONDS
    assert is_due(None, 100)
    assert not is_due(head, later - 1)
    assert is_due(head, later)
    assert is_due(head, 99), "a clock that was wrong"
    fresh = with_segment(head, NewSegment(_digest(2), later, ""))
    assert (fresh.segments, fresh.whole_since) == ((_digest(2),), later)


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", encode_head(Head(2, 1, 1, (_digest(1),))), encode_head(Head(1, 1, 1, ()))],
)
def test_invalid_head_decodes_to_none(body: bytes) -> None:
    assert decode_head(body) is None


def test_a_name_in_a_head_is_a_digest() -> None:
    assert decode_head(encode_head(Head(1, 1, 1, (Digest("../x"),)))) is None


def test_segments_without_rows_are_still_read() -> None:
    document = {**_document(), "version": 1}
    found = decode_segment(json.dumps(document).encode(), "0" * 8)
    assert found is not None
    assert all(trace.rows == () for traces in found.traces.values() for trace in traces)
