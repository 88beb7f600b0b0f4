"""Past runs, read back from their journals."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, ValidationError, convert

from fabric.app.project.files import COMPOSE_NAME, find_workspace, resolve_file
from fabric.app.settings import Settings
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.outcomes.queried import PastRun, RunOutcome, RunsOutcome
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.model.text.spelling import find_nearest
from fabric.system.files.disk import read_bytes


class _Started(Struct, frozen=True):
    command: str = ""
    stage: str = ""
    time: str = ""


class _Ended(Struct, frozen=True):
    status: str = "unfinished"
    ran: int = 0
    skipped: int = 0
    failed: int = 0
    ms: int = 0


_Form = TypeVar("_Form", _Started, _Ended)


def list_runs(settings: Settings) -> Report:
    rows = tuple(_summarize_run(path) for path in _list_journals(find_workspace(settings.cwd)))
    return Report("runs list", RunsOutcome(rows))


def run_ids(settings: Settings) -> tuple[str, ...]:
    """The newest first."""
    return tuple(path.stem for path in _list_journals(find_workspace(settings.cwd)))


def report_compose_runs(file: str, settings: Settings) -> Report:
    """Report the stored runs over all services of a compose file."""
    folder = resolve_file(settings.cwd / file, COMPOSE_NAME).parent
    rows = (_summarize_run(path) for path in _list_journals(folder))
    own = tuple(row for row in rows if row.command.startswith("compose "))
    return Report("compose runs", RunsOutcome(own))


def show_run(run_id: str, settings: Settings) -> Report:
    """Show the events of one run; `latest` selects the newest."""
    paths = {path.stem: path for path in _list_journals(find_workspace(settings.cwd))}
    chosen = next(iter(paths), "") if run_id == "latest" else run_id
    if chosen not in paths:
        raise FabricError(_unknown_run_problem(run_id, list(paths)))
    path = paths[chosen]
    return Report("runs show", RunOutcome(chosen, tuple(_read_events(path)), _summarize_run(path)))


def _unknown_run_problem(run_id: str, known: list[str]) -> Problem:
    guess = find_nearest(run_id, known)
    hint = f"did you mean `{guess}`?" if guess else "run: fabric runs list"
    return Problem("usage/unknown-run", f"unknown run `{run_id}`", hint=hint)


def _list_journals(workspace: Path) -> list[Path]:
    return sorted((workspace / ".fabric" / "runs").glob("*.jsonl"), reverse=True)


def _read_events(path: Path) -> Iterator[JsonObject]:
    """Read the valid events. A killed run can leave an incomplete line."""
    try:
        lines = read_bytes(path).splitlines()
    except OSError:
        return
    for line in lines:
        event = _parse_line(line)
        if event is None:
            return
        yield event


def _parse_line(line: bytes) -> JsonObject | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("type"), str) else None


def _summarize_run(path: Path) -> PastRun:
    started, ended = _Started(), _Ended()
    for event in _read_events(path):
        if event["type"] == "run_started":
            started = _read(event, started)
        elif event["type"] == "run_ended":
            ended = _read(event, ended)
    return PastRun(
        path.stem,
        started.command,
        started.stage,
        started.time,
        *(ended.status, ended.ran, ended.skipped, ended.failed, ended.ms),
    )


def _read(event: JsonObject, unknown: _Form) -> _Form:
    """Read a field of an event. Invalid values are ignored, as the log is not trusted data."""
    try:
        return convert(event, type(unknown))
    except ValidationError:
        return unknown
