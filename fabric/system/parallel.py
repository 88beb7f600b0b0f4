"""Run the same call for many items in parallel, for work that waits for a disk or a network."""

from collections.abc import Callable, Iterable
from contextvars import copy_context
from typing import TypeVar

from fabric.model.problems import FabricError, Problem

MAX_WORKERS = 16
T = TypeVar("T")


def run_for_each(
    things: Iterable[T], do: Callable[[T], None], hands: int = MAX_WORKERS
) -> tuple[Problem, ...]:
    """Call `do` for every item, even if others fail. Returns all problems in order."""
    rows = list(things)
    if len(rows) <= 1:
        return tuple(problem for one in rows for problem in _run_one(one, do))
    from concurrent.futures import ThreadPoolExecutor  # a start to import, and often not needed

    with ThreadPoolExecutor(min(hands, len(rows))) as pool:
        # What is done for a run is done for it by every hand.
        contexts = [copy_context() for _ in rows]
        found = pool.map(lambda context, one: context.run(_run_one, one, do), contexts, rows)
        return tuple(problem for problems in found for problem in problems)


def _run_one(thing: T, do: Callable[[T], None]) -> tuple[Problem, ...]:
    try:
        do(thing)
    except FabricError as error:
        return error.problems
    return ()
