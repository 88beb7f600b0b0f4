"""Small real things to run the engine with: task kinds on text, a clock that tests move."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from fabric.engine.bus import Bus
from fabric.engine.memory.blobs import Blobs
from fabric.engine.memory.disk_memo import DiskMemo
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.memory.traces import TraceStore
from fabric.engine.result import RunResult
from fabric.engine.run import Job, Run
from fabric.engine.schedule import Caps
from fabric.engine.task_runner import Stores, TaskRunner
from fabric.graph.build_graph import build_graph
from fabric.graph.taskgraph import TaskGraph
from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError, Problem
from fabric.model.runs.events import Event, Stamped
from fabric.model.task import EntryKind, InputEntry, Lane, Output, Task
from fabric.model.task_id import TaskId
from fabric.runtimes.contract import InputTrace
from fabric.system.clock import Clock, SystemClock
from fabric.tasks.contract import TaskResult, TaskTools, WrittenFile
from tests.support.seals import SEAL, sealed


@dataclass
class LateClock:
    """The system's clock, an hour ahead of what files are stamped with."""

    ahead: datetime.timedelta = datetime.timedelta(hours=1)

    def monotonic(self) -> float:
        return SystemClock().monotonic()

    def now(self) -> datetime.datetime:
        return SystemClock().now() + self.ahead


def late_stamp(folder: str) -> int:
    """As if an hour had passed since the files of a test were written: none of them is racy."""
    del folder
    return int(LateClock().now().timestamp() * 1e9)


class JoinInputs(Struct, frozen=True):
    """Joins text files, and what upstream gave, into one file."""

    kind: ClassVar[str] = "join"
    lane: ClassVar[Lane] = Lane.CPU
    shown_in: ClassVar[str] = "out"
    owns_folder: ClassVar[bool] = False
    shares_folder: ClassVar[bool] = False
    service: str
    function: str
    sources: tuple[str, ...] = ()
    upper: bool = False

    def entries(self) -> tuple[InputEntry, ...]:
        return (InputEntry(EntryKind.OPTION, "upper", str(self.upper)),)


@dataclass
class JoinKind:
    """Counts its runs; a source that says `fail` fails; comments do not reach the output."""

    version: str = "1"
    ran: list[str] = field(default_factory=list)

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        return (InputEntry(EntryKind.CODE, "join", self.version),)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        self.ran.append(task.id)
        inputs = task.inputs
        assert isinstance(inputs, JoinInputs)
        texts = [(task_tools.workspace / source).read_text() for source in inputs.sources]
        texts += [
            task_tools.content(owner, one).decode()
            for owner, out in upstream.items()
            for one in out.files
        ]
        if any("fail" in text for text in texts):
            raise FabricError(Problem("join/failed", f"{task.id} was told to fail"))
        text = "".join(one.partition("#")[0] for one in texts)
        content = (text.upper() if inputs.upper else text).encode()
        made = WrittenFile(f"{inputs.function}.txt", content)
        return TaskResult(hash_bytes(content), (made,), seen=InputTrace(inputs.sources))


@dataclass
class Heard:
    events: list[Event] = field(default_factory=list)

    def hear(self, event: Stamped) -> None:
        self.events.append(event.event)

    def close(self) -> None:
        return


def join(name: str, *sources: str, needs: tuple[str, ...] = (), upper: bool = False) -> Task:
    return Task(
        TaskId(f"join:{name}"),
        JoinInputs("svc", name, sources, upper),
        tuple(TaskId(f"join:{need}") for need in needs),
    )


@dataclass
class Bench:
    """A folder, a kind of task and stores: everything a run needs, opened afresh for each run."""

    root: Path
    kind: JoinKind = field(default_factory=JoinKind)
    heard: Heard = field(default_factory=Heard)
    use_cache: bool = True
    clock: Clock = field(default_factory=LateClock)
    stamp: Callable[[str], int] = late_stamp

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.root / name).write_text(text)

    def stores(self) -> Stores:
        cache = self.root / ".fabric" / "cache"
        memo = DiskMemo(cache / "memo", SEAL)
        blobs = Blobs(cache / "blobs", memo)
        trace_store = TraceStore(memo, "here", blobs.flush)
        files = FileIndex(self.root, sealed(cache / "f"), now_ns=self.stamp(""), stamp=self.stamp)
        return Stores(self.root, trace_store, blobs, files, memo)

    def run(self, *tasks: Task, width: int = 4, fail_fast: bool = False) -> RunResult:
        return self.run_graph(build_graph(tasks), width=width, fail_fast=fail_fast)

    def run_graph(self, graph: TaskGraph, *, width: int = 4, fail_fast: bool = False) -> RunResult:
        self.kind.ran.clear()
        self.heard.events.clear()
        job = Job(graph, Caps(width, width), (1.0,) * len(graph), fail_fast=fail_fast)
        return self.run_job(job, self.stores())

    def run_job(self, job: Job, stores: Stores) -> RunResult:
        runner = TaskRunner(stores, {"join": self.kind}, self.clock, use_cache=self.use_cache)
        for number, outcome in job.known.items():
            runner.know(job.graph.tasks[number], outcome)
        result = Run(job, runner, Bus("run", self.clock, [self.heard]), self.clock).go()
        stores.trace_store.flush()
        stores.files.save()
        stores.memo.close()
        return result
