"""The chain of tasks that determined the duration of a run."""

from fabric.engine.result import RunResult


def find_critical_path(result: RunResult) -> tuple[int, ...]:
    """Find the critical path: from the last task back through the dependency that ended last."""
    if not result.outcomes:
        return ()
    ends = [one.started + one.ms / 1000 for one in result.outcomes]
    number = max(range(len(ends)), key=ends.__getitem__)
    path = [number]
    while needs := result.graph.needs[number]:
        number = max(needs, key=ends.__getitem__)
        path.append(number)
    return tuple(reversed(path))
