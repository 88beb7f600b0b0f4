"""What has to be there before any of a service goes live: all its archives."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from fabric.graph.taskgraph import TaskGraph
from fabric.model.task_id import name_of


class Gate(Struct, frozen=True):
    """Tasks by number: none of `after` starts before all of `before` are done.

    They are given nothing by those that they do not need themselves: this is about order alone.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]


def gates_of(graph: TaskGraph) -> tuple[Gate, ...]:
    """One for each service that is deployed in more parts than one; at each of its targets."""
    return tuple(_gates(graph))


def _gates(graph: TaskGraph) -> Iterator[Gate]:
    archives = frozenset(graph.numbers_of("package"))
    for after in _deploys(graph):
        needs = {need for number in after for need in graph.needs[number]}
        before = tuple(sorted(needs & archives))
        all_before = frozenset(before)
        if not all(all_before <= set(graph.needs[number]) for number in after):
            yield Gate(before, tuple(after))


def _deploys(graph: TaskGraph) -> Iterable[list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for number in graph.numbers_of("deploy"):
        name = name_of(graph.ids[number])
        found.setdefault((name.service, name.provider), []).append(number)
    return found.values()
