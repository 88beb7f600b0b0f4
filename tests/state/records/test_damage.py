"""Locks, logs and notes that are not what was written: never an error that nobody expects."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.model.records.changes import decode_entry, encode_entry
from fabric.model.records.record import RecordRef
from fabric.state.locks.document import LockHolder, decode_lock, encode_lock, free_lock
from fabric.state.records.unsure import build_unsure_path, read_unsure_names
from fabric.state.records.wal import read_log
from fabric.system.append_log import AppendLog
from fabric.system.process_identity import Process
from tests.support.documents import mutations
from tests.support.old_files import FOLDER, old_file

REF = RecordRef("shop", "dev", "cloud1-lambda")
LOCK: dict[str, Any] = json.loads(old_file("lock.json"))
TEXTS = st.sampled_from(["", "a", "ü\n", '"\\', "\udc80", "1"])
NAMES = st.sampled_from(["me", "ü", "a b", "host-1"])
HOLDERS = st.builds(
    LockHolder,
    TEXTS, st.builds(RecordRef, TEXTS, TEXTS, TEXTS), TEXTS,
    st.builds(Process, NAMES, NAMES, st.integers(0), TEXTS, TEXTS, st.integers(0)),
    st.integers(0), TEXTS, TEXTS, TEXTS,
)  # fmt: skip
LOG = read_log(FOLDER / "wal.log")
ENTRIES = [encode_entry(one) for one in LOG.entries] if LOG else []


@given(HOLDERS)
def test_a_lock_comes_back_as_it_was(holder: LockHolder) -> None:
    assert decode_lock(encode_lock(holder)) == holder
    assert free_lock(encode_lock(holder)) == holder.fence


@given(mutations(LOCK))
def test_damaged_lock_decodes_to_a_holder_or_none(document: Any) -> None:
    content = json.dumps(document).encode()
    assert isinstance(decode_lock(content), LockHolder | None)
    assert isinstance(free_lock(content), int)


@pytest.mark.parametrize("content", [b"", b"[]", b"[" * 99_999, b"\xff", b'{"id":1}'])
def test_invalid_lock_content_counts_as_free(content: bytes) -> None:
    assert decode_lock(content) is None
    assert free_lock(content) == 0


def test_a_lock_that_is_damaged_elsewhere_keeps_its_fence() -> None:
    assert free_lock(json.dumps(LOCK | {"pid": "x", "free": "?"}).encode()) == 7
    assert free_lock(json.dumps(LOCK | {"fence": True}).encode()) == 0


@pytest.mark.parametrize("document", ENTRIES, ids=lambda one: str(one["kind"]))
def test_an_entry_comes_back_as_it_was(document: dict[str, Any]) -> None:
    assert encode_entry(decode_entry(json.loads(json.dumps(document)))) == document


@given(st.sampled_from(ENTRIES).flatmap(mutations))
def test_a_damaged_entry_is_an_entry_or_a_value_error(document: Any) -> None:
    try:
        decode_entry(document)
    except ValueError:
        return


def test_a_log_with_an_entry_of_no_kind_is_void(tmp_path: Path) -> None:
    log = AppendLog(tmp_path / "a.log")
    log.append('{"lineage": "l", "fence": 1}', '{"kind":"gone","task":"t","name":"x"}')
    log.append('{"kind":"moved","task":"t"}')
    log.close()
    assert read_log(tmp_path / "a.log") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"functions": "ab"}', '{"functions": [1]}'])
def test_damaged_unsure_file_reads_as_empty(text: str, tmp_path: Path) -> None:
    path = build_unsure_path(tmp_path, REF)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert read_unsure_names(tmp_path, REF) == ()
