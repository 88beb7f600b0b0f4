"""PID 1 of a container, with its duties.

It forwards signals to the server, its child, and reaps orphans, which the kernel assigns only to
PID 1.
"""

import contextlib
import os
import signal
from collections.abc import Callable
from types import FrameType

_HANDED_ON = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_FIRST = 1
_SIGNALLED = 128


def run_under_pid1(run: Callable[[], int]) -> int:
    """Call `run` directly, or supervised if this is PID 1. Call this before any thread starts."""
    return run_supervised(run) if os.getpid() == _FIRST else run()


def run_supervised(run: Callable[[], int]) -> int:
    """Call `run` in a child process and supervise it. Returns its result."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDED_ON)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDED_ON)
        return run()

    def forward_signal(number: int, frame: FrameType | None) -> None:
        del frame
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in _HANDED_ON:
        signal.signal(number, forward_signal)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDED_ON)
    return _end_of(child)


def _end_of(child: int) -> int:
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else _SIGNALLED - code
