"""Which service waits for which, as the tasks of a graph show it."""

from collections.abc import Iterable

from fabric.graph.taskgraph import TaskGraph
from fabric.model.walks import depths

# The upstream first.
Tie = tuple[str, str]


def ties_of(graph: TaskGraph) -> tuple[Tie, ...]:
    """List direct dependencies only. Dependencies that follow from others are omitted."""
    services = [task.inputs.service for task in graph.tasks]
    found = {
        (services[need], services[number])
        for number, needs in enumerate(graph.needs)
        for need in needs
        if services[need] != services[number]
    }
    after: dict[str, set[str]] = {}
    for upstream, service in found:
        after.setdefault(upstream, set()).add(service)
    return tuple(sorted(tie for tie in found if not _follows(tie, after)))


def _follows(tie: Tie, after: dict[str, set[str]]) -> bool:
    upstream, service = tie
    return any(service in after.get(between, ()) for between in after[upstream])


def levels_of(names: Iterable[str], ties: Iterable[Tie]) -> dict[str, int]:
    """Compute each service's level: the longest chain of services before it. Requires no cycles."""
    return depths(names, _needs(ties))


def _needs(ties: Iterable[Tie]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for upstream, service in ties:
        found.setdefault(service, []).append(upstream)
    return found
