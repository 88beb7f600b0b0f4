"""A packed task comes back as it was: a key must not change because a run was remembered."""

import marshal

from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.shortcuts.last_run import info_of, last_run_of, packed_info
from fabric.graph.build_graph import build_graph
from fabric.graph.traces import Trace, static_digest
from fabric.model.names import Digest
from fabric.model.problems import Place, Problem
from fabric.model.project_info import ProjectInfo
from fabric.model.task import Output, Task, TaskInputs
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import INPUTS_BY_KIND, BuildInputs, PackageInputs, VendorInputs

BUILD = BuildInputs(
    "shop", "hello", ".", "src/a.ts", "nodejs20.x", include=("a/*", "b"), ignore=("c",),
    command=("make", "all"), env=(("LEVEL", "info"),), sourcemap=True,
)  # fmt: skip
INPUTS: tuple[TaskInputs, ...] = (
    BUILD,
    PackageInputs("shop", "hello", "."),
    VendorInputs("shop", ".", "idna==3.7\n", "3.12", "x86_64"),
)


def trace_of(inputs: TaskInputs) -> Trace:
    entries = inputs.entries()
    output = Output(Digest("d"), (), (("handler", "a.b"),))
    static = static_digest(inputs.kind, entries)
    files, links = (("f", "1"),), (("l", "m"),)
    return Trace(static, entries, files, ("g",), (), (), links, Digest("k"), output, 3)


def test_tasks_and_traces_survive_packing() -> None:
    graph = build_graph([Task(TaskId(f"{one.kind}:x"), one) for one in INPUTS])
    traces = [trace_of(task.inputs) for task in graph.tasks]
    outcomes = tuple(Outcome(Status.RAN, output=one.output, trace=one) for one in traces)
    warm = last_run_of(
        b"s", ProjectInfo("/w", "dev"), RunResult(graph, outcomes, 0), lambda _: (), ""
    )
    for number, task in enumerate(graph.tasks):
        assert warm.task(number, INPUTS_BY_KIND) == task
        assert warm.task(number, INPUTS_BY_KIND).inputs.entries() == task.inputs.entries()
        assert warm.traces(number)[0] == traces[number]


def test_what_was_said_of_a_project_survives_packing() -> None:
    told = Problem("a/b", "message", "hint", Place("fabric.yml", 3, 4), "frame")
    info = ProjectInfo("/w", "dev", (told, Problem("c/d", "plain")))
    assert info_of(marshal.loads(marshal.dumps(packed_info(info)))) == info  # noqa: S302
