"""What a run had to wait for: the chain of tasks that ended last."""

from fabric.engine.result import RunResult


def critical_path(result: RunResult) -> tuple[int, ...]:
    """From the task that ended last, back through the need that ended last each time."""
    if not result.outcomes:
        return ()
    ends = [one.started + one.ms / 1000 for one in result.outcomes]
    number = max(range(len(ends)), key=ends.__getitem__)
    path = [number]
    while needs := result.graph.needs[number]:
        number = max(needs, key=ends.__getitem__)
        path.append(number)
    return tuple(reversed(path))
