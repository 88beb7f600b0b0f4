"""The shared cache of a command: results of other machines, uploads of this one, and failures."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.engine.memory.memo import NoMemo
from fabric.engine.memory.traces import TraceStore
from fabric.engine.shared.link import SharedLink
from fabric.engine.shared.publishing import Offer, Publishing
from fabric.engine.shared.shared_cache import SharedCache
from fabric.graph.build_graph import build_graph
from fabric.graph.plan import Memory
from fabric.graph.traces import Look, Trace
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.names import Digest
from fabric.remote.contract import CarrierError, CarrierRefusedError, ObjectKind
from fabric.remote.heads import WHOLE_SECONDS, Head, encode_head
from fabric.remote.seal import build_head_name, seal_head, seal_object
from fabric.remote.segments import encode_segment
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

OTHER_KEY = "another-key-that-only-the-tests-know-0123456789"
HEAD, PACK, SEGMENT = ObjectKind.HEAD, ObjectKind.PACK, ObjectKind.SEGMENT


class SameFiles:
    """The files that builds of the tests read, with their content or another one."""

    folders_above = 0

    def __init__(self, source: str = "source", names: str = "names") -> None:
        self.source, self.names = hash_fields((source,)), hash_fields((names,))

    def digest(self, path: str) -> str:
        return self.source if path.endswith(".py") else ""

    def row(self, file: str, selector: str) -> str:
        del selector
        return self.digest(file)

    def listing(self, folder: str, pattern: str, ignore: tuple[str, ...]) -> str:
        del folder, pattern, ignore
        return self.names

    def real(self, path: str) -> str:
        return path


def memory(look: Look | None = None) -> Memory:
    return Memory(code=lambda _: (), traces=lambda _: (), look=look or SameFiles())


def traces(cache: SharedCache, look: Look | None = None, name: str = "one") -> list[Trace]:
    return list(cache.traces_of(task(name), memory(look)))


def giving(
    machine: Machine, contents: Mapping[Digest, bytes], cache: SharedCache | None = None
) -> SharedCache:
    """A cache that also uploads."""
    found = cache or machine.cache()
    found.gives(Publishing(machine.link, machine.uploads, machine.clock, contents.get))
    return found


def puts(carrier: MemoryCarrier) -> list[ObjectKind]:
    return [kind for verb, kind in carrier.calls if verb == "put"]


def test_result_of_another_machine_equals_a_local_one() -> None:
    cache = Machine(published(b"made")).cache()
    assert traces(cache) == [offer("one", b"made").trace]
    assert cache.content(hash_bytes(b"made")) == b"made"
    assert cache.has(hash_bytes(b"made"), 4)
    assert cache.last_ms(task().id) == 1500
    assert cache.last_ms(task("two").id) is None
    assert cache.use.fetched_bytes > 0
    assert cache.warnings == ()


@pytest.mark.parametrize(
    ("look", "fits"),
    [
        (SameFiles(), [True, True]),
        (SameFiles(source="edited"), [False, True]),
        (SameFiles(names="more"), [True, False]),
    ],
)
def test_local_files_decide_whether_a_shared_result_is_valid(
    look: SameFiles, fits: Sequence[bool]
) -> None:
    (found,) = traces(Machine(published(b"made")).cache(), look)
    assert [found.files[0][1] == look.source, found.listings[0].digest == look.names] == fits


def test_shared_results_are_added_to_local_traces() -> None:
    store = TraceStore(NoMemo(), "here", lambda: None)
    graph = build_graph([task("one"), task("two")])
    Machine(published(b"made")).cache().tell(graph, memory(), store)
    assert store.traces(task("one").id) == (offer("one", b"made").trace,)
    assert store.traces(task("two").id) == ()
    blind = TraceStore(NoMemo(), "here", lambda: None)
    Machine(published(b"made"), link(reads=False)).cache().tell(graph, memory(), blind)
    assert blind.traces(task("one").id) == ()


def test_result_with_other_inputs_or_of_another_kind_is_omitted() -> None:
    machine = Machine(published(b"made"))
    versioned = replace(memory(), code=lambda one: one.inputs.entries())
    assert list(machine.cache().traces_of(task(), versioned)) == []
    assert traces(Machine(published(b"made"), replace(link(), kinds=frozenset())).cache()) == []


def test_only_new_results_are_uploaded() -> None:
    carrier = published(b"made")
    machine = Machine(carrier)
    cache = giving(machine, contents_of(b"made", b"new"))
    assert len(traces(cache)) == 1
    carrier.calls.clear()
    for one in (offer("one", b"made"), offer("two", b"new")):
        cache.offer(one.task, one.trace)
    cache.finish()
    assert puts(carrier) == [PACK, SEGMENT, HEAD]
    assert cache.use.sent_bytes > 0
    found = Machine(carrier).cache()
    assert [len(traces(found, name=name)) for name in ("one", "two")] == [1, 1]
    assert found.content(hash_bytes(b"new")) == b"new"


def test_used_results_are_uploaded_again_when_all_are_due() -> None:
    carrier = published(b"made")
    for later, again in ((0, []), (WHOLE_SECONDS, [PACK, SEGMENT, HEAD])):
        machine = Machine(carrier)
        machine.clock.seconds += later
        cache = giving(machine, contents_of(b"made"))
        (trace,) = traces(cache)
        carrier.calls.clear()
        cache.used(task(), trace)
        cache.finish()
        assert (cache.use.hits, puts(carrier)) == (1, again)


def test_new_commit_starts_with_the_segments_of_its_branch() -> None:
    carrier = MemoryCarrier()
    writer = Machine(carrier, words=replace(words("a"), write=("commit/a", "branch/main")))
    assert writer.publish([offer("one", b"made")], contents_of(b"made")) == ""
    machine = Machine(carrier, words=words("b"))
    cache = giving(machine, contents_of(b"new"))
    two = offer("two", b"new")
    cache.offer(two.task, two.trace)
    cache.finish()
    only_b = replace(words("b"), read=("commit/b",))
    found = Machine(carrier, words=only_b).cache()
    assert [len(traces(found, name=name)) for name in ("one", "two")] == [1, 1]


def failing(verb: str, kind: ObjectKind, error: Exception) -> MemoryCarrier:
    carrier = published(b"made")
    carrier.failures[verb, kind] = error
    return carrier


def test_failed_query_is_one_warning_and_no_result(tmp_path: Path) -> None:
    carrier = failing("get", HEAD, CarrierError("it responded 500"))
    machine = Machine(carrier, folder=tmp_path)
    cache = giving(machine, contents_of(b"made"))
    assert traces(cache) == []
    (warning,) = cache.warnings
    assert warning.code == "cache/remote-off"
    assert warning.message == "ignoring the shared cache: it responded 500"
    before = puts(carrier)
    one = offer("one", b"made")
    cache.offer(one.task, one.trace)
    cache.finish()
    assert puts(carrier) == before


@pytest.mark.parametrize(
    ("error", "is_kept"), [(CarrierError("500"), True), (CarrierRefusedError("401"), False)]
)
def test_only_a_temporary_failure_is_kept_for_the_next_command(
    tmp_path: Path, error: Exception, is_kept: object
) -> None:
    machine = Machine(failing("get", HEAD, error), folder=tmp_path)
    cache = machine.cache()
    cache.collect_answer()
    cache.keep(machine.stored)
    last = machine.stored.read_last_query()
    assert (last is not None and not last.ok) is is_kept
    part = Machine(failing("get", HEAD, error), link(is_part=True), folder=tmp_path / "part")
    (tmp_path / "part").mkdir()
    shard = part.cache()
    shard.collect_answer()
    shard.keep(part.stored)
    assert part.stored.read_last_query() is None


def test_silent_server_is_tried_again_after_a_while(tmp_path: Path) -> None:
    """Each command of these minutes keeps the time of the first failure."""
    is_called = []
    for later in (0, 200, 301):
        machine = Machine(
            MemoryCarrier(failures={("get", HEAD): CarrierError("500")}), folder=tmp_path
        )
        machine.clock.seconds += later
        cache = machine.cache()
        cache.collect_answer()
        cache.keep(machine.stored)
        is_called.append(bool(machine.carrier.calls))
    assert is_called == [True, False, True]


def test_result_whose_contents_are_not_listed_is_omitted() -> None:
    carrier = published(b"made")
    (whole,) = Machine(carrier).cache().collect_answer().segments.values()
    keys = link().keys
    name, stored = seal_object(keys, SEGMENT, encode_segment(replace(whole, contents={})))
    head = build_head_name("main", "commit/c")
    carrier.objects[name] = stored
    carrier.objects[head] = seal_head(keys, head, encode_head(Head(1, NOW, NOW, (name.digest,))))
    cache = Machine(carrier).cache()
    assert list(cache.collect_answer().segments) == [name.digest]
    assert traces(cache) == []


def test_late_query_is_not_waited_for() -> None:
    carrier = published(b"made")
    carrier.open.clear()
    cache = Machine(carrier, link(wait_s=0.0)).cache()
    assert traces(cache) == []
    assert [one.message for one in cache.warnings] == ["ignoring the shared cache: timeout"]
    carrier.open.set()
    assert traces(cache) == [], "the answer counts only if it is in time"


def test_cache_that_is_only_written_is_not_queried() -> None:
    carrier = published(b"made")
    carrier.calls.clear()
    machine = Machine(carrier, link(reads=False))
    cache = giving(machine, contents_of(b"made"))
    assert (cache.collect_answer().segments, carrier.calls) == ({}, [])
    one = offer("one", b"made")
    cache.offer(one.task, one.trace)
    cache.finish()
    assert puts(carrier) == [PACK, SEGMENT, HEAD]


def uploading(settings: SharedLink, act: Callable[[SharedCache], None]) -> list[str]:
    machine = Machine(failing("put", PACK, CarrierError("disk full")), settings)
    cache = giving(machine, contents_of(b"new"))
    two = offer("two", b"new")
    cache.offer(two.task, two.trace)
    act(cache)
    return [one.message for one in cache.warnings]


def test_incomplete_upload_is_one_warning() -> None:
    start = "some results of this run were not uploaded to the shared cache: "
    assert uploading(link(), SharedCache.finish) == [start + "disk full"]
    assert uploading(link(), SharedCache.give_up)[0].startswith(start)


def test_results_under_an_unknown_key_are_one_warning() -> None:
    cache = Machine(published(b"made"), link(key=OTHER_KEY)).cache()
    assert traces(cache) == []
    assert [one.code for one in cache.warnings] == ["cache/remote-key"]


def test_command_without_offers_uploads_nothing() -> None:
    carrier = MemoryCarrier()
    machine = Machine(carrier)
    cache = machine.cache()
    cache.give_up()
    cache.finish()
    giving(machine, {}, cache).finish()
    assert (puts(carrier), cache.warnings) == ([], ())
    assert cache.uploads is machine.uploads
    cache.close()


def test_kinds_that_change_state_are_not_offered() -> None:
    machine = Machine(MemoryCarrier(), replace(link(), kinds=frozenset({"package"})))
    cache = giving(machine, contents_of(b"made"))
    one: Offer = offer("one", b"made")
    cache.offer(one.task, one.trace)
    cache.finish()
    assert puts(machine.carrier) == []
