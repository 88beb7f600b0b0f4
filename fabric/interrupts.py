"""What SIGTERM and SIGHUP mean before and after a run has its own way to stop: the command ends
with what it has to say, once.

Built-ins only: this is set up before anything is imported.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130
_NUMBERS = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
# The wish to stop. Python drops what is raised in some of its own callbacks: who is about to
# change anything asks here.
was_raised = False


def raise_on_signals() -> None:
    """From now on they end a command as Ctrl-C does. What is ignored (`nohup`) stays so."""
    for number in _NUMBERS:
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, _raise)


def hold_signals() -> None:
    """The last words are on their way: they are not cut off, and nothing is said after them.
    Whoever asks twice does not want to wait for a reader."""
    heard: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        del frame
        if heard:
            os._exit(INTERRUPTED)
        heard.append(number)

    try:
        for number in _NUMBERS:
            if _signal.getsignal(number) != _signal.SIG_IGN:
                _signal.signal(number, hear)
    except ValueError:  # only the main thread is told of signals
        return


def _raise(number: int, frame: FrameType | None) -> None:
    global was_raised  # noqa: PLW0603: one process, one command
    del number, frame
    was_raised = True
    raise KeyboardInterrupt
