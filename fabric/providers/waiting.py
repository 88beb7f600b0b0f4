"""Polling with a time limit until a provider is ready. Stops if the run is stopped."""

import random
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.contract import CallContext

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
