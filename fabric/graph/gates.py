"""What has to be there before any of a service goes live: all its archives."""

from collections.abc import Iterator

from msgspec import Struct

from fabric.graph.taskgraph import TaskGraph


class Gate(Struct, frozen=True):
    """Tasks by number: none of `after` starts before all of `before` are done.

    They are given nothing by those that they do not need themselves: this is about order alone.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]


def gates_of(graph: TaskGraph) -> tuple[Gate, ...]:
    """One for each service that is deployed in more parts than one."""
    return tuple(_gates(graph))


def _gates(graph: TaskGraph) -> Iterator[Gate]:
    deploys = _by_service(graph, "deploy")
    archives = _by_service(graph, "package") if deploys else {}
    for service, after in deploys.items():
        before = tuple(archives.get(service, ()))
        all_before = frozenset(before)
        if not all(all_before <= set(graph.needs[number]) for number in after):
            yield Gate(before, tuple(after))


def _by_service(graph: TaskGraph, kind: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number in graph.numbers_of(kind):
        found.setdefault(graph.tasks[number].inputs.service, []).append(number)
    return found
