"""The engine over tasks that only sleep: how near does a run come to the best possible one?

Prints one JSON line: what it took from the first start to the last end, and the bound, which is
the longer of the critical path and the work shared out among the workers.
"""

import json
import random
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from benchmarks.copygraph import upstream_of
from benchmarks.stores import opened
from fabric.engine.bus import Bus
from fabric.engine.run import Job, Run
from fabric.engine.schedule import Caps
from fabric.engine.task_runner import TaskRunner
from fabric.graph.build_graph import build_graph
from fabric.model.hashing import hash_bytes
from fabric.model.task import InputEntry, Lane, Output, Task
from fabric.model.task_id import TaskId
from fabric.system.clock import SystemClock
from fabric.tasks.contract import TaskResult, TaskTools, WrittenFile

_NAP = 0.05


class SleepInputs(Struct, frozen=True):
    kind: ClassVar[str] = "sleep"
    lane: ClassVar[Lane] = Lane.IO
    owns_folder: ClassVar[bool] = False
    shares_folder: ClassVar[bool] = False
    service: str
    seconds: float
    function: str = ""

    @property
    def shown_in(self) -> str:
        return f"out/{self.service}"

    def entries(self) -> tuple[InputEntry, ...]:
        return ()


class Sleep:
    """Naps like a deploy: what it gave is remembered. With `files` it also leaves a file, as a
    peer's command must."""

    def __init__(self, *, files: bool) -> None:
        self._files = files

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return ()

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: TaskTools) -> TaskResult:
        del upstream, shop
        inputs = task.inputs
        assert isinstance(inputs, SleepInputs)
        time.sleep(inputs.seconds)
        content = b'{"service":"%s"}' % inputs.service.encode()
        if not self._files:
            return TaskResult(hash_bytes(content), facts=(("service", inputs.service),))
        made = WrittenFile("deploy.json", content)
        return TaskResult(hash_bytes(content), (made,))


def even(count: int) -> list[Task]:
    """Eight levels of equal naps."""
    needs = upstream_of(count)
    return [_task(number, _NAP, needs[number]) for number in range(count)]


def uneven(count: int) -> list[Task]:
    """The same graph with log-normal naps: a few tasks take far longer than most."""
    chance = random.Random(11)
    naps = [min(1.0, chance.lognormvariate(-3.5, 1.0)) for _ in range(count)]
    needs = upstream_of(count)
    return [_task(number, naps[number], needs[number]) for number in range(count)]


def chain(count: int) -> list[Task]:
    """A chain of thirty beside many free tasks: whoever starts the free ones first loses."""
    links = [_task(count + link, _NAP, [count + link - 1] if link else []) for link in range(30)]
    return [*(_task(number, _NAP, ()) for number in range(count)), *links]


SHAPES = {"even": even, "uneven": uneven, "chain": chain}


def _task(number: int, seconds: float, needs: Iterable[int]) -> Task:
    names = tuple(TaskId(f"sleep:{need:05d}") for need in needs)
    return Task(TaskId(f"sleep:{number:05d}"), SleepInputs(f"{number:05d}", seconds), names)


def _naps(tasks: Sequence[Task]) -> tuple[float, ...]:
    return tuple(one.inputs.seconds for one in tasks if isinstance(one.inputs, SleepInputs))


def by_engine(tasks: Sequence[Task], workers: int, root: Path, *, files: bool = False) -> float:
    clock, graph = SystemClock(), build_graph(tasks)
    job = Job(graph, Caps(workers, workers), _naps(graph.tasks))
    with opened(root, root / "cache", 0) as stores:
        stores.trace_store.expect(len(graph))
        runner = TaskRunner(stores, {"sleep": Sleep(files=files)}, clock)
        begin = time.perf_counter()
        result = Run(job, runner, Bus("r", clock, ()), clock).go()
        seconds = time.perf_counter() - begin
    if not result.ok:
        raise SystemExit(str(result.problems[:1]))
    return seconds


def by_barrier(tasks: Sequence[Task], workers: int, root: Path) -> float:
    """The control: each level waits for the end of the one before."""
    del root
    graph = build_graph(tasks)
    naps = _naps(graph.tasks)
    begin = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        for depth in range(max(graph.level_of) + 1):
            level = [nap for nap, at in zip(naps, graph.level_of, strict=True) if at == depth]
            list(pool.map(time.sleep, level))
    return time.perf_counter() - begin


def with_files(tasks: Sequence[Task], workers: int, root: Path) -> float:
    return by_engine(tasks, workers, root, files=True)


ENGINES = {"engine": by_engine, "files": with_files, "barrier": by_barrier}


def bound(tasks: Sequence[Task], workers: int) -> float:
    graph = build_graph(tasks)
    naps = _naps(graph.tasks)
    ends: list[float] = []
    for number, needs in enumerate(graph.needs):
        ends.append(max((ends[need] for need in needs), default=0.0) + naps[number])
    return max(*ends, sum(naps) / workers)


def main() -> int:
    engine, shape, count, workers = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    tasks = SHAPES[shape](count)
    seconds = ENGINES[engine](tasks, workers, Path.cwd())
    told = {"seconds": seconds, "bound": bound(tasks, workers), "tasks": len(tasks)}
    print(json.dumps(told))
    return 0
