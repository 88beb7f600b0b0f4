"""A run that can be stopped: what signals mean to it, and how one that is cut off still ends."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType

from fabric import interrupts
from fabric.app.held_run import held_run
from fabric.engine.result import RunResult
from fabric.engine.run import Run
from fabric.system.child_group import child_group

_MOST_SIGNALS = 2
# How often, and how many seconds each time, tasks without their children are waited for.
_CUTS = 25
_CUT_SECONDS = 0.2


def carried_out(run: Run) -> RunResult:
    held = held_run()
    # Who holds a run says when it stops; the signals of the process are for others.
    if held is None and interrupts.was_raised:
        raise KeyboardInterrupt
    with _stoppable(run), held.carries(run) if held else nullcontext():
        try:
            return run.go()
        except KeyboardInterrupt:
            children = child_group()
            return _cut_off(run, children.close if held else children.kill)


def _cut_off(run: Run, end_children: Callable[[], None]) -> RunResult:
    """Without their children tasks fail soon, and that is how the run ended: what was done is told
    and kept. A task that does not fail even then is given up, and the run with it."""
    try:
        for _ in range(_CUTS):
            # Again and again: a task may have been about to start one more.
            end_children()
            result = run.rest(_CUT_SECONDS)
            if result is not None:
                return result
        raise KeyboardInterrupt
    finally:
        end_children()


@contextmanager
def _stoppable(run: Run) -> Iterator[None]:
    """First signal: start nothing new. Second: cut off what runs. Third: end at once."""
    heard = 0

    def hear(number: int, frame: FrameType | None) -> None:
        del number, frame
        nonlocal heard
        heard += 1
        if heard > _MOST_SIGNALS:
            raise KeyboardInterrupt
        run.ask_to_stop()

    options = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # What is ignored stays so: that is what `nohup` is for.
    numbers = [one for one in options if signal.getsignal(one) != signal.SIG_IGN]
    try:
        before = {number: signal.signal(number, hear) for number in numbers}
    except ValueError:  # not the main thread: who started this one holds the run
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
