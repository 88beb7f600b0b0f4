"""Calls on this machine, put down for `fabric logs`, `metrics` and `traces`."""

from pathlib import Path

from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.app.settings import Settings
from fabric.model.observed import convert_to_nanoseconds
from fabric.runtimes.calls.call_end import CallEnd, build_call_problem
from fabric.state.call_log import CallEntry, CallLog, call_log_path

_MS = 1_000_000


class CallNotes:
    """The call log of one service and stage. `provider` is the label of its functions."""

    def __init__(self, path: Path, provider: str, settings: Settings) -> None:
        self._log = CallLog(path)
        self._provider, self._settings = provider, settings

    def close(self) -> None:
        self._log.close()

    def note(self, function: str, end: CallEnd) -> None:
        """Record a call. Its end contains no secrets."""
        problem = build_call_problem(function, end)
        self.put_down(function, end.said, end.ms, problem.message if problem else "")

    def put_down(self, function: str, said: str, ms: int, error: str = "") -> None:
        at = convert_to_nanoseconds(self._settings.clock.now()) - ms * _MS
        request, lines = self._settings.chance(8), tuple(said.splitlines())
        entry = CallEntry(
            at=at,
            function=function,
            request=request,
            ms=ms,
            provider=self._provider,
            error=error,
            lines=lines,
        )
        self._log.note(entry)


def open_local_calls(project: Project, settings: Settings) -> CallNotes:
    """Open the call log for functions built here, deployed or not."""
    unit = project.units[0]
    placement = build_placement(unit, project.workspace, project.home)
    path = call_log_path(Path(placement.home), placement.stage, placement.service)
    return CallNotes(path, placement.provider, settings)
