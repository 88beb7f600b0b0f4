"""Stop a long-running command on a signal or a typed line."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

EXIT = "exit"
_LONGEST = 256


@contextlib.contextmanager
def stop_on_signal(end: Callable[[], None]) -> Iterator[None]:
    """Stop gracefully on the first signal, and immediately on the second."""

    def handle_signal(number: int, frame: FrameType | None) -> None:
        del frame
        signal.signal(number, signal.default_int_handler)
        end()

    options = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    numbers = [one for one in options if signal.getsignal(one) != signal.SIG_IGN]
    before = {number: signal.signal(number, handle_signal) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def read_typed_lines(hear: Callable[[str], None], at_end: Callable[[], None]) -> Iterator[None]:
    """Read lines of standard input in a separate thread, and report the end of input.

    In the background of a terminal nothing is read, because that would suspend the process.
    """
    if _is_foreground():
        work = (hear, at_end)
        threading.Thread(target=_listen, args=work, name="line-reader", daemon=True).start()
    yield


def ignore_end() -> None:
    """Ignore the end of input: the command continues without it."""


def _is_foreground() -> bool:
    try:
        return not os.isatty(0) or os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _listen(hear: Callable[[str], None], at_end: Callable[[], None]) -> None:
    begun = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(0, 4096):
            *lines, begun = (begun + chunk).split(b"\n")
            for line in lines:
                hear(line.decode(errors="replace").strip())
            begun = begun[-_LONGEST:]
    at_end()
