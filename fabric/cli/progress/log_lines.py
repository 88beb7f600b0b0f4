"""The lines of a run, according to `--output-logs`."""

from enum import StrEnum

from fabric.engine.listeners.service_progress import ServiceProgress
from fabric.model.events import Stamped, TaskEnded, TaskOutput
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
