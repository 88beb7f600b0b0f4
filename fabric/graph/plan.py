"""Plan a graph with the cached results: a decision for every task, without execution."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.graph.decide import FROM_SHARED, Action, Decision, Question, decide, mark_lost_result
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.traces import Look, Trace
from fabric.model.names import Digest
from fabric.model.task import InputEntry, Pairs, Task
from fabric.model.task_id import TaskId, remove_target_suffix
from fabric.model.task_inputs import RECORD_KINDS, uses_output


class Known(Struct, frozen=True):
    """The known facts of a deploy task when it is decided."""

    task: Task
    code: tuple[InputEntry, ...]
    upstream: Pairs | None
    unknown: tuple[str, ...] = ()


# The verdict on a task that is up to date when the record says so; None on all other tasks.
Judge = Callable[[Known], Decision | None]


class Memory(Struct, frozen=True):
    """The inputs of decisions: code versions, traces, current files, and whether results are
    available or remote."""

    code: Callable[[Task], tuple[InputEntry, ...]]
    traces: Callable[[TaskId], Sequence[Trace]]
    look: Look
    live: Judge = lambda _: None
    at_hand: Callable[[Task, Decision], bool] = lambda _task, _decision: True
    is_learned: Callable[[TaskId, Trace], bool] = lambda _task_id, _trace: False
    # Outputs that the run will restore before others read them.
    is_unrestored: Callable[[Task, Decision], bool] = lambda _task, _decision: False


class Plan(Struct, frozen=True):
    graph: TaskGraph
    decisions: tuple[Decision, ...]

    def count(self, action: Action) -> int:
        return sum(decision.action is action for decision in self.decisions)

    @property
    def anything_to_do(self) -> bool:
        return any(decision.action is not Action.SKIP for decision in self.decisions)


def make_plan(graph: TaskGraph, memory: Memory) -> Plan:
    decisions: list[Decision] = []
    for task, needs in zip(graph.tasks, graph.needs, strict=True):
        known = [(graph.ids[need], decisions[need]) for need in needs]
        decisions.append(judge(task, known, memory))
    return Plan(graph, tuple(decisions))


def judge(task: Task, needs: Sequence[tuple[TaskId, Decision]], memory: Memory) -> Decision:
    needs = [one for one in needs if uses_output(one[0], task.inputs)]
    unknown = tuple(need for need, decision in needs if decision.output is None)
    digests = [
        (remove_target_suffix(need), decision.output.digest)
        for need, decision in needs
        if decision.output is not None
    ]
    return judge_known(task, None if unknown else tuple(digests), memory, unknown)


def judge_known(
    task: Task,
    upstream: Sequence[tuple[TaskId, Digest]] | None,
    memory: Memory,
    unknown: tuple[str, ...] = (),
) -> Decision:
    """The decision on one task once its upstream digests are known (or known to be unknown)."""
    pairs: Pairs | None = None if upstream is None else tuple(sorted(upstream))
    code = memory.code(task)
    live = memory.live(Known(task, code, pairs, unknown))
    if live is not None:
        return live
    entries = (*code, *task.inputs.entries())
    question = Question(task.kind, entries, pairs, unknown)
    decision = decide(question, memory.traces(task.id), memory.look)
    if decision.output is not None and not memory.at_hand(task, decision):
        return mark_lost_result(decision)
    if decision.output is not None and memory.is_unrestored(task, decision):
        return mark_lost_result(decision, "outputs to be restored")
    if decision.trace is not None and memory.is_learned(task.id, decision.trace):
        return replace(decision, reason=FROM_SHARED)
    return decision


def list_wanted_tasks(plan: Plan) -> frozenset[TaskId]:
    """List the tasks whose files others need: needs of outdated tasks, and their needs.

    Deploy tasks need only files.
    """
    graph = plan.graph
    wanted: set[int] = set()
    for number in reversed(range(len(graph))):
        is_stale = plan.decisions[number].action is not Action.SKIP
        if is_stale or number in wanted:
            wanted.update(n for n in graph.needs[number] if graph.tasks[n].kind not in RECORD_KINDS)
    return frozenset(graph.ids[number] for number in wanted)
