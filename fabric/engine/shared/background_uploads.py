"""Carrier calls in separate threads: callers wait with a deadline and never join the threads.

Client timeouts are insufficient, because a server that sends two bytes per second resets them. A
call past its deadline is abandoned and ends with the process.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from queue import SimpleQueue
from typing import TypeVar

from fabric.model.problems import FabricError
from fabric.remote.contract import (
    Carrier,
    CarrierError,
    CarrierRefusedError,
    ObjectName,
    OversizedError,
    change_object,
)

T = TypeVar("T")
_THREADS = 8


class BackgroundUploads:
    """Opens its carrier when the first call is made, and on the thread that makes it."""

    def __init__(self, opened: Callable[[], Carrier]) -> None:
        self._open = opened
        self._carrier: Carrier | None = None
        self._opening = threading.Lock()
        self.counting = threading.Lock()
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = 0
        self._idle = 0
        self.fetched_bytes = 0
        self.sent_bytes = 0

    def get(self, name: ObjectName) -> "Future[bytes | None]":
        return self._send(lambda carrier: self._count_bytes(carrier.get(name)))

    def put(self, name: ObjectName, content: bytes) -> "Future[None]":
        return self._send(lambda carrier: self._put(carrier, name, content))

    def change(self, name: ObjectName, changed: Callable[[bytes | None], bytes]) -> "Future[None]":
        return self._send(lambda carrier: change_object(carrier, name, changed))

    def close(self) -> None:
        """Stop idle threads and abandon running calls. The last thread closes the carrier."""
        for _ in range(_THREADS):
            self._queue.put(None)

    def _count_bytes(self, content: bytes | None) -> bytes | None:
        if content is not None:
            with self.counting:
                self.fetched_bytes += len(content)
        return content

    def _put(self, carrier: Carrier, name: ObjectName, content: bytes) -> None:
        carrier.put(name, content)
        with self.counting:
            self.sent_bytes += len(content)

    def _send(self, call: Callable[[Carrier], T]) -> "Future[T]":
        future: Future[T] = Future()

        def send_object() -> None:
            try:
                future.set_result(call(self._open_carrier()))
            except BaseException as error:  # noqa: BLE001: it is raised where it is waited for
                future.set_exception(error)

        self._queue.put(send_object)
        self._start_worker()
        return future

    def _open_carrier(self) -> Carrier:
        with self._opening:
            if self._carrier is None:
                self._carrier = self._open()
            return self._carrier

    def _start_worker(self) -> None:
        with self.counting:
            if self._idle >= self._queue.qsize() or self._threads >= _THREADS:
                return
            self._threads += 1
        if not start_background_thread(self._run_worker):
            with self.counting:
                self._threads -= 1

    def _run_worker(self) -> None:
        while True:
            with self.counting:
                self._idle += 1
            errand = self._queue.get()
            with self.counting:
                self._idle -= 1
                self._threads -= errand is None
                is_last = errand is None and self._threads == 0
            if errand is not None:
                errand()
                continue
            if is_last and self._carrier is not None:
                self._carrier.close()
            return


def start_background_thread(work: Callable[[], None]) -> bool:
    """Start a background thread that is never joined. Returns False if no thread is available."""
    worker = threading.Thread(target=copy_context().run, args=(work,), daemon=True)
    try:
        worker.start()
    except RuntimeError:
        return False
    return True


def describe_error(error: BaseException | None) -> str:
    """Describe an error in words, including timeouts without a message."""
    match error:
        case OversizedError():
            return f"{error}: objects of this size are rejected"
        case CarrierError():
            return str(error)
        case FabricError():
            return error.first.message
        case TimeoutError() | None:
            return "timeout"
        case _:
            # Not its words: they may quote what was sent.
            return f"unexpected error ({type(error).__name__})"


def is_hopeless(error: BaseException | None) -> bool:
    return isinstance(error, CarrierRefusedError)


# Decide when to wait for the shared cache: a state machine without a clock.
# Callers pass the time that they waited.
# A content is waited for so long at least, and else as long as twice what making it took. A wait
# of the user's that is longer than the default makes it longer in proportion.
LEAST_S = 0.5
WAIT_S = 3.0
# So much of a run may be waited for nothing, and so many calls in a row may fail.
FRUITLESS_S = 5.0
FAILURES = 3


class Outage:
    """`why` is the reason for disabling the cache; empty while it is enabled."""

    def __init__(self, wait_s: float = WAIT_S) -> None:
        self._lock = threading.Lock()
        self._least = max(LEAST_S, LEAST_S * wait_s / WAIT_S)
        self._left = max(FRUITLESS_S, wait_s)
        self._in_a_row = 0
        self.why = ""

    def compute_wait(self, worth_s: float) -> float:
        """Return how long to wait for content of this build time; zero if disabled."""
        with self._lock:
            return 0.0 if self.why else min(max(self._least, 2 * worth_s), self._left)

    def report_success(self) -> None:
        with self._lock:
            self._in_a_row = 0

    def report_failure(self, waited_s: float, why: str) -> None:
        """Record a failed wait. A missing object is not a failure."""
        with self._lock:
            self._in_a_row += 1
            self._left -= waited_s
            if self._in_a_row >= FAILURES or self._left <= 0:
                self._shut(why)

    def shut(self, why: str) -> None:
        """Disable the cache, because further calls would fail too."""
        with self._lock:
            self._shut(why)

    def _shut(self, why: str) -> None:
        self.why = self.why or why
