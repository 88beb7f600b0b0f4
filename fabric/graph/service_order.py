"""Which service waits for which, as the tasks of a graph show it."""

from collections.abc import Iterable

from fabric.graph.taskgraph import TaskGraph

# The upstream first.
Tie = tuple[str, str]


def ties_of(graph: TaskGraph) -> tuple[Tie, ...]:
    """Direct ties only: what follows from two others is left out."""
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
    """How many services stand before each one, on the longest way. Ties never go in a circle."""
    before: dict[str, list[str]] = {name: [] for name in names}
    for upstream, service in ties:
        before[service].append(upstream)
    levels: dict[str, int] = {}
    waiting = list(before)
    while waiting:
        missing = [one for one in before[waiting[-1]] if one not in levels]
        if missing:
            waiting.extend(missing)
            continue
        name = waiting.pop()
        levels[name] = max((levels[one] + 1 for one in before[name]), default=0)
    return levels
