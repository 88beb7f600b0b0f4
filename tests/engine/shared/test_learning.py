"""A query of the shared cache: which heads and segments it reads, and when it reads none."""

from pathlib import Path

import pytest

from fabric.engine.shared.learning import Learned, Learning
from fabric.engine.shared.stored_segments import LastQuery
from fabric.remote.contract import CarrierError, ObjectKind, ObjectName
from fabric.remote.seal import build_head_name
from tests.support.memory_carrier import (
    NOW,
    Machine,
    MemoryCarrier,
    contents_of,
    link,
    offer,
    published,
    task,
    words,
)
from tests.support.shared_caches import KEY

OTHER_KEY = "another-key-that-only-the-tests-know-0123456789"


def learn(machine: Machine) -> Learned:
    return Learning(
        machine.link,
        machine.uploads,
        machine.stored,
        lambda: machine.words,
        lambda: int(machine.clock.seconds),
    ).learn()


def test_empty_cache_has_no_segments() -> None:
    found = learn(Machine(MemoryCarrier()))
    assert (found.segments, found.base, found.was_asked) == ({}, None, True)


def test_uploaded_segment_is_found_by_its_commit() -> None:
    carrier = published(b"made")
    found = learn(Machine(carrier))
    (segment,) = found.segments.values()
    assert list(segment.traces) == [task().id]
    assert found.base is not None
    assert found.base.segments == tuple(found.segments)
    assert learn(Machine(carrier, words=words("other"))).segments == {}


def test_own_scope_is_searched_before_the_main_scope() -> None:
    carrier = published(b"made")
    own = Machine(carrier, link(scope="feature"))
    assert own.publish([offer("two", b"mine")], contents_of(b"mine")) == ""
    found = learn(Machine(carrier, link(scope="feature")))
    assert [list(one.traces) for one in found.segments.values()] == [[task("two").id], [task().id]]
    assert [list(one.traces) for one in learn(Machine(carrier)).segments.values()] == [[task().id]]


def test_known_commit_is_read_from_disk(tmp_path: Path) -> None:
    carrier = published(b"made")
    machine = Machine(carrier, folder=tmp_path)
    cache = machine.cache()
    assert cache.collect_answer().was_asked
    cache.keep(machine.stored)
    carrier.calls.clear()
    again = learn(Machine(carrier, folder=tmp_path))
    assert (again.was_asked, len(again.segments), carrier.calls) == (False, 1, [])
    part = learn(Machine(carrier, link(is_part=True), folder=tmp_path))
    assert part.was_asked
    assert carrier.calls == [("get", ObjectKind.HEAD)] * 2, "the segment is on disk"


def test_incomplete_copy_on_disk_is_queried_again(tmp_path: Path) -> None:
    carrier = published(b"made")
    machine = Machine(carrier, folder=tmp_path)
    (segment,) = carrier.names(ObjectKind.SEGMENT)
    machine.stored.remember(LastQuery("cache", "c", NOW, ok=True, segments=(segment.digest,)))
    found = learn(machine)
    assert (found.was_asked, len(found.segments)) == (True, 1)


def test_server_that_failed_recently_is_not_called(tmp_path: Path) -> None:
    machine = Machine(MemoryCarrier(), folder=tmp_path)
    machine.stored.remember(LastQuery("cache", "c", NOW, ok=False))
    with pytest.raises(CarrierError, match="skipped for now"):
        learn(machine)
    assert machine.carrier.calls == []
    machine.clock.seconds += 301
    assert learn(machine).was_asked


def test_failure_of_one_head_fails_the_query() -> None:
    carrier = published(b"made")
    carrier.failures["get", ObjectKind.HEAD] = CarrierError("500")
    with pytest.raises(CarrierError, match="500"):
        learn(Machine(carrier))


@pytest.mark.parametrize("kind", [ObjectKind.HEAD, ObjectKind.SEGMENT])
def test_damaged_or_missing_object_is_ignored(kind: ObjectKind) -> None:
    carrier = published(b"made")
    (name,) = carrier.names(kind)
    stored = carrier.objects[name]
    carrier.objects[name] = stored[:-1] + bytes([stored[-1] ^ 1])
    assert learn(Machine(carrier)).segments == {}
    del carrier.objects[name]
    found = learn(Machine(carrier))
    assert (found.segments, found.has_foreign_key) == ({}, False)


def test_object_of_another_commit_is_not_accepted_as_a_head() -> None:
    carrier = published(b"made")
    (name,) = carrier.names(ObjectKind.HEAD)
    moved = build_head_name("main", "commit/d")
    assert moved == ObjectName(ObjectKind.HEAD, moved.digest)
    carrier.objects[moved] = carrier.objects[name]
    assert learn(Machine(carrier, words=words("d"))).segments == {}


def test_entries_of_an_unknown_key_are_reported_and_ignored() -> None:
    carrier = published(b"made")
    found = learn(Machine(carrier, link(key=OTHER_KEY)))
    assert (found.segments, found.has_foreign_key) == ({}, True)
    both = learn(Machine(carrier, link(key=f"{OTHER_KEY},{KEY}")))
    assert (len(both.segments), both.has_foreign_key) == (1, False)
