"""Waiting for what another thread or process does, as long as it takes and not for ever."""

import time
from collections.abc import Callable

SECONDS = 60.0


def until(holds: Callable[[], bool], failing: str = "it did not come about") -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, failing
        time.sleep(0.005)
