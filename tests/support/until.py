"""Waiting for what another thread or process does, as long as it takes and not for ever."""

import time
from collections.abc import Callable
from pathlib import Path

from fabric.system.clock import read_file_time_ns

SECONDS = 60.0
LONGEST_TICK_NS = 20_000_000


def until(
    holds: Callable[[], bool], failing: str | Callable[[], str] = "it did not come about"
) -> None:
    """`failing` may be asked for once it has been waited in vain."""
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, failing if isinstance(failing, str) else failing()
        time.sleep(0.005)


def a_tick(folder: Path) -> None:
    """What was written until now is surely older than what is from now on."""
    later = read_file_time_ns(folder) + LONGEST_TICK_NS
    until(lambda: read_file_time_ns(folder) > later, "the clock stands still")


def is_alive(pid: int) -> bool:
    """A corpse that nobody has fetched is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
