"""When to try again: the pauses as values, and the one loop that takes them."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

T = TypeVar("T")


class TransientError(Exception):
    """May go away by itself. `after` is how long the other side asked to be left alone."""

    def __init__(self, why: str, after: float = 0.0) -> None:
        super().__init__(why)
        self.after = after


class Patience(Struct, frozen=True):
    """How often a call is made, and how long the pauses in between are, in seconds."""

    tries: int = 6
    base: float = 0.2
    cap: float = 5.0
    longest_wish: float = 30.0
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random

    def pause(self, failed: int, wish: float = 0.0) -> float:
        """After so many failures. Full jitter: callers that failed together come back apart."""
        ceiling = min(self.cap, self.base * 2.0 ** (failed - 1))
        return max(min(wish, self.longest_wish), ceiling * self.random())


PATIENT = Patience()


def patiently(call: Callable[[], T], patience: Patience) -> T:
    """What a call gives in the end; the last TransientError when the tries are used up."""
    for failed in range(1, patience.tries):
        try:
            return call()
        except TransientError as error:
            patience.sleep(patience.pause(failed, error.after))
    return call()
