"""What is sent can be read by those who look for it; what could not be is left out, and said."""

import base64
import threading
from random import Random

import pytest
from msgspec.structs import replace

from fabric.engine.shared.background_uploads import BackgroundUploads
from fabric.engine.shared.learning import Learned
from fabric.engine.shared.link import HeadTexts, SharedLink
from fabric.engine.shared.publishing import Offer, Publishing
from fabric.graph.traces import Trace
from fabric.model.hashing import hash_bytes
from fabric.model.names import Digest
from fabric.model.task import Output, Task
from fabric.model.task_id import build_task_id, name_of
from fabric.model.task_inputs import BuildInputs
from fabric.remote.contract import (
    CAPS,
    PACK_BYTES,
    CarrierError,
    CarrierRefusedError,
    ObjectKind,
    ObjectName,
)
from fabric.remote.heads import MOST_SEGMENTS
from fabric.remote.seal import parse_seal_keys
from fabric.system.clock import SystemClock
from tests.support.memory_carrier import Machine, MemoryCarrier, contents_of, link, offer
from tests.support.servers.faulty_store import faulty_store
from tests.support.shared_caches import KEY, CachePlaceOfTests

LINK = SharedLink(parse_seal_keys(KEY), "cache", "main", "0.1", True, True, 3.0, 60.0)  # noqa: FBT003
NOBODY_KNOWS = Learned(HeadTexts("c", ("commit/c",), ("commit/c",)), {}, {})
TASK = Task(
    build_task_id("build", "shop", "one"), BuildInputs("shop", "one", ".", "one.py", "python3.11")
)


def offered(told: str) -> Offer:
    output = Output(Digest("0" * 64), (), (("told", told),))
    return Offer(TASK, Trace(Digest("1" * 64), (), (), (), (), (), (), Digest(""), output, 5))


def sent(told: str) -> tuple[str, list[tuple[str, str]]]:
    """Why not all of it is there, and what was put."""
    with faulty_store() as store, CachePlaceOfTests(f"{store.address}/x").carrier() as carrier:
        uploads = BackgroundUploads(lambda: carrier)
        publishing = Publishing(LINK, uploads, SystemClock(), lambda _: None)
        publishing.offer(offered(told))
        publishing.close(NOBODY_KNOWS, 120)
        uploads.close()
        return publishing.failure, [call for call in store.calls if call[0] == "PUT"]


def test_segment_is_uploaded_before_its_references() -> None:
    assert sent("little") == ("", [("PUT", "cas"), ("PUT", "ac")])


@pytest.mark.slow
def test_oversized_segment_is_not_uploaded() -> None:
    much = Random(1).randbytes(CAPS[ObjectKind.SEGMENT] + 1000)
    failure, put = sent(base64.b64encode(much).decode())
    assert "split the run with --shard" in failure
    assert put == []


PUT_PACK = ("put", ObjectKind.PACK)


def kinds_put(carrier: MemoryCarrier) -> list[ObjectKind]:
    return [kind for verb, kind in carrier.calls if verb == "put"]


def found_names(carrier: MemoryCarrier) -> set[str]:
    """The functions whose results another machine finds."""
    segments = Machine(carrier).cache().collect_answer().segments.values()
    return {name_of(task_id).function for one in segments for task_id in one.traces}


def test_packs_are_uploaded_before_the_segment_and_the_head() -> None:
    carrier = MemoryCarrier()
    offers = [offer("one", b"same"), offer("two", b"same", b"")]
    assert Machine(carrier).publish(offers, contents_of(b"same", b"")) == ""
    assert kinds_put(carrier) == [ObjectKind.PACK, ObjectKind.SEGMENT, ObjectKind.HEAD]
    assert found_names(carrier) == {"one", "two"}


def test_result_without_its_content_is_not_uploaded() -> None:
    carrier = MemoryCarrier()
    offers = [offer("one", b"gone"), offer("two", b"there")]
    assert Machine(carrier).publish(offers, contents_of(b"there")) == ""
    assert found_names(carrier) == {"two"}
    nothing = MemoryCarrier()
    assert Machine(nothing).publish([offer("one", b"gone")], {}) == ""
    assert kinds_put(nothing) == []


@pytest.mark.parametrize("error", [CarrierError("disk full"), CarrierRefusedError("403")])
def test_results_in_a_lost_pack_are_left_out(error: Exception) -> None:
    carrier = MemoryCarrier(failures={PUT_PACK: error})
    offers = [offer("one", b"made"), offer("two")]
    assert Machine(carrier).publish(offers, contents_of(b"made")) == str(error)
    assert found_names(carrier) == {"two"}


@pytest.mark.parametrize("kind", [ObjectKind.SEGMENT, ObjectKind.HEAD])
def test_nothing_refers_to_an_object_that_was_not_uploaded(kind: ObjectKind) -> None:
    carrier = MemoryCarrier(failures={("put", kind): CarrierError("disk full")})
    assert Machine(carrier).publish([offer("one", b"made")], contents_of(b"made")) == "disk full"
    assert carrier.names(ObjectKind.HEAD) == []


def test_upload_that_takes_too_long_is_abandoned() -> None:
    carrier = MemoryCarrier()
    carrier.open.clear()
    machine = Machine(carrier, replace(link(), upload_s=0.01))
    assert machine.publish([offer("one", b"made")], contents_of(b"made")) == "timeout"
    carrier.open.set()


def test_full_head_is_joined_into_one_segment() -> None:
    carrier = MemoryCarrier()
    names = [f"f{number}" for number in range(MOST_SEGMENTS + 1)]
    for name in names[:-1]:
        Machine(carrier).publish([offer(name, name.encode())], contents_of(name.encode()))
    assert len(Machine(carrier).cache().collect_answer().segments) == MOST_SEGMENTS
    known = Machine(carrier).cache().collect_answer()
    few = Learned(known.words, dict(list(known.segments.items())[:3]), {})
    last = names[-1].encode()
    assert Machine(carrier).publish([offer(names[-1], last)], contents_of(last), few) == ""
    assert len(Machine(carrier).cache().collect_answer().segments) == 1
    assert found_names(carrier) == set(names)
    cache = Machine(carrier).cache()
    cache.collect_answer()
    assert {cache.content(hash_bytes(name.encode())) for name in names} == {
        name.encode() for name in names
    }


def test_few_packs_are_in_memory_at_the_same_time() -> None:
    carrier = SlowFirstPut()
    contents = [bytes([number]) * PACK_BYTES for number in range(7)]
    offers = [offer(f"f{number}", one) for number, one in enumerate(contents)]
    assert Machine(carrier).publish(offers, contents_of(*contents)) == ""
    assert carrier.most_others <= 4
    assert len(found_names(carrier)) == 7


class SlowFirstPut(MemoryCarrier):
    """Its first put waits a moment for more others than there may be, and these wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self._others = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._is_begun = False
        self._is_over = threading.Event()
        self.most_others = 0

    def put(self, name: ObjectName, content: bytes) -> None:
        with self._lock:
            is_first, self._is_begun = not self._is_begun, True
        if is_first:
            while self.most_others <= 4 and self._others.acquire(timeout=0.2):
                self.most_others += 1
            self._is_over.set()
        else:
            self._others.release()
            self._is_over.wait(30)
        super().put(name, content)
