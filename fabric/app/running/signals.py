"""Stop a run on signals, including the end of an aborted run."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType

from fabric import interrupts
from fabric.app.running.cancellable_run import get_held_run
from fabric.engine.result import RunResult
from fabric.engine.run import Run
from fabric.system.process.child_group import get_child_group

_MOST_SIGNALS = 2
# How often, and how many seconds each time, tasks without their children are waited for.
_CUTS = 25
_CUT_SECONDS = 0.2


def run_until_signaled(run: Run) -> RunResult:
    held = get_held_run()
    # Who holds a run says when it stops; the signals of the process are for others.
    if held is None and interrupts.was_raised:
        raise KeyboardInterrupt
    with _handle_signals(run), held.carries(run) if held else nullcontext():
        try:
            return run.go()
        except KeyboardInterrupt:
            children = get_child_group()
            return _cut_off(run, children.close if held else children.kill)


def _cut_off(run: Run, end_children: Callable[[], None]) -> RunResult:
    """Abort the run by killing its child processes, so that tasks fail soon. Finished work is
    reported and stored.

    A task that still does not fail is abandoned, and the run with it.
    """
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
def _handle_signals(run: Run) -> Iterator[None]:
    """Handle signals. First: start nothing new. Second: abort running tasks. Third: exit
    immediately."""
    heard = 0

    def handle_signal(number: int, frame: FrameType | None) -> None:
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
        before = {number: signal.signal(number, handle_signal) for number in numbers}
    except ValueError:  # not the main thread: who started this one holds the run
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
