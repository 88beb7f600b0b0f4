"""Waiting for a provider: retry policies, polling, and calls that run in parallel."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import CallContext

T = TypeVar("T")
# A stop is noticed within this.
_NAP = 0.25


class RetryPolicy(Struct, frozen=True):
    """Limits of polling: `most` is the total of all pauses in seconds. Each pause is longer than
    the last, up to `cap`."""

    base: float = 0.05
    cap: float = 5.0
    most: float = 60.0
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random

    def pauses(self) -> Iterator[float]:
        """Yield the pauses, each with random jitter from half to the full length, so that parallel
        waits spread out."""
        spent, due = 0.0, self.base
        while spent < self.most:
            pause = min(due * (1 + self.random()) / 2, self.most - spent)
            yield pause
            spent += pause
            due = min(self.cap, due * 2)


WAITING = RetryPolicy()


def poll_until(look: Callable[[], T | None], waiting: RetryPolicy, watch: CallContext) -> T | None:
    """Poll until `look` returns a value. Returns None when the time is spent."""
    found = look()
    for pause in waiting.pauses():
        if found is not None:
            return found
        sleep_interruptibly(pause, waiting, watch)
        found = look()
    return found


def sleep_interruptibly(seconds: float, waiting: RetryPolicy, watch: CallContext) -> None:
    while seconds > 0:
        if watch.is_to_end():
            message = "the run was stopped while it waited for the provider"
            raise FabricError(Problem("provider/interrupted", message))
        waiting.sleep(min(seconds, _NAP))
        seconds -= _NAP


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
