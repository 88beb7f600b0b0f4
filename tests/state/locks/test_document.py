"""The stored form of a lock, also of a damaged one, and the message about its holder."""

import datetime
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fabric.model.records.record import RecordRef
from fabric.state.locks.document import (
    LockHolder,
    decode_lock,
    describe_holder,
    encode_free,
    encode_lock,
    free_lock,
    lock_conflict_problem,
    record_options,
)
from fabric.system.process.process_identity import Process
from tests.state.locks.test_leases import HandClock
from tests.support.documents import mutations
from tests.support.old_files import old_file

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


HOLDER = LockHolder(
    "id", REF, "deploy", Process("me", "host", 7, "boot", "pid:[1]", 99), 4, "2026-01-01T00:00:00Z"
)


def test_a_free_lock_keeps_its_fence_and_has_no_holder() -> None:
    assert free_lock(encode_free(4)) == 4
    assert decode_lock(encode_free(4)) is None


def test_people_see_the_holder_without_the_facts_of_its_process() -> None:
    document = describe_holder(HOLDER)
    assert (document["who"], document["pid"], document["fence"]) == ("me@host", 7, 4)
    assert "process" not in document


@pytest.mark.parametrize(
    ("seconds", "age"),
    [(0, "0 s"), (-5, "0 s"), (119, "119 s"), (120, "2 min"), (7_300, "121 min")],
)
def test_a_conflict_names_holder_age_and_remedy(seconds: int, age: str) -> None:
    created = datetime.datetime.fromisoformat("2026-01-01T00:00:00Z")
    clock = HandClock(wall=created + datetime.timedelta(seconds=seconds))
    problem = lock_conflict_problem(REF, HOLDER, clock, record_options(REF))
    assert problem.message == (
        f"`shop` (dev, cloud1-lambda) is locked by me@host (pid 7) for `deploy`, {age} ago"
    )
    assert problem.hint.endswith(
        "fabric state force-unlock --service shop --stage dev --provider cloud1-lambda"
    )


def test_a_conflict_with_an_unknown_holder_or_time_is_still_reported() -> None:
    assert lock_conflict_problem(REF, None, HandClock(), "").message == (
        "`shop` (dev, cloud1-lambda) is locked"
    )
    odd = replace(HOLDER, created_at="soon")
    assert lock_conflict_problem(REF, odd, HandClock(), "").message.endswith(", some time ago")
