"""The same call for many: a few at a time."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def each_at_once(call: Callable[[T], R], items: Sequence[T], most: int) -> list[R]:
    """In the order of the items; of several failures the first is raised, once all have ended."""
    if len(items) <= 1:
        return [call(one) for one in items]
    from concurrent.futures import ThreadPoolExecutor  # a start to import, and often not needed

    with ThreadPoolExecutor(min(most, len(items))) as pool:
        calls = [pool.submit(call, one) for one in items]
    return [one.result() for one in calls]
