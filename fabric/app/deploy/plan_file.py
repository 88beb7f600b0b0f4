"""Saved plans. A plan file includes its inputs, so that a run can detect changes since."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import replace

from fabric.app.preview import Preview
from fabric.app.session import Session
from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.graph.traces import ABSENT, ListingTrace, Look
from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError, Place, Problem, raise_if_any
from fabric.model.task import EntryKind, Pairs, Task
from fabric.runtimes.contract import InputTrace
from fabric.runtimes.recorded_inputs import place
from fabric.system.files.disk import read_bytes
from fabric.system.parallel import run_for_each
from fabric.system.schemas import find_misfits, format_misfits
from fabric.tasks.before import BeforeKind
from fabric.tasks.build import BuildKind
from fabric.tasks.layer_archive import LayerArchiveKind

# The input files of a saved plan: all files that its builds read, with their hashes.
# Another checkout can be compared with them: they use workspace paths, without times or traces.


class PlannedSources(Struct, frozen=True):
    """The inputs of a plan. `files` have hashes, `absent` files do not exist, `listings` were
    searched."""

    files: dict[str, str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    listings: list[ListingTrace] = field(default_factory=list)
    # Redirected paths.
    links: dict[str, str] = field(default_factory=dict)
    # The tool versions by task.
    tools: dict[str, str] = field(default_factory=dict)


class _LookedAt(Struct, frozen=True):
    """The files that one build reads."""

    files: tuple[str, ...]
    absent: tuple[str, ...]
    listings: tuple[ListingTrace, ...]
    links: Pairs


def _collect_planned_sources(session: Session, made: Plan, file: Path) -> PlannedSources:
    """Collect the inputs from cached traces that hold, or scan for them. Raises if a build cannot
    run.

    Nothing is stored and no command runs. The plan's own `file` is ignored.
    """
    looks = [*_list_cached_inputs(made), *_scan_inputs(session, made)]
    look, own = session.stores.files, _find_plan_location(session, file)
    files = sorted({path for one in looks for path in one.files} - {own})
    asked = {(one.folder, one.pattern, one.ignore) for row in looks for one in row.listings}
    searches = sorted(
        (folder, pattern, _exclude_plan_file(own, folder, ignore))
        for folder, pattern, ignore in asked
    )
    return PlannedSources(
        {path: look.digest(path) for path in files},
        sorted({path for one in looks for path in one.absent} - {own}),
        [ListingTrace(*one, look.listing(*one)) for one in searches],
        dict(sorted(pair for one in looks for pair in one.links)),
        _list_tool_versions(session, made),
    )


def _find_plan_location(session: Session, file: Path) -> str:
    """Return the path of a saved plan within the workspace."""
    return place(os.path.realpath(session.runner.workspace), os.path.realpath(file))


def _exclude_plan_file(own: str, folder: str, ignore: tuple[str, ...]) -> tuple[str, ...]:
    """Add ignore rules that exclude the plan file from a search."""
    base = "" if folder == "." else f"{folder}/"
    if (own.startswith("../") and not base.startswith("../")) or not own.startswith(base):
        return ignore
    return (*ignore, "/" + re.sub(r"[*?\[]", r"[\g<0>]", own.removeprefix(base)))


def _list_tool_versions(session: Session, made: Plan) -> dict[str, str]:
    """List the versions of tools and of fabric's code. Their install locations do not matter."""
    code = session.runner.memory.code
    return {
        task.id: hash_fields(
            part for one in code(task) if one.kind == EntryKind.CODE for part in one
        )
        for task in made.graph.tasks
    }


def _list_cached_inputs(made: Plan) -> Iterator[_LookedAt]:
    for decision in made.decisions:
        if trace := decision.trace:
            yield _LookedAt(trace.all_files, trace.absent, trace.listings, trace.links)


def _scan_inputs(session: Session, made: Plan) -> Iterable[_LookedAt]:
    """Record the inputs of tasks without a cached result. No command runs."""
    graph = made.graph
    late = {graph.ids[number] for number in _list_after_steps(made)}
    kinds = ("before", "build", "layer-archive")
    rows = zip(graph.tasks, made.decisions, strict=True)
    unknown = [
        task
        for task, decision in rows
        if task.kind in kinds and not decision.trace and task.id not in late
    ]
    found: dict[str, InputTrace] = {}

    def look_through(task: Task) -> None:
        kind = session.registry[task.kind]
        if isinstance(kind, BuildKind | BeforeKind | LayerArchiveKind):
            found[task.id] = kind.record_inputs(task)

    problems = run_for_each(unknown, look_through)
    raise_if_any(problems)
    return [_convert_seen(one) for one in found.values()]


def _list_after_steps(made: Plan) -> Iterator[int]:
    """List the builds that wait for a step, whose files need not exist yet."""
    for number in made.graph.numbers_of("build"):
        if made.decisions[number].action is Action.WAIT:
            yield number


def _convert_seen(seen: InputTrace) -> _LookedAt:
    listings = tuple(
        ListingTrace(one.folder, one.pattern, one.ignore, hash_fields(one.names))
        for one in seen.listings
    )
    return _LookedAt((*seen.all_files, *seen.folders), seen.absent, listings, seen.links)


def _find_moved_sources(
    was: PlannedSources, look: Look, tools: Mapping[str, str], own: str
) -> Iterator[str]:
    """Describe the inputs that changed. `own` is the current location of the plan."""
    for path, digest in was.files.items():
        now = look.digest(path)
        if now != digest:
            yield f"{path} {'changed' if now != ABSENT else 'was deleted'}"
        elif look.real(path) != was.links.get(path, path):
            yield f"the link target of {path} changed"
    yield from (f"{path} is new" for path in was.absent if path != own and look.digest(path))
    yield from (f"the link target of {path} changed" for path in _find_moved_links(was, look))
    yield from (
        f"the files of {one.folder}/{one.pattern} changed"
        for one in _list_moved_listings(was, look, own)
    )
    others = (one for one in sorted(was.tools) if tools.get(one, was.tools[one]) != was.tools[one])
    yield from (f"the tools of {one} changed" for one in others)


def _find_moved_links(was: PlannedSources, look: Look) -> Iterator[str]:
    for path, real in was.links.items():
        if path not in was.files and look.real(path) != real:
            yield path


def _list_moved_listings(was: PlannedSources, look: Look, own: str) -> Iterator[ListingTrace]:
    for one in was.listings:
        ignore = _exclude_plan_file(own, one.folder, one.ignore)
        if look.listing(one.folder, one.pattern, ignore) != one.digest:
            yield one


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
    sources = _collect_planned_sources(session, seen.plan, file)
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
        tools = _list_tool_versions(session, seen.plan)
        own = _find_plan_location(session, file)
        inputs = _find_moved_sources(was.sources, session.stores.files, tools, own)
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
