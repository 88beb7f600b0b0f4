"""Gates: all archives of a service must exist before any of it is deployed."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from fabric.graph.taskgraph import TaskGraph
from fabric.model.task_id import name_of


class Gate(Struct, frozen=True):
    """Task numbers: none of `after` starts before all of `before` are done.

    A gate passes no outputs; it affects only the order.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]


def list_gates(graph: TaskGraph) -> tuple[Gate, ...]:
    """List one gate per service and target with more than one deploy task."""
    return tuple(_build_gates(graph))


def _build_gates(graph: TaskGraph) -> Iterator[Gate]:
    archives = frozenset(
        number for kind in ("package", "image", "check") for number in graph.numbers_of(kind)
    )
    for after in _group_deploys(graph):
        needs = {need for number in after for need in graph.needs[number]}
        before = tuple(sorted(needs & archives))
        all_before = frozenset(before)
        if not all(all_before <= set(graph.needs[number]) for number in after):
            yield Gate(before, tuple(after))


def _group_deploys(graph: TaskGraph) -> Iterable[list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for number in graph.numbers_of("deploy"):
        name = name_of(graph.ids[number])
        found.setdefault((name.service, name.provider), []).append(number)
    return found.values()
