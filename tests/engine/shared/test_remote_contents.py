"""Contents in packs: fetched once, verified, and given up if the cache is too slow."""

import threading
from itertools import accumulate

import pytest

from fabric.engine.shared.background_uploads import FRUITLESS_S, Outage
from fabric.engine.shared.remote_contents import RemoteContents
from fabric.model.hashing import hash_bytes
from fabric.remote.contract import PACK_BYTES, CarrierError, CarrierRefusedError, ObjectKind
from fabric.remote.packs import Extent
from fabric.remote.seal import seal_object
from fabric.remote.segments import Segment
from tests.support.memory_carrier import Machine, MemoryCarrier, link
from tests.support.until import until

PACK = ("get", ObjectKind.PACK)


class Packs:
    """Contents one after the other in the packs of one kind, and a reader of them."""

    def __init__(self, *contents: bytes, pack_bytes: int = PACK_BYTES) -> None:
        self.carrier = MemoryCarrier()
        self.machine = Machine(self.carrier)
        self.outage = Outage()
        whole = b"".join(contents)
        names = []
        for at in range(0, len(whole), pack_bytes):
            name, stored = seal_object(link().keys, ObjectKind.PACK, whole[at : at + pack_bytes])
            self.carrier.objects[name] = stored
            names.append(name.digest)
        starts = accumulate(map(len, contents), initial=0)
        extents = {
            hash_bytes(one): Extent("build", start, len(one))
            for one, start in zip(contents, starts, strict=False)
        }
        self.segment = Segment(link().keys.first.id, {}, {"build": tuple(names)}, extents)
        self.contents = self.reader(self.segment)

    def reader(self, *segments: Segment) -> RemoteContents:
        found = RemoteContents(self.machine.uploads, link().keys, self.outage, self.machine.clock)
        found.know(segments)
        return found

    def get(self, content: bytes) -> bytes | None:
        return self.contents.get(hash_bytes(content))


def test_contents_of_one_pack_are_fetched_together() -> None:
    packs = Packs(b"one", b"two", b"")
    assert [packs.get(one) for one in (b"one", b"two", b"")] == [b"one", b"two", b""]
    assert packs.carrier.calls == [PACK]
    assert packs.get(b"unknown") is None


def test_content_can_span_packs() -> None:
    large = b"ab" * (PACK_BYTES // 2 + 10)
    packs = Packs(b"first", large, b"last")
    assert packs.get(large) == large
    assert packs.get(b"last") == b"last"
    assert packs.carrier.calls == [PACK, PACK]


def test_next_pack_is_fetched_in_advance() -> None:
    packs = Packs(b"a" * PACK_BYTES, b"b" * PACK_BYTES, b"c")
    packs.get(b"a" * PACK_BYTES)
    until(lambda: len(packs.carrier.calls) == 2)
    packs.get(b"b" * PACK_BYTES)
    until(lambda: len(packs.carrier.calls) == 3)
    assert packs.get(b"c") == b"c"
    assert len(packs.carrier.calls) == 3


def test_availability_is_known_without_a_call() -> None:
    packs = Packs(b"one")
    digest = hash_bytes(b"one")
    assert packs.contents.has(digest, 3)
    assert not packs.contents.has(digest, 4), "another size"
    assert not packs.contents.has(hash_bytes(b"two"), 3)
    packs.outage.shut("off")
    assert not packs.contents.has(digest, 3)
    assert packs.carrier.calls == []


def test_content_with_another_hash_is_missing() -> None:
    packs = Packs(b"one")
    wrong = Segment(
        packs.segment.key_id,
        {},
        packs.segment.streams,
        {hash_bytes(b"two"): Extent("build", 0, 3), hash_bytes(b"x"): Extent("build", 2, 9)},
    )
    reader = packs.reader(wrong)
    assert reader.get(hash_bytes(b"two")) is None
    assert not reader.has(hash_bytes(b"two"), 3)
    assert reader.get(hash_bytes(b"x")) is None, "the pack ends before it"


def test_missing_or_damaged_pack_is_not_a_failure() -> None:
    packs = Packs(b"one")
    (name,) = packs.carrier.objects
    packs.carrier.objects[name] = b"FAB1 damaged"
    assert packs.get(b"one") is None
    packs.carrier.objects.clear()
    assert packs.reader(packs.segment).get(hash_bytes(b"one")) is None
    assert packs.outage.why == ""


def test_failed_pack_is_not_fetched_again() -> None:
    packs = Packs(b"one", b"two")
    packs.carrier.failures[PACK] = CarrierError("500")
    assert [packs.get(one) for one in (b"one", b"two")] == [None, None]
    assert (packs.carrier.calls, packs.outage.why) == ([PACK], "")


def test_rejection_disables_the_cache() -> None:
    packs = Packs(b"one")
    packs.carrier.failures[PACK] = CarrierRefusedError("401")
    assert packs.get(b"one") is None
    assert packs.outage.why == "401"
    assert packs.reader(packs.segment).get(hash_bytes(b"one")) is None
    assert packs.carrier.calls == [PACK]


def test_slow_pack_is_given_up() -> None:
    packs = Packs(b"one")
    packs.carrier.open.clear()
    packs.outage.report_failure(FRUITLESS_S - 0.01, "slow")
    assert packs.get(b"one") is None
    packs.carrier.open.set()
    assert packs.get(b"one") is None, "it was given up once"


def test_one_thread_fetches_for_all_that_wait() -> None:
    packs = Packs(b"one")
    packs.carrier.open.clear()
    found: list[bytes | None] = []
    threads = [threading.Thread(target=lambda: found.append(packs.get(b"one"))) for _ in range(3)]
    for one in threads:
        one.start()
    packs.carrier.open.set()
    for one in threads:
        one.join(30)
    assert (found, packs.carrier.calls) == ([b"one"] * 3, [PACK])


@pytest.mark.parametrize(("others", "calls"), [(15, 16), (16, 18)])
def test_only_the_latest_packs_are_held(others: int, calls: int) -> None:
    """Each content is in a pack of its own kind, so that none is fetched in advance."""
    packs = Packs(b"00")
    contents = {}
    streams = {}
    for number in range(others + 1):
        content = f"{number:02}".encode()
        name, stored = seal_object(link().keys, ObjectKind.PACK, content)
        packs.carrier.objects[name] = stored
        streams[str(number)] = (name.digest,)
        contents[hash_bytes(content)] = Extent(str(number), 0, 2)
    reader = packs.reader(Segment(link().keys.first.id, {}, streams, contents))
    for digest in (*contents, hash_bytes(b"00")):
        assert reader.get(digest) is not None
    assert len(packs.carrier.calls) == calls
