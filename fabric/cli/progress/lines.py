"""Progress where nothing can be drawn over: one quiet line per start and end."""

import sys
import threading

from fabric.cli.progress.log_lines import LogLines
from fabric.cli.screen import escape_for_terminal, give_up
from fabric.model.events import RunStarted, Stamped, TaskEnded, TaskStarted

_QUIET_SECONDS = 10.0


class LineProgress:
    """A line at a task's start and end, and one every ten seconds while something runs."""

    def __init__(self, talk: LogLines, *, github: bool) -> None:
        self._talk = talk
        self._github = github
        self._running: dict[str, float] = {}
        self._grouped = False
        self._command = ""
        self._over = threading.Event()
        self._beat = threading.Thread(target=self._print_heartbeat, daemon=True)
        self._begun = False

    def hear(self, event: Stamped) -> None:
        if isinstance(event.event, RunStarted):
            self._command = event.event.command
        self._track(event)
        lines = self._talk.lines(event)
        if lines and self._github and not self._grouped:
            self._grouped = True
            print_progress(f"::group::fabric {self._command}")
        for line in lines:
            print_progress(line)

    def close(self) -> None:
        self._over.set()
        if self._grouped:
            print_progress("::endgroup::")

    def _track(self, event: Stamped) -> None:
        match event.event:
            case TaskStarted(task, _):
                self._running[task] = event.elapsed
                if not self._begun:
                    self._begun = True
                    self._beat.start()
            case TaskEnded(task, _, _, _):
                self._running.pop(task, None)
            case _:
                return

    def _print_heartbeat(self) -> None:
        while not self._over.wait(_QUIET_SECONDS):
            names = sorted(self._running)
            if names:
                more = f" and {len(names) - 3} more" if len(names) > 3 else ""  # noqa: PLR2004
                print_progress(f"… still running: {', '.join(names[:3])}{more}")


def print_progress(line: str) -> None:
    put(f"{line}\n")


def put(text: str) -> None:
    """Print text for people, with control characters escaped."""
    order(escape_for_terminal(text))


def order(text: str) -> None:
    """Print with control sequences. Output errors are ignored, and the run continues."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        give_up(sys.stderr)
