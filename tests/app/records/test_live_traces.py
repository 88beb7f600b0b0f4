"""What other machines are told of builds: read again, also from an earlier version; damage is
nothing told."""

import json
from typing import Any

import pytest
from hypothesis import given

from fabric.app.records.live_traces import decode_trace_document, encode_trace_document
from tests.support.documents import mutations
from tests.support.old_files import old_file

OLD: dict[str, Any] = json.loads(old_file("traces.json"))


def test_an_old_document_is_read_and_written_as_it_was() -> None:
    rows = decode_trace_document(old_file("traces.json"), "salt")
    assert sorted(rows) == ["hello", "sweep"]
    assert json.dumps(encode_trace_document(rows), separators=(",", ":")).encode() == old_file(
        "traces.json"
    )


@pytest.mark.parametrize("content", [b"", b"[]", b"[" * 99_999, b"\xff", b'{"version":3}', b"1"])
def test_invalid_trace_document_decodes_to_empty(content: bytes) -> None:
    assert decode_trace_document(content, "salt") == {}


@given(mutations(OLD))
def test_a_damaged_document_never_breaks_a_run(document: Any) -> None:
    assert isinstance(decode_trace_document(json.dumps(document).encode(), "salt"), dict)
