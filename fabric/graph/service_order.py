"""Which service waits for which, as the tasks of a graph show it."""

from collections.abc import Iterable

from fabric.graph.taskgraph import TaskGraph
from fabric.model.walks import compute_depths

# The upstream first.
Tie = tuple[str, str]


def list_ties(graph: TaskGraph) -> tuple[Tie, ...]:
    """List direct dependencies only. Dependencies that follow from others, and those on tasks that
    services share, are omitted."""
    services = [task.inputs.service for task in graph.tasks]
    found = {
        (services[need], services[number])
        for number, needs in enumerate(graph.needs)
        for need in needs
        if services[need] not in ("", services[number])
    }
    after: dict[str, set[str]] = {}
    for upstream, service in found:
        after.setdefault(upstream, set()).add(service)
    return tuple(sorted(tie for tie in found if not _is_redundant(tie, after)))


def _is_redundant(tie: Tie, after: dict[str, set[str]]) -> bool:
    upstream, service = tie
    return any(service in after.get(between, ()) for between in after[upstream])


def compute_levels(names: Iterable[str], ties: Iterable[Tie]) -> dict[str, int]:
    """Compute each service's level: the longest chain of services before it. Requires no cycles."""
    return compute_depths(names, _map_needs(ties))


def _map_needs(ties: Iterable[Tie]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for upstream, service in ties:
        found.setdefault(service, []).append(upstream)
    return found
