"""Traces in the memo: the same comes back, what was kept long ago too, and damage is a miss."""

import json
import marshal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.engine.memory.trace_rows import (
    decode_traces,
    encode_trace,
    encode_traces,
    read_traces,
)
from fabric.graph.traces import ListingTrace, RowsTrace, Trace
from fabric.model.names import Digest
from fabric.model.task import EntryKind, InputEntry, Output, OutputFile
from tests.support.documents import mutations
from tests.support.old_files import old_file

# A name that is not UTF-8 is half of a surrogate pair.
TEXTS = st.sampled_from(["", "a", "src/ü.py", "\udc80", '"\\\n', "1"])
DIGESTS = TEXTS.map(Digest)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), max_size=2).map(tuple)
MADE = st.builds(
    OutputFile,
    st.sampled_from(["a.js", "b/ü.py"]),
    st.sampled_from([Digest("0" * 64), Digest("af" * 32)]),
    st.integers(0, 2**40),
    executable=st.booleans(),
)
TRACES = st.builds(
    Trace,
    static=DIGESTS,
    entries=st.lists(
        st.builds(InputEntry, st.sampled_from(EntryKind), TEXTS, TEXTS), max_size=2
    ).map(tuple),
    files=PAIRS,
    absent=st.lists(TEXTS, max_size=2).map(tuple),
    listings=st.lists(
        st.builds(ListingTrace, TEXTS, TEXTS, st.tuples(TEXTS), TEXTS), max_size=1
    ).map(tuple),
    upstream=PAIRS,
    links=PAIRS,
    key=DIGESTS,
    output=st.builds(Output, DIGESTS, st.lists(MADE, max_size=2).map(tuple), PAIRS),
    ms=st.integers(0, 2**31),
    rows=st.lists(st.builds(RowsTrace, TEXTS, PAIRS, TEXTS), max_size=2).map(tuple),
)
ROW: dict[str, Any] = json.loads(old_file("memo-traces.json"))[0]


@given(st.lists(TRACES, max_size=3).map(tuple))
def test_traces_come_back_as_they_were(traces: tuple[Trace, ...]) -> None:
    assert read_traces(encode_traces(traces)) == traces


@given(TRACES)
def test_a_trace_comes_back_from_marshal_too(trace: Trace) -> None:
    assert decode_traces(marshal.loads(marshal.dumps([encode_trace(trace)]))) == (trace,)  # noqa: S302


def test_old_traces_are_read_and_written_as_they_were() -> None:
    found = read_traces(old_file("memo-traces.json"))
    assert [one.ms for one in found] == [5, 8]
    assert encode_traces(found) == old_file("memo-traces.json")


@given(mutations(ROW))
def test_a_damaged_row_is_a_trace_or_a_miss(row: Any) -> None:
    for found in (read_traces(json.dumps([row]).encode()), decode_traces([row])):
        assert all(isinstance(one, Trace) for one in found)


@given(st.integers(0, 5000), st.integers(1, 255))
def test_a_damaged_byte_is_a_trace_or_a_miss(place: int, bits: int) -> None:
    content = bytearray(old_file("memo-traces.json"))
    content[place % len(content)] ^= bits
    assert all(isinstance(one, Trace) for one in read_traces(bytes(content)))


@pytest.mark.parametrize(
    "change",
    [
        {"ms": -1},
        {"ms": True},
        {"ms": 1.5},
        {"static": 1},
        {"files": [["a"]]},
        {"files": [["a", 1]]},
        {"entries": [["a", "b", "c", "d"]]},
        {"listings": [["a", "b", [], "c", "d"]]},
        {"made": [["../a", "0" * 64, 1, False]]},
        {"made": [["/a", "0" * 64, 1, False]]},
        {"made": [["a", "0", 1, False]]},
        {"made": [["a", "0" * 64, -1, False]]},
        {"made": [["a", "0" * 64, 1, 1]]},
    ],
    ids=str,
)
def test_malformed_trace_row_is_a_miss(change: dict[str, Any]) -> None:
    assert decode_traces([ROW])
    assert decode_traces([ROW | change]) == ()
    assert read_traces(json.dumps([ROW | change]).encode()) == ()


@pytest.mark.parametrize("content", [b"", b"null", b"{}", b"[" * 99_999, b"\xff", b"[{}]"])
def test_invalid_trace_list_is_a_miss(content: bytes) -> None:
    assert read_traces(content) == ()


def test_nothing_is_a_miss() -> None:
    assert read_traces(None) == ()
    assert decode_traces(None) == ()
