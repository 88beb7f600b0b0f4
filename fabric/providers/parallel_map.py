"""Run the same call for many items, a few at a time."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

# More are seldom quicker, and use up an account's rate sooner: for who knows of no better number.
MAX_PARALLEL = 8


def run_parallel(call: Callable[[T], R], items: Sequence[T], most: int = MAX_PARALLEL) -> list[R]:
    """Run a call for each item and return the results in order.

    Waits for all calls, then raises the first error.
    """
    if len(items) <= 1:
        return [call(one) for one in items]
    from concurrent.futures import ThreadPoolExecutor  # a start to import, and often not needed

    with ThreadPoolExecutor(min(most, len(items))) as pool:
        calls = [pool.submit(call, one) for one in items]
    return [one.result() for one in calls]
