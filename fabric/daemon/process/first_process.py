"""Process 1 of a container: what nobody else looks after there.

It hands signals on to the server, which is its child, and fetches orphans that end; the kernel
gives both to nobody else.
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


def under_first_process(run: Callable[[], int]) -> int:
    """`run` by itself, unless this is process 1. To be called before there is any thread."""
    return looked_after(run) if os.getpid() == _FIRST else run()


def looked_after(run: Callable[[], int]) -> int:
    """What `run` gives, of a child that this process stays behind for."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDED_ON)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDED_ON)
        return run()

    def hand_on(number: int, frame: FrameType | None) -> None:
        del frame
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in _HANDED_ON:
        signal.signal(number, hand_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDED_ON)
    return _end_of(child)


def _end_of(child: int) -> int:
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else _SIGNALLED - code
