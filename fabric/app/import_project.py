"""`import`: convert the config of another tool, and check the result.

Source files -> conversion -> files beside them -> checks of `validate` and `plan` -> report.

No code of the project runs, and nothing is read from the network.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct
from msgspec.structs import replace

from fabric.app.settings import Settings
from fabric.config.yaml.nodes import Node
from fabric.config.yaml.reader import read
from fabric.importing.files import (
    CONFIG_FILE,
    EXAMPLE_FILE,
    SOURCES,
    ImportedFiles,
    convert,
    describe,
    find_kind,
    is_source,
)
from fabric.importing.source import Fate, Note
from fabric.importing.surroundings import Surroundings
from fabric.model.outcomes.imported import (
    ChangedKey,
    ImportedService,
    ImportNote,
    ImportOutcome,
)
from fabric.model.problems import ExitCode, FabricError, Place, Problem
from fabric.model.report import Report
from fabric.model.secrecy import REDACTED
from fabric.scaffold.yaml_text import FileStyle, build_tree, map_lines
from fabric.system.disk import read_bytes
from fabric.system.file_changes import FileChange, change_files
from fabric.system.new_files import write_new_files

COMPOSE_FILE = "fabric.compose.yml"
_SERVERLESS_COMPOSE = ("serverless-compose.yml", "serverless-compose.yaml")
_MOST_BYTES = 4 << 20
_MOST_SOURCES = 500
_SKIPPED = frozenset(
    ("node_modules", ".git", ".fabric", ".serverless", ".aws-sam", ".venv", "venv")
)
_UNREADABLE = "import/unreadable"


class ImportRequest(Struct, frozen=True, kw_only=True):
    """What to import. `kind` is a tool, or "" to choose it by file names."""

    path: str = "."
    kind: str = ""
    out: str = ""
    dry_run: bool = False
    force: bool = False
    strict: bool = False


# Configs that are programs.
_CODE = ("serverless.ts", "serverless.js", "serverless.mjs", "serverless.cjs")
_PRINT = "run: osls print --format json > serverless.json, and import that file"


class _Source(Struct, frozen=True):
    kind: str
    file: Path
    # The name in messages.
    shown: str


class _Done(Struct, frozen=True):
    """A converted source, its tree, and the directory of its result."""

    source: _Source
    root: Node
    made: ImportedFiles
    folder: Path


def import_project(request: ImportRequest, settings: Settings) -> Report:
    place = settings.cwd / request.path
    sources = _find_sources(request, place, settings.cwd)
    out = settings.cwd / request.out if request.out else None
    done = [_convert(one, place, out) for one in sources]
    done = _require_functions(done)
    changes = [*_list_changes(done, request), *_list_compose(done, place, out, request)]
    problems: list[Problem] = []
    if not request.dry_run:
        _write(changes, out or _get_folder(place))
        problems = [found for one in done for found in _check(one.folder, settings)]
    return _report(request, done, changes, settings, problems)


def _get_folder(place: Path) -> Path:
    return place if place.is_dir() else place.parent


def _find_sources(request: ImportRequest, place: Path, cwd: Path) -> list[_Source]:
    if place.is_dir():
        found = _find_in_folder(request, place, cwd) or _find_below(request, place, cwd)
    elif place.is_file():
        kind = request.kind or find_kind(place.name)
        if not kind:
            message = f"unknown source `{place.name}`"
            hint = "use --from serverless or --from sam"
            if place.name in _CODE:
                message, hint = f"`{place.name}` is code, which fabric does not run", _PRINT
            raise FabricError(Problem("usage/unknown-choice", message, hint))
        found = [_Source(kind, place, _format_shown(place, cwd))]
    else:
        raise FabricError(Problem("input/not-found", f"no file or directory `{request.path}`"))
    if not found:
        names = ", ".join(name for kind in SOURCES for name in SOURCES[kind][:1])
        message = f"no config of another tool found in `{request.path}`"
        hint = f"fabric imports {names}"
        if any((_get_folder(place) / one).is_file() for one in _CODE):
            hint = _PRINT
        raise FabricError(Problem("input/not-found", message, hint))
    return found


def _find_in_folder(request: ImportRequest, folder: Path, cwd: Path) -> list[_Source]:
    kinds = (request.kind,) if request.kind else tuple(SOURCES)
    found = [
        _Source(kind, folder / name, _format_shown(folder / name, cwd))
        for kind in kinds
        for name in SOURCES[kind]
        if (folder / name).is_file() and is_source(kind, _read_text(folder / name))
    ]
    if len(found) > 1:
        names = ", ".join(f"`{one.file.name}`" for one in found)
        message = f"the directory contains several configs: {names}"
        hint = f"run: fabric import {found[0].shown}"
        raise FabricError(Problem("usage/ambiguous", message, hint))
    return found


def _find_below(request: ImportRequest, top: Path, cwd: Path) -> list[_Source]:
    """Find the services of a monorepo: one config in each directory."""
    found: list[_Source] = []
    for folder, folders, _ in os.walk(top):
        folders[:] = sorted(
            one for one in folders if one not in _SKIPPED and not one.startswith(".")
        )
        if Path(folder) != top:
            found += _find_in_folder(request, Path(folder), cwd)
        if len(found) > _MOST_SOURCES:
            message = f"more than {_MOST_SOURCES} configs found below `{request.path}`"
            raise FabricError(Problem("input/too-many", message, "import one directory at a time"))
    return found


def _format_shown(path: Path, cwd: Path) -> str:
    path = Path(os.path.normpath(path))
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def _read_text(path: Path) -> str:
    try:
        raw = read_bytes(path)
    except OSError as error:
        message = f"cannot read `{path.name}`: {(error.strerror or str(error)).lower()}"
        raise FabricError(Problem(_UNREADABLE, message, where=Place(str(path)))) from error
    if len(raw) > _MOST_BYTES:
        message = f"`{path.name}` has {len(raw):,} bytes (maximum {_MOST_BYTES:,})"
        raise FabricError(Problem(_UNREADABLE, message, where=Place(str(path))))
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        message = f"`{path.name}` is not UTF-8"
        hint = f"byte {error.start + 1:,} is the first that is not; convert the file"
        raise FabricError(Problem(_UNREADABLE, message, hint, Place(str(path)))) from error


def _convert(source: _Source, place: Path, out: Path | None) -> _Done:
    text = _read_text(source.file)
    root = read(source.shown, text.encode(), keeps_tags=True).root
    top = _find_top(_get_folder(place))
    surroundings = _open_surroundings(source.file.parent, top)
    made = convert(source.kind, root, text, surroundings, source.file.name)
    folder = source.file.parent
    if out is not None:
        folder = out / folder.relative_to(_get_folder(place))
    return _Done(source, root, made, folder)


def _require_functions(done: list[_Done]) -> list[_Done]:
    """Keep the sources with functions. Of others fabric deploys nothing."""
    found = [one for one in done if one.made.functions]
    if not found:
        names = ", ".join(f"`{one.source.shown}`" for one in done[:3])
        message = f"{names} has no functions that fabric can deploy"
        hint = "deploy such a template with CloudFormation, and use its outputs with ${cfn:…}"
        raise FabricError(Problem("import/no-functions", message, hint))
    return found


def _find_top(folder: Path) -> Path:
    """Find the project: the nearest directory with `.git`, otherwise the imported one."""
    for one in (folder.resolve(), *folder.resolve().parents):
        if (one / ".git").exists():
            return one
    return folder.resolve()


def _open_surroundings(folder: Path, top: Path) -> Surroundings:
    def locate(path: str) -> Path | None:
        try:
            found = (folder / path).resolve()
        except (OSError, ValueError, RuntimeError):
            return None
        return found if found.is_relative_to(top) else None

    def read_text(path: str) -> str | None:
        found = locate(path)
        if found is None or not found.is_file():
            return None
        return _read_text(found)

    def list_names(path: str) -> tuple[str, ...]:
        found = locate(path)
        return tuple(sorted(os.listdir(found))) if found and found.is_dir() else ()

    return Surroundings(
        read_text,
        list_names,
        lambda path: (found := locate(path)) is not None and found.is_file(),
        lambda path: (found := locate(path)) is not None and found.is_dir(),
        folder.resolve().name or "service",
    )


def _list_changes(done: Sequence[_Done], request: ImportRequest) -> list[FileChange]:
    """List the files to write. Existing files are kept, unless `force` is set."""
    changes: list[FileChange] = []
    existing: list[Path] = []
    for one in done:
        for name, text in one.made.files.items():
            path = one.folder / name
            old = read_bytes(path) if path.is_file() else None
            if old == text.encode() or (old is not None and name == EXAMPLE_FILE):
                continue
            if old is not None and not request.force and not request.dry_run:
                existing.append(path)
            changes.append(FileChange(path, old, text.encode()))
    if existing:
        names = ", ".join(f"`{one.name}`" for one in existing[:5])
        message = f"files exist already: {names}; nothing was changed"
        hint = "use --force to replace, or --out for another directory"
        raise FabricError(Problem("import/exists", message, hint, Place(str(existing[0]))))
    return changes


def _write(changes: Sequence[FileChange], top: Path) -> None:
    """Write all files or none."""
    if all(one.old is None for one in changes):
        write_new_files(top, [(os.path.relpath(one.path, top), one.new) for one in changes])
        return
    # The lock is held on the last file, which exists.
    change_files(sorted(changes, key=lambda one: one.old is not None), top)


def _list_compose(
    done: Sequence[_Done], place: Path, out: Path | None, request: ImportRequest
) -> Iterator[FileChange]:
    """List the compose file of several services."""
    top = _get_folder(place)
    dependencies = _read_dependencies(top)
    if len(done) < 2 and not dependencies:  # noqa: PLR2004
        return
    names = {str(one.source.file.parent.relative_to(top)): one.made.service for one in done}
    services: dict[str, object] = {}
    for one in done:
        folder = str(one.source.file.parent.relative_to(top))
        entry: dict[str, object] = {"config": f"{folder}/{CONFIG_FILE}"}
        needed = [names[folder] for folder in dependencies.get(folder, ()) if folder in names]
        if needed:
            entry["dependsOn"] = needed
        services[one.made.service] = entry
    tree = build_tree({"services": services})  # type: ignore[dict-item]
    text = "\n".join(map_lines(getattr(tree, "entries", ()), FileStyle())) + "\n"
    path = (out or top) / COMPOSE_FILE
    old = read_bytes(path) if path.is_file() else None
    if old is not None and not request.force and not request.dry_run and old != text.encode():
        message = f"`{COMPOSE_FILE}` already exists; nothing was changed"
        raise FabricError(
            Problem("import/exists", message, "use --force to replace it", Place(str(path)))
        )
    if old != text.encode():
        yield FileChange(path, old, text.encode())


def _read_dependencies(top: Path) -> dict[str, tuple[str, ...]]:
    """Read `dependsOn` of serverless-compose.yml, by directory."""
    file = next((top / one for one in _SERVERLESS_COMPOSE if (top / one).is_file()), None)
    if file is None:
        return {}
    try:
        services = (yaml.safe_load(_read_text(file)) or {}).get("services") or {}
        return _list_dependencies(services)
    except (yaml.YAMLError, AttributeError, TypeError) as error:
        message = f"`{file.name}` cannot be read"
        raise FabricError(Problem(_UNREADABLE, message, where=Place(str(file)))) from error


def _list_dependencies(services: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    folders = {
        name: os.path.normpath(str(one.get("path", name)))
        for name, one in services.items()
        if isinstance(one, dict)
    }
    found: dict[str, tuple[str, ...]] = {}
    for name, one in services.items():
        needed = one.get("dependsOn") or [] if isinstance(one, dict) else []
        needed = [needed] if isinstance(needed, str) else needed
        used = (
            {
                str(value).partition("${")[2].partition(".")[0]
                for value in (one.get("params") or {}).values()
            }
            if isinstance(one, dict)
            else set()
        )
        every = [*needed, *sorted(used & folders.keys())]
        found[folders.get(name, name)] = tuple(
            dict.fromkeys(folders[word] for word in every if word in folders)
        )
    return found


def _check(folder: Path, settings: Settings) -> Iterator[Problem]:
    """Check a written config as `validate` and `plan` do."""
    from fabric.app.plan import PlanOptions, plan
    from fabric.app.request import Request, Where
    from fabric.app.validate import validate
    from fabric.model.names import Verb

    where = Where(config=CONFIG_FILE)
    here = replace(settings, cwd=folder)
    try:
        validate(where, here)
        report = plan(Request(Verb.DEPLOY, "plan", where), PlanOptions(), here)
        yield from report.problems
        # Warnings about what a real deploy would refuse.
        yield from (one for one in report.warnings if one.code == "plan/provider-limit")
    except FabricError as error:
        yield from error.problems


def _report(
    request: ImportRequest,
    done: Sequence[_Done],
    changes: Sequence[FileChange],
    settings: Settings,
    problems: Sequence[Problem],
) -> Report:
    outcome = ImportOutcome(
        source=request.path,
        from_=", ".join(dict.fromkeys(one.source.kind for one in done)),
        written=tuple(_format_shown(one.path, settings.cwd) for one in changes),
        services=tuple(
            ImportedService(one.made.service, one.made.functions, one.made.triggers) for one in done
        ),
        carried=sum(one.made.settled.count(Fate.CARRIED) for one in done),
        changed=tuple(
            _describe_change(one, note)
            for one in done
            for note in one.made.settled.select(Fate.CHANGED)
        ),
        not_carried=tuple(
            _describe_note(one, note)
            for one in done
            for note in one.made.settled.select(Fate.NOT_CARRIED)
        ),
        dropped=tuple(
            _describe_note(one, note)
            for one in done
            for note in one.made.settled.select(Fate.DROPPED)
        ),
        problems=tuple(
            ImportNote(
                code=one.code,
                path="",
                where=str(one.where or ""),
                reason=one.message,
                hint=one.hint,
            )
            for one in problems
        ),
        dry_run=request.dry_run,
    )
    is_partial = bool(outcome.not_carried or problems)
    code = ExitCode.OK
    if is_partial:
        code = ExitCode.FAILED if request.strict else ExitCode.PARTIAL
    return Report("import", outcome, warnings=tuple(problems), exit_code=code)


def _place(done: _Done, note: Note) -> str:
    return str(Place(done.source.shown, note.line, note.column))


def _describe_note(done: _Done, note: Note) -> ImportNote:
    return ImportNote(
        code=note.code,
        path=".".join(note.path),
        where=_place(done, note),
        reason=note.reason,
        hint=note.advice,
    )


def _describe_change(done: _Done, note: Note) -> ChangedKey:
    return ChangedKey(
        code=note.code,
        path=".".join(note.path),
        where=_place(done, note),
        from_=REDACTED if note.is_hidden else describe(done.root, note.path),
        to=note.advice,
        reason=note.reason,
    )
