"""Saved plans. A plan file includes its inputs, so that a run can detect changes since."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from fabric.app.deploy.plan_sources import (
    PlannedSources,
    collect_planned_sources,
    find_moved_sources,
    find_plan_location,
    list_tool_versions,
)
from fabric.app.preview import Preview
from fabric.app.session import Session
from fabric.graph.plan import Plan
from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task import Task
from fabric.system.disk import read_bytes
from fabric.system.schemas import find_misfits, format_misfits

FORMAT = 1
_SHOWN = 10


class Seal(Struct, frozen=True):
    """Hashes of all declared inputs, serials of records, and the files that builds read.

    Cache keys depend on local traces. They count only for old plans without a file list.
    """

    tasks: dict[str, str]
    keys: dict[str, str]
    serials: dict[str, int]
    sources: PlannedSources | None = None


class SavedPlan(Struct, frozen=True):
    command: str
    seal: Seal


def seal(session: Session, seen: Preview, file: Path) -> dict[str, object]:
    made = _seal(seen.plan, seen.work.serials)
    sources = collect_planned_sources(session, seen.plan, file)
    document: dict[str, object] = to_builtins(replace(made, sources=sources))
    return document


def _seal(made: Plan, serials: Mapping[str, int]) -> Seal:
    graph = made.graph
    keys: dict[str, str] = {
        task_id: decision.key
        for task_id, decision in zip(graph.ids, made.decisions, strict=True)
        if decision.key is not None
    }
    return Seal({task.id: _encode_declaration(task) for task in graph.tasks}, keys, dict(serials))


def read_seal(path: Path) -> SavedPlan:
    document = _read_document(path)
    if "seal" not in document or document.get("formatVersion") != FORMAT:
        raise FabricError(_bad_plan_problem(path, "is not a plan saved by this version of fabric"))
    wrong = find_misfits("saved-plan", document)
    if wrong:
        raise FabricError(_bad_plan_problem(path, f"is damaged: {format_misfits(wrong)}"))
    return convert(document, SavedPlan)


def _read_document(path: Path) -> dict[str, object]:
    try:
        document = json.loads(read_bytes(path))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FabricError(_bad_plan_problem(path, f"cannot be read: {reason}")) from error
    except (ValueError, RecursionError) as error:
        raise FabricError(_bad_plan_problem(path, "is not valid JSON")) from error
    return document if isinstance(document, dict) else {}


def refuse_moved(file: Path, session: Session, seen: Preview) -> None:
    """Raise if an input of the plan changed. The error names it."""
    saved = read_seal(file)
    was, today = saved.seal, _seal(seen.plan, seen.work.serials)
    inputs = _compare_inputs(was, today)
    if was.sources:
        tools = list_tool_versions(session, seen.plan)
        own = find_plan_location(session, file)
        inputs = find_moved_sources(was.sources, session.stores.files, tools, own)
    moved = [*_compare_tasks(was, today), *inputs, *_compare_states(was, today)]
    if not moved:
        return
    rest = f" and {len(moved) - _SHOWN} more" if len(moved) > _SHOWN else ""
    message = f"the saved plan is out of date: {', '.join(moved[:_SHOWN])}{rest}"
    hint = f"save a new plan: fabric {saved.command} --out FILE"
    raise FabricError(Problem("plan/stale", message, hint))


def _compare_tasks(old: Seal, new: Seal) -> Iterator[str]:
    was, now = old.tasks, new.tasks
    yield from (f"{one} is new" for one in sorted(now.keys() - was.keys()))
    yield from (f"{one} was removed" for one in sorted(was.keys() - now.keys()))
    changed = (one for one in sorted(was.keys() & now.keys()) if was[one] != now[one])
    yield from (f"the config of {one} changed" for one in changed)


def _compare_inputs(old: Seal, new: Seal) -> Iterator[str]:
    was, now = old.keys, new.keys
    same_config = {one for one, digest in old.tasks.items() if new.tasks.get(one) == digest}
    changed = (one for one in sorted(same_config & {*was, *now}) if was.get(one) != now.get(one))
    yield from (f"inputs of {one} changed" for one in changed)


def _compare_states(old: Seal, new: Seal) -> Iterator[str]:
    was, now = old.serials, new.serials
    for path in sorted({*was, *now}):
        if was.get(path) != now.get(path):
            yield _describe_state_move(path, was.get(path), now.get(path))


def _describe_state_move(path: str, was: int | None, now: int | None) -> str:
    if was is None:
        return f"the state of {path} was created"
    return f"the state of {path} was {'deleted' if now is None else 'updated'}"


def _encode_declaration(task: Task) -> str:
    entries = (part for entry in task.inputs.entries() for part in entry)
    return hash_fields((*entries, "needs", *task.needs))


def _bad_plan_problem(path: Path, what: str) -> Problem:
    message, hint = f"`{path.name}` {what}", "save a new plan: fabric plan --out FILE"
    return Problem("input/bad-plan", message, hint, Place(str(path)))
