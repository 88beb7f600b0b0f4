"""The longest path through a graph, which limits the run time at any concurrency."""

from collections.abc import Collection, Sequence
from itertools import pairwise

from msgspec import Struct

from fabric.graph.decide import Action
from fabric.graph.plan import Plan

# What a task that nobody remembers running counts as.
UNTIMED_S = 1.0


class CriticalPath(Struct, frozen=True):
    """A chain of task numbers, each needing the previous. `timed` of them took `ms` last time."""

    numbers: tuple[int, ...] = ()
    timed: int = 0
    ms: int = 0

    @property
    def edges(self) -> frozenset[tuple[int, int]]:
        return frozenset(pairwise(self.numbers))


def compute_tails(needs: Sequence[Sequence[int]], seconds: Sequence[float]) -> list[float]:
    """Compute each task's longest path from its start to the end of the run."""
    tail = [0.0] * len(needs)
    for number in range(len(needs) - 1, -1, -1):
        tail[number] += seconds[number]
        for need in needs[number]:
            tail[need] = max(tail[need], tail[number])
    return tail


def find_longest_path(
    needs: Sequence[Sequence[int]], seconds: Sequence[float], chosen: Collection[int]
) -> tuple[int, ...]:
    """Find the slowest chain of selected tasks. Of equal chains the first is returned."""
    inner: list[list[int]] = [[] for _ in needs]
    users: list[list[int]] = [[] for _ in needs]
    for number in sorted(chosen):
        inner[number] = [need for need in needs[number] if need in chosen]
        for need in inner[number]:
            users[need].append(number)
    tail = compute_tails(inner, seconds)
    path: list[int] = []
    ahead = sorted(chosen)
    while ahead:
        path.append(max(ahead, key=tail.__getitem__))
        ahead = users[path[-1]]
    return tuple(path)


def compute_critical_path(plan: Plan) -> CriticalPath:
    """Compute the critical path through the tasks to run, or through all if none runs."""
    took = [decision.took for decision in plan.decisions]
    seconds = [UNTIMED_S if ms is None else ms / 1000 for ms in took]
    busy = {n for n, one in enumerate(plan.decisions) if one.action is not Action.SKIP}
    path = find_longest_path(plan.graph.needs, seconds, busy or frozenset(range(len(plan.graph))))
    timed = [ms for number in path if (ms := took[number]) is not None]
    return CriticalPath(path, len(timed), sum(timed))
