"""The lines of a run, according to `--output-logs`."""

from enum import StrEnum

from fabric.engine.listeners.service_progress import ServiceProgress
from fabric.model.events import Stamped, TaskEnded, TaskOutput
from fabric.views.board import outcome_line
from fabric.views.style import Style
from fabric.views.words import event_line


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
        lines = self._full_lines(stamped) if self._full else self._of_failures(stamped)
        row = self.tally.hear(stamped) if self.tally else None
        if row is not None and (self._full or row.state != "done"):
            lines.append(outcome_line(row, self.style))
        return lines

    def _full_lines(self, stamped: Stamped) -> list[str]:
        line = event_line(stamped.event, self.style)
        return [] if line is None else [line]

    def _of_failures(self, stamped: Stamped) -> list[str]:
        """List the lines of failed tasks. Task output is buffered until the outcome is known."""
        match stamped.event:
            case TaskOutput(task, _):
                self._kept.setdefault(task, []).extend(self._full_lines(stamped))
                return []
            case TaskEnded(task, "failed", _, _):
                return [*self._kept.pop(task, ()), *self._full_lines(stamped)]
            case TaskEnded(task, _, _, _):
                self._kept.pop(task, None)
                return []
            case _:
                return []
