"""Tasks that do nothing, through the engine's scheduler: what is left is its own cost.

Prints one JSON line: the seconds that a task took. `scheduler` has nothing but the run around a
task; `whole` also decides, digests and remembers it, as a real run does.
"""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.sleepers import SleepInputs
from benchmarks.stores import opened
from benchmarks.trivialgraph import COUNT, needs_of
from fabric.engine.bus import Bus
from fabric.engine.result import Outcome, Status
from fabric.engine.run import Job, Run
from fabric.engine.schedule import Caps
from fabric.engine.task_runner import TaskRunner, Upstream
from fabric.graph.build_graph import build_graph
from fabric.graph.decide import Action, Decision
from fabric.graph.taskgraph import TaskGraph
from fabric.model.hashing import hash_bytes
from fabric.model.task import InputEntry, Output, Task
from fabric.model.task_id import TaskId
from fabric.system.clock import SystemClock
from fabric.tasks.contract import TaskResult, TaskTools

_CAPS = Caps(2, 2)
_OUTPUT = Output(hash_bytes(b""))


class Nothing:
    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return ()

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: TaskTools) -> TaskResult:
        del task, upstream, shop
        return TaskResult(_OUTPUT.digest)


class BareStepper(TaskRunner):
    """Neither decides nor remembers."""

    def decide(self, task: Task, upstream: Upstream, tools: TaskTools) -> Decision:
        del task, upstream, tools
        return Decision(Action.RUN, "")

    def run(self, task: Task, upstream: Upstream, decision: Decision, tools: TaskTools) -> Outcome:
        del task, upstream, tools
        return Outcome(Status.RAN, "", _OUTPUT, decision)


STEPPERS = {"scheduler": BareStepper, "whole": TaskRunner}


def _graph() -> TaskGraph:
    names = [TaskId(f"sleep:{number:05d}") for number in range(COUNT)]
    return build_graph(
        Task(names[number], SleepInputs(names[number], 0), tuple(names[one] for one in needs))
        for number, needs in enumerate(needs_of())
    )


def main() -> int:
    graph, clock = _graph(), SystemClock()
    with TemporaryDirectory() as folder, opened(Path(folder), Path(folder, "cache"), 0) as stores:
        stores.trace_store.expect(len(graph))
        runner = STEPPERS[sys.argv[1]](stores, {"sleep": Nothing()}, clock)
        begin = time.perf_counter()
        job = Job(graph, _CAPS, (1.0,) * len(graph))
        result = Run(job, runner, Bus("r", clock, ()), clock).go()
        stores.trace_store.flush()
        seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds / COUNT, "tasks": result.count(Status.RAN)}))
    return 0
