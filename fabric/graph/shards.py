"""Divide a run into shards for several machines, by last durations."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from fabric.graph.taskgraph import TaskGraph
from fabric.model.problems import FabricError, Problem
from fabric.model.runs.shard import Shard
from fabric.model.walks import find_reachable

# Of the most parts there may be: more machines than that build nothing sooner.
_DIGITS = 3


class SharedOut(Struct, frozen=True):
    """The tasks of this shard, and the number of requested tasks in each shard."""

    graph: TaskGraph
    counts: tuple[int, ...]
    seconds: tuple[float, ...]


def divide_tasks(graph: TaskGraph, seconds: Sequence[float], shard: Shard) -> SharedOut:
    """Divide the final tasks, longest first, to the shard that is done soonest. Their needs are
    added to each shard.

    Equal durations give equal shards on every machine.
    """
    needs = {number: frozenset(of_task) for number, of_task in enumerate(graph.needs)}
    wanted = _list_unneeded_tasks(graph)
    made_for = {number: find_reachable((number,), needs) for number in wanted}
    parts: list[set[int]] = [set() for _ in range(shard.count)]
    loads, counts = [0.0] * shard.count, [0] * shard.count
    for number in sorted(
        wanted, key=lambda one: (-_compute_cost(made_for[one], seconds), graph.ids[one])
    ):
        costs = [_compute_cost(made_for[number] - part, seconds) for part in parts]
        best = min(range(shard.count), key=lambda one: (loads[one] + costs[one], counts[one], one))
        parts[best] |= made_for[number]
        loads[best] += costs[best]
        counts[best] += 1
    own = sorted(parts[shard.number - 1])
    return SharedOut(select_subgraph(graph, own), tuple(counts), tuple(loads))


def select_subgraph(graph: TaskGraph, numbers: Sequence[int]) -> TaskGraph:
    """Select a subgraph of these tasks in order. It must contain all their needs."""
    place = {number: position for position, number in enumerate(numbers)}
    return TaskGraph(
        tuple(graph.tasks[number] for number in numbers),
        tuple(graph.ids[number] for number in numbers),
        tuple(tuple(place[need] for need in graph.needs[number]) for number in numbers),
        tuple(graph.level_of[number] for number in numbers),
    )


def parse_shard(text: str) -> Shard:
    """Parse a shard such as `2/3`, the second of three."""
    number, slash, count = text.partition("/")
    parts = (number, count)
    if slash and all(one.isascii() and one.isdecimal() and len(one) <= _DIGITS for one in parts):
        found = Shard(int(number), int(count))
        if 1 <= found.number <= found.count:
            return found
    message = f"invalid value for --shard: `{text}`"
    hint = "use I/N with I ≤ N ≤ 999, such as 2/3"
    raise FabricError(Problem("usage/bad-shard", message, hint))


def _list_unneeded_tasks(graph: TaskGraph) -> list[int]:
    needed = {need for of_task in graph.needs for need in of_task}
    return [number for number in range(len(graph)) if number not in needed]


def _compute_cost(numbers: Iterable[int], seconds: Sequence[float]) -> float:
    return sum(seconds[number] for number in sorted(numbers))
