"""The same call for many: a few at a time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
# More at a time are not quicker, and use up the rate of an account sooner.
AT_ONCE = 8


def side_by_side(call: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """In the order of the items; of several failures the first is raised, once all have ended."""
    if len(items) <= 1:
        return [call(one) for one in items]
    with ThreadPoolExecutor(min(AT_ONCE, len(items))) as pool:
        calls = [pool.submit(call, one) for one in items]
    return [one.result() for one in calls]
