"""Retries: pauses as values, and the loop that uses them."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

T = TypeVar("T")


class TransientError(Exception):
    """A temporary error. `after` is the pause that the other side requested, in seconds."""

    def __init__(self, why: str, after: float = 0.0) -> None:
        super().__init__(why)
        self.after = after


class Patience(Struct, frozen=True):
    """The number of tries of a call, and the pauses between them in seconds."""

    tries: int = 6
    base: float = 0.2
    cap: float = 5.0
    longest_wish: float = 30.0
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random

    def pause(self, failed: int, wish: float = 0.0) -> float:
        """Return the pause after this number of failures. Full jitter spreads callers that failed
        together."""
        ceiling = min(self.cap, self.base * 2.0 ** (failed - 1))
        return max(min(wish, self.longest_wish), ceiling * self.random())


PATIENT = Patience()


def retry(call: Callable[[], T], patience: Patience) -> T:
    """Retry a call and return its result. Raises the last TransientError when the tries are used
    up."""
    for failed in range(1, patience.tries):
        try:
            return call()
        except TransientError as error:
            patience.sleep(patience.pause(failed, error.after))
    return call()
