"""Progress where nothing can be drawn over: one quiet line per start and end."""

import sys
import threading
from enum import StrEnum

from fabric.cli.screen import escape_for_terminal, give_up
from fabric.engine.listeners.service_progress import ServiceProgress
from fabric.model.runs.events import RunStarted, Stamped, TaskEnded, TaskOutput, TaskStarted
from fabric.views.board import format_outcome_line
from fabric.views.messages import format_run_event
from fabric.views.style import Style


class Logs(StrEnum):
    FULL = "full"
    ERRORS_ONLY = "errors-only"
    NONE = "none"


class LogLines:
    """Converts events to lines. With a tally there is a further line per finished service."""

    def __init__(self, logs: Logs, style: Style, tally: ServiceProgress | None = None) -> None:
        self.style = style
        self.tally = tally
        self._full = logs is Logs.FULL
        self._kept: dict[str, list[str]] = {}

    def lines(self, stamped: Stamped) -> list[str]:
        lines = self._list_all_lines(stamped) if self._full else self._list_failure_lines(stamped)
        row = self.tally.hear(stamped) if self.tally else None
        if row is not None and (self._full or row.state != "done"):
            lines.append(format_outcome_line(row, self.style))
        return lines

    def _list_all_lines(self, stamped: Stamped) -> list[str]:
        line = format_run_event(stamped.event, self.style)
        return [] if line is None else [line]

    def _list_failure_lines(self, stamped: Stamped) -> list[str]:
        """List the lines of failed tasks. Task output is buffered until the outcome is known."""
        match stamped.event:
            case TaskOutput(task, _):
                self._kept.setdefault(task, []).extend(self._list_all_lines(stamped))
                return []
            case TaskEnded(task, "failed", _, _):
                return [*self._kept.pop(task, ()), *self._list_all_lines(stamped)]
            case TaskEnded(task, _, _, _):
                self._kept.pop(task, None)
                return []
            case _:
                return []


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
