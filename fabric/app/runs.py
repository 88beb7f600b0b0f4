"""Past runs, read back from their journals."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fabric.app.project.files import COMPOSE_NAME, file_at
from fabric.app.project.workspace import workspace_of
from fabric.app.settings import Settings
from fabric.model.amounts import duration
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.model.spelling import nearest
from fabric.system.disk import read_bytes
from fabric.views.style import Style

_PLAIN = Style()


def list_runs(settings: Settings, style: Style = _PLAIN) -> Report:
    rows = [_summary(path) for path in _journals(workspace_of(settings.cwd))]
    return Report("runs list", {"runs": rows}, text=_lines(rows, style))


def compose_runs(file: str, settings: Settings, style: Style = _PLAIN) -> Report:
    """The runs over all services of a compose file, of those that are kept."""
    folder = file_at(settings.cwd / file, COMPOSE_NAME).parent
    rows = [_summary(path) for path in _journals(folder)]
    rows = [row for row in rows if row["command"].startswith("compose ")]
    return Report("compose runs", {"runs": rows}, text=_lines(rows, style))


def _lines(rows: list[dict[str, Any]], style: Style) -> str:
    return "\n".join(_line(row, style) for row in rows) or "No runs yet."


def show_run(run_id: str, settings: Settings, style: Style = _PLAIN) -> Report:
    """The events of one run; `latest` is the newest."""
    paths = {path.stem: path for path in _journals(workspace_of(settings.cwd))}
    chosen = next(iter(paths), "") if run_id == "latest" else run_id
    if chosen not in paths:
        raise FabricError(_unknown(run_id, list(paths)))
    events = list(_events(paths[chosen]))
    ended = [event for event in events if event["type"] == "task_ended"]
    lines = [_line(_summary(paths[chosen]), style)]
    lines += [_task_line(one, style) for one in ended if one.get("status") != "skipped"]
    return Report("runs show", {"run": chosen, "events": events}, text="\n".join(lines))


def _task_line(event: dict[str, Any], style: Style = _PLAIN) -> str:
    status, task, reason = (str(event.get(name, "")) for name in ("status", "task", "reason"))
    return f"  {status:<9} {task}  {style.dim(reason)}"


def _unknown(run_id: str, known: list[str]) -> Problem:
    guess = nearest(run_id, known)
    hint = f"did you mean `{guess}`?" if guess else "`fabric runs list` lists them"
    return Problem("usage/unknown-run", f"there is no run `{run_id}`", hint=hint)


def _journals(workspace: Path) -> list[Path]:
    return sorted((workspace / ".fabric" / "runs").glob("*.jsonl"), reverse=True)


def _events(path: Path) -> Iterator[dict[str, Any]]:
    """The readable events; a run that was killed may have left half a line."""
    try:
        lines = read_bytes(path).splitlines()
    except OSError:
        return
    for line in lines:
        event = _parsed(line)
        if event is None:
            return
        yield event


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("type"), str) else None


def _summary(path: Path) -> dict[str, Any]:
    started: dict[str, Any] = {}
    ended: dict[str, Any] = {}
    for event in _events(path):
        if event["type"] == "run_started":
            started = event
        elif event["type"] == "run_ended":
            ended = event
    return {
        "id": path.stem,
        "command": str(started.get("command", "")),
        "stage": str(started.get("stage", "")),
        "startedAt": str(started.get("time", "")),
        "status": str(ended.get("status", "unfinished")),
        **{name: _number(ended.get(name)) for name in ("ran", "skipped", "failed", "ms")},
    }


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _line(row: dict[str, Any], style: Style = _PLAIN) -> str:
    counts = f"{row['ran']} ran, {row['skipped']} up to date, {row['failed']} failed"
    head = f"{style.strong(row['id'])}  {row['command']:<16} {row['status']:<10}"
    return f"{head} {counts}  {style.dim(duration(row['ms']))}"
