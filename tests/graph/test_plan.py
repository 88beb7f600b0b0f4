"""A plan on values: decisions in order, lost and shared results, and wanted files."""

from msgspec.structs import replace

from fabric.graph.build_graph import build_graph
from fabric.graph.decide import FROM_SHARED, Action, Decision
from fabric.graph.plan import Memory, Plan, list_wanted_tasks, make_plan
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.traces import Trace, compute_full_key, compute_static_hash
from fabric.model.names import Digest
from fabric.model.task import Output
from tests.graph.test_decide import FilesOfTests
from tests.support.plans import build, plan_of, service

GRAPH = build_graph([build("a"), build("b", "a")])


def trace_of(graph: TaskGraph, number: int) -> Trace:
    """A cached run of a task that needs the outputs of this test."""
    task = graph.tasks[number]
    static = compute_static_hash(task.kind, task.inputs.entries())
    upstream = tuple((graph.ids[need], f"output {need}") for need in graph.needs[number])
    return Trace(
        static=static,
        entries=task.inputs.entries(),
        files=(),
        absent=(),
        listings=(),
        upstream=upstream,
        links=(),
        key=compute_full_key(static, (), upstream),
        output=Output(Digest(f"output {number}")),
        ms=1,
    )


CACHED = {one: (trace_of(GRAPH, number),) for number, one in enumerate(GRAPH.ids)}
MEMORY = Memory(
    code=lambda _: (), traces=lambda task_id: CACHED.get(task_id, ()), look=FilesOfTests()
)


def actions(plan: Plan) -> list[Action]:
    return [one.action for one in plan.decisions]


def test_cached_tasks_are_skipped_in_order() -> None:
    plan = make_plan(GRAPH, MEMORY)
    assert (actions(plan), plan.anything_to_do) == ([Action.SKIP, Action.SKIP], False)
    assert plan.count(Action.SKIP) == 2


def test_dependent_of_a_running_task_waits() -> None:
    plan = make_plan(GRAPH, replace(MEMORY, traces=lambda _: ()))
    assert actions(plan) == [Action.RUN, Action.WAIT]
    assert plan.decisions[1].reason == "known after a"


def test_cached_result_without_its_content_is_made_again() -> None:
    plan = make_plan(GRAPH, replace(MEMORY, at_hand=lambda task, _: task.id != "b"))
    assert actions(plan) == [Action.SKIP, Action.RUN]
    assert plan.decisions[1].reason == "cached result missing"


def test_result_of_another_machine_is_marked_as_shared() -> None:
    plan = make_plan(GRAPH, replace(MEMORY, is_learned=lambda task_id, _: task_id == "b"))
    assert [one.reason for one in plan.decisions] == ["up to date", FROM_SHARED]


def test_record_decides_before_any_cached_result() -> None:
    first = Decision(Action.RUN, "first deploy")
    plan = make_plan(GRAPH, replace(MEMORY, live=lambda known: first if known.upstream else None))
    assert [one.reason for one in plan.decisions] == ["up to date", "first deploy"]


def test_only_files_that_outdated_tasks_need_are_wanted() -> None:
    tasks = service("shop", ["one", "two"])
    ready: dict[str, Action] = {
        one.id: Action.SKIP for one in tasks if "two" in one.id or one.kind != "deploy"
    }
    assert list_wanted_tasks(plan_of(tasks, ready)) == {"build:shop/one", "package:shop/one"}
    done: dict[str, Action] = {one.id: Action.SKIP for one in tasks}
    assert list_wanted_tasks(plan_of(tasks, done)) == set()
