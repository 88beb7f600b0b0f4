"""Content of what came before: from the store, from where people see it, or made once more."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fabric.engine.bus import Bus
from fabric.engine.memory.blobs import Blobs
from fabric.engine.memory.disk_memo import DiskMemo
from fabric.engine.memory.traces import RemoteResults, TraceStore
from fabric.engine.output_folders import copy_out
from fabric.engine.result import Outcome, Status
from fabric.engine.run import Job, Run
from fabric.engine.run_tools import RunTools, StopSign
from fabric.engine.schedule import Caps
from fabric.engine.shared.publishing import Publishing
from fabric.engine.task_runner import Stores, TaskRunner
from fabric.graph.build_graph import build_graph
from fabric.graph.decide import FROM_SHARED
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.problems import FabricError
from fabric.model.task import EntryKind, InputEntry, Output, OutputFile, Pairs, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import BuildInputs
from fabric.remote.contract import ObjectKind
from fabric.runtimes.contract import InputTrace
from fabric.tasks.contract import Registry, TaskResult, TaskTools, WrittenFile
from tests.support.fakes import Bench, join
from tests.support.memory_carrier import Machine, MemoryCarrier, link
from tests.support.seals import SEAL

LEFT = join("left", "a")


class Damaged:
    """A task that has run, whose result is neither in the store nor to be seen any more."""

    def __init__(self, root: Path) -> None:
        self.bench = Bench(root)
        self.bench.write(a="one")
        outcome = self.bench.run(LEFT).outcomes[0]
        assert outcome.output is not None
        (self.file,) = outcome.output.files
        self.stores = self.bench.stores()
        self.stores.blobs.drop(self.file.digest)
        self.shown = root / "out" / "left.txt"
        self.runner = TaskRunner(self.stores, {"join": self.bench.kind}, self.bench.clock)
        self.runner.know(LEFT, outcome)
        self.bench.kind.ran.clear()

    def content(self, file: OutputFile | None = None) -> bytes:
        tools = RunTools(self.runner, StopSign(), lambda _: None)
        return self.runner.contents.content(LEFT.id, file or self.file, tools)


@pytest.fixture
def damaged(tmp_path: Path) -> Damaged:
    return Damaged(tmp_path)


def test_build_output_is_reused_if_it_is_correct(damaged: Damaged) -> None:
    assert damaged.content() == b"one"
    assert damaged.bench.kind.ran == []
    damaged.shown.unlink()
    assert damaged.content() == b"one", "it is in the store again"


def test_otherwise_output_is_rebuilt_once(damaged: Damaged) -> None:
    damaged.shown.write_text("other")
    assert damaged.content() == b"one"
    assert damaged.bench.kind.ran == [LEFT.id]
    assert damaged.content() == b"one"
    assert damaged.bench.kind.ran == [LEFT.id], "but once"


def test_rebuild_with_different_bytes_is_not_accepted(damaged: Damaged) -> None:
    damaged.shown.unlink()
    damaged.bench.write(a="another")
    with pytest.raises(FabricError) as caught:
        damaged.content()
    assert caught.value.first.code == "cache/damaged"
    assert damaged.stores.trace_store.traces(LEFT.id) == (), "the next run makes it anew"


class Site(Bench):
    """A workspace that reads and writes a shared cache in memory."""

    def __init__(self, root: Path, carrier: MemoryCarrier) -> None:
        root.mkdir()
        super().__init__(root)
        self.kinds: Registry = {"join": self.kind}
        self.carrier = carrier
        self.uses_shared = True

    def build(self, *tasks: Task) -> Outcome:
        """Run the tasks, and return the outcome of the last one."""
        machine = Machine(self.carrier, link(kinds=frozenset({"join", "build"})))
        cache = machine.cache() if self.uses_shared else None
        folder = self.root / ".fabric" / "cache"
        memo = DiskMemo(folder / "memo", SEAL)
        blobs = Blobs(folder / "blobs", memo, cache)
        traces = TraceStore(memo, "here", blobs.flush)
        files = self.stores().files
        stores = Stores(self.root, traces, blobs, files, memo, cache)
        self.runner = TaskRunner(stores, self.kinds, self.clock)
        graph = build_graph(tasks)
        if cache is not None:
            cache.gives(Publishing(machine.link, machine.uploads, machine.clock, blobs.get))
            cache.tell(graph, self.runner.memory, traces)
        job = Job(graph, Caps(2, 2), (1.0,) * len(graph))
        result = Run(job, self.runner, Bus("run", self.clock, []), self.clock).go()
        traces.flush()
        if cache is not None:
            cache.finish()
        memo.close()
        return result.outcomes[-1]

    def count(self, verb: str) -> int:
        """How many packs were fetched or uploaded until now."""
        return self.carrier.calls.count((verb, ObjectKind.PACK))


@pytest.fixture
def sites(tmp_path: Path) -> tuple[Site, Site]:
    """Two machines with the same source and one shared cache."""
    carrier = MemoryCarrier()
    both = Site(tmp_path / "one", carrier), Site(tmp_path / "two", carrier)
    for site in both:
        site.write(a="source")
    return both


def test_result_of_another_machine_is_restored(sites: tuple[Site, Site]) -> None:
    first, second = sites
    first.build(LEFT)
    found = second.build(LEFT)
    assert (found.status, found.reason) == (Status.SKIPPED, FROM_SHARED)
    assert (second.root / "out" / "left.txt").read_text() == "source"
    second.uses_shared = False
    assert second.build(LEFT).reason == "up to date", "it is a local result now"
    assert second.kind.ran == []


def test_local_result_is_uploaded_when_it_is_used(sites: tuple[Site, Site]) -> None:
    first, second = sites
    first.uses_shared = False
    first.build(LEFT)
    assert first.carrier.objects == {}
    first.uses_shared = True
    first.build(LEFT)
    assert second.build(LEFT).reason == FROM_SHARED
    second.build(LEFT)
    assert first.count("put") == 1, "it is there"


def test_shared_result_whose_content_is_lost_is_made_here(sites: tuple[Site, Site]) -> None:
    first, second = sites
    first.build(LEFT)
    for name in first.carrier.names(ObjectKind.PACK):
        del first.carrier.objects[name]
    found = second.build(LEFT)
    assert (found.status, found.reason) == (Status.RAN, "cached result missing")
    assert (second.root / "out" / "left.txt").read_text() == "source"


class FakeBuild:
    """Writes files of these names; `edits` is an input that it changes."""

    def __init__(self, *names: str, edits: str = "") -> None:
        self.names = names
        self.edits = edits

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "fake", ",".join(self.names)),)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        del task, upstream
        before: Pairs = ()
        if self.edits:
            path = task_tools.workspace / self.edits
            before = ((self.edits, hash_bytes(path.read_bytes())),)
            path.write_text(path.read_text() + "!")
        made = tuple(WrittenFile(name, name.encode(), executable=True) for name in self.names)
        read = (self.edits,) if self.edits else ()
        return TaskResult(hash_fields(self.names), made, seen=InputTrace(read), before=before)


def build_task(*, is_wanted: bool = True) -> Task:
    inputs = BuildInputs("shop", "api", ".", "api.ts", "nodejs20", is_wanted=is_wanted)
    return Task(TaskId("build:shop/api"), inputs)


def test_shared_output_that_nobody_requested_stays_remote(sites: tuple[Site, Site]) -> None:
    for site in sites:
        site.kinds = {"build": FakeBuild("index.js")}
    first, second = sites
    first.build(build_task())
    for reason in (FROM_SHARED, "up to date"):
        assert second.build(build_task(is_wanted=False)).reason == reason
        assert second.count("get") == 0
        assert not (second.root / ".fabric/build").exists()
    assert second.build(build_task()).status is Status.SKIPPED
    assert (second.root / ".fabric/build/shop/api/index.js").exists()
    assert second.count("get") == 1


def test_output_directory_holds_only_the_files_of_the_output(sites: tuple[Site, Site]) -> None:
    site = sites[0]
    shown = site.root / ".fabric/build/shop/api"
    site.kinds = {"build": FakeBuild("old.js", "lib/old.js")}
    site.build(build_task())
    site.kinds = {"build": FakeBuild("new.js")}
    outcome = site.build(build_task())
    assert [one.name for one in shown.iterdir()] == ["new.js"]
    assert outcome.output is not None
    copy_out(build_task().inputs, outcome.output, site.root, site.root / "copy")
    assert (site.root / "copy/new.js").read_text() == "new.js"
    assert (site.root / "copy/new.js").stat().st_mode & 0o777 == 0o755


def test_task_that_changes_its_inputs_is_not_cached_and_warns(sites: tuple[Site, Site]) -> None:
    site = sites[0]
    site.kinds = {"build": FakeBuild("index.js", edits="a")}
    for _ in range(2):
        found = site.build(build_task())
        assert found.status is Status.RAN
        (warning,) = found.warnings
        assert warning.code == "build/input-moved"
        assert warning.message == "the result is not cached: a changed while it ran"


@pytest.mark.parametrize("name", ["../out.js", "/out.js", "a\\b.js", "a\nb.js"])
def test_output_name_that_can_mean_another_directory_is_rejected(
    sites: tuple[Site, Site], name: str
) -> None:
    site = sites[0]
    site.kinds = {"build": FakeBuild(name)}
    found = site.build(build_task())
    assert found.status is Status.FAILED
    assert [one.code for one in found.problems] == ["build/bad-name"]


def test_trusted_results_of_a_record_need_no_content(sites: tuple[Site, Site]) -> None:
    first, second = sites
    trace = first.build(LEFT).trace
    assert trace is not None
    stores = second.stores()
    runner = TaskRunner(stores, second.kinds, second.clock)
    runner.believe(RemoteResults({LEFT.id: (trace,)}, frozenset({LEFT.id})))
    job = Job(build_graph([LEFT]), Caps(1, 1), (1.0,))
    (outcome,) = Run(job, runner, Bus("run", second.clock, []), second.clock).go().outcomes
    assert (outcome.status, outcome.reason, second.kind.ran) == (Status.SKIPPED, "up to date", [])
    assert not (second.root / "out").exists()
    untrusted = RemoteResults({LEFT.id: (trace,)}, frozenset({LEFT.id})).without(
        frozenset({LEFT.id})
    )
    runner.believe(untrusted)
    (outcome,) = Run(job, runner, Bus("run", second.clock, []), second.clock).go().outcomes
    assert (outcome.status, outcome.reason) == (Status.RAN, "cached result missing")
    stores.memo.close()
