"""Signals as something to wait for, in the main thread of a server."""

import contextlib
import queue
import signal
from collections.abc import Iterator
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalQueue:
    """Queues stop signals, each delivered once."""

    def __init__(self) -> None:
        self._heard: queue.SimpleQueue[int] = queue.SimpleQueue()

    def ring(self, number: int = signal.SIGTERM) -> None:
        self._heard.put(number)

    def wait_for_signal(self, seconds: float) -> bool:
        try:
            self._heard.get(timeout=seconds)
        except queue.Empty:
            return False
        return True


@contextlib.contextmanager
def listen_for_signals() -> Iterator[SignalQueue]:
    """Listen for signals. Ignored signals stay ignored, as `nohup` requires."""
    ear = SignalQueue()

    def handle_signal(number: int, frame: FrameType | None) -> None:
        del frame
        ear.ring(number)

    numbers = [one for one in _ENDING if signal.getsignal(one) != signal.SIG_IGN]
    before = {number: signal.signal(number, handle_signal) for number in numbers}
    try:
        yield ear
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
