"""What tasks looked at and how long they took, between runs."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fabric.engine.memory.disk_memo import DiskMemo
from fabric.engine.memory.memo import Memo
from fabric.engine.memory.traces import Durations, TraceStore
from fabric.graph.traces import Trace
from fabric.model.hashing import hash_bytes
from fabric.model.names import Digest
from fabric.model.task import Output
from fabric.model.task_id import TaskId
from tests.support.seals import SEAL

TASK = TaskId("build:shop/one")


@pytest.fixture
def memo(tmp_path: Path) -> Iterator[Memo]:
    with closing(DiskMemo(tmp_path / "memo", SEAL)) as made:
        yield made


def opened(memo: Memo) -> TraceStore:
    return TraceStore(memo, "here", lambda: None)


def trace(content: str, ms: int = 7) -> Trace:
    digest = hash_bytes(content.encode())
    return Trace(digest, (), (("a", content),), (), (), (), (), Digest(digest), Output(digest), ms)


def test_the_newest_comes_first_and_the_oldest_falls_out(memo: Memo) -> None:
    for number in range(20):
        store = opened(memo)
        store.remember(TASK, trace(str(number)))
        store.flush()
    found = [one.files[0][1] for one in opened(memo).traces(TASK)]
    assert found == [str(number) for number in range(19, 3, -1)]


def test_traces_of_another_process_are_stored_behind_new_ones(memo: Memo) -> None:
    mine, other = opened(memo), opened(memo)
    mine.remember(TASK, trace("before"))
    mine.flush()
    assert [one.files[0][1] for one in other.traces(TASK)] == ["before"]
    mine.remember(TASK, trace("mine"))
    mine.flush()
    other.remember(TASK, trace("other"))
    other.flush()
    assert [one.files[0][1] for one in opened(memo).traces(TASK)] == ["other", "mine", "before"]


def test_many_are_fetched_together(memo: Memo) -> None:
    store = opened(memo)
    store.remember(TASK, trace("a"))
    store.flush()
    again = opened(memo)
    again.expect(1000)
    assert [one.files[0][1] for one in again.traces(TASK)] == ["a"]
    assert again.traces(TaskId("build:shop/other")) == ()


def test_large_run_is_written_incrementally(memo: Memo) -> None:
    store = opened(memo)
    for number in range(500):
        store.remember(TaskId(f"build:shop/f{number}"), trace("a"))
    assert opened(memo).traces(TaskId("build:shop/f0"))
    assert not opened(memo).traces(TaskId("build:shop/f500"))


def test_forgotten_trace_is_not_written(memo: Memo) -> None:
    store = opened(memo)
    store.remember(TASK, trace("a"))
    store.flush()
    store.remember(TASK, trace("b"))
    store.forget(TASK)
    assert store.traces(TASK) == ()
    store.flush()
    assert opened(memo).traces(TASK) == ()


def test_task_duration_comes_from_its_trace_or_a_note(memo: Memo) -> None:
    store = opened(memo)
    assert store.last_ms(TASK) is None
    store.durations.note(TASK, 9)
    assert store.last_ms(TASK) == 9
    store.flush()
    again = opened(memo)
    assert again.last_ms(TASK) == 9
    again.remember(TASK, trace("a", ms=5))
    assert again.last_ms(TASK) == 5


@pytest.mark.parametrize("content", [b"[]", b"{", b'{"a": "x"}', b"[" * 5000])
def test_unreadable_durations_are_ignored(content: bytes, memo: Memo) -> None:
    assert memo.put_all({"d:here": content})
    durations = Durations(memo, "here")
    assert durations.ms(TASK) is None
    assert durations.rows() == {}
    durations.note(TASK, 3)
    assert memo.put_all(durations.rows())
    assert Durations(memo, "here").ms(TASK) == 3


def test_traces_of_other_machines_come_after_local_ones(memo: Memo) -> None:
    store = opened(memo)
    store.remember(TASK, trace("mine"))
    store.learn(TASK, (trace("mine"), trace("theirs")))
    assert store.traces(TASK) == (trace("mine"), trace("theirs"))
    assert store.is_learned(TASK, trace("theirs"))
    assert not store.is_learned(TASK, trace("mine")), "known here as well"
    store.flush()
    assert opened(memo).traces(TASK) == (trace("mine"),)


def test_verified_trace_of_another_machine_becomes_a_local_one(memo: Memo) -> None:
    store = opened(memo)
    store.learn(TASK, (trace("one"), trace("two")))
    store.take_over(TASK, trace("one"), is_far=True)
    store.take_over(TASK, trace("unknown"), is_far=False)
    assert not store.is_learned(TASK, trace("one"))
    assert store.is_learned(TASK, trace("two"))
    store.flush()
    (found,) = opened(memo).traces(TASK)
    assert (found.files, found.is_far) == ((("a", "one"),), True)


def test_targets_of_a_service_share_the_traces_of_a_build(memo: Memo) -> None:
    store = opened(memo)
    store.remember(TaskId(f"{TASK}@main"), trace("a"))
    assert store.traces(TaskId(f"{TASK}@spare")) == store.traces(TASK) == (trace("a"),)


def test_traces_given_from_another_source_are_not_looked_up(memo: Memo) -> None:
    store = opened(memo)
    store.remember(TASK, trace("stored"))
    store.flush()
    again = opened(memo)
    again.preset(TASK, (trace("given"),))
    assert again.traces(TASK) == (trace("given"),)
