"""`import`: convert the config of another tool, and check the result.

Source files -> conversion -> files beside them -> checks of `validate` and `plan` -> report.

No code of the project runs, and nothing is read from the network.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.importing.check import check_copy, check_files
from fabric.app.importing.sources import (
    Source,
    build_no_functions_error,
    find_sources,
    format_shown,
    get_folder,
    open_surroundings,
    read_source_text,
)
from fabric.app.settings import Settings
from fabric.config.yaml.reader import read
from fabric.importing.compose import (
    COMPOSE_NAMES,
    ComposeNote,
    Composition,
    convert_params,
    list_lost_services,
    read_composition,
)
from fabric.importing.files import (
    CONFIG_FILE,
    EXAMPLE_FILE,
    Converted,
    ImportedFiles,
    convert,
    describe,
    format_files,
    read_source,
)
from fabric.importing.source import Fate, Note, find_path_at
from fabric.model.outcomes.imported import (
    ChangedKey,
    ImportedService,
    ImportNote,
    ImportOutcome,
)
from fabric.model.problems import ExitCode, FabricError, Place, Problem
from fabric.model.report import Report
from fabric.model.secrets.secrecy import REDACTED
from fabric.scaffold.yaml_text import FileStyle, build_tree, map_lines
from fabric.system.files.disk import read_bytes
from fabric.system.files.file_changes import FileChange, change_files
from fabric.system.files.new_files import write_new_files

COMPOSE_FILE = "fabric.compose.yml"
_NOT_CARRIED = "import/not-carried"


class ImportRequest(Struct, frozen=True, kw_only=True):
    """What to import. `kind` is a tool, or "" to choose it by file names."""

    path: str = "."
    kind: str = ""
    out: str = ""
    dry_run: bool = False
    force: bool = False
    strict: bool = False
    # The stages of the result, or that of a comparison. All stages if it is empty.
    stages: tuple[str, ...] = ()


class _Read(Struct, frozen=True):
    """A converted source, the directory of its result, and its keys that are set twice."""

    source: Source
    found: Converted
    folder: Path
    repeated: tuple[Problem, ...]


class ConvertedSource(Struct, frozen=True):
    """A converted source with its files."""

    read: _Read
    made: ImportedFiles


class Prepared(Struct, frozen=True, kw_only=True):
    """Converted sources, and the files to write below a directory."""

    done: Sequence[ConvertedSource]
    changes: Sequence[FileChange]
    # Keys of the compose file without an equivalent, as notes.
    composed: Sequence[ImportNote]
    top: Path


def convert_project(request: ImportRequest, settings: Settings) -> Prepared:
    """Convert all sources, and list the files to write."""
    place = settings.cwd / request.path
    sources = find_sources(request.path, request.kind, settings.cwd)
    out = _choose_out(request, place, sources, settings.cwd)
    top = get_folder(place)
    composition = _read_composition(top, settings.cwd)
    is_workspace = composition is not None or len(sources) > 1
    places = _Places(place, out, (out or top) if is_workspace else None)
    converted = [_convert(one, places, settings.cwd) for one in sources]
    done, composed = _format(converted, composition, top, request.stages)
    done = _require_functions(done)
    changes = [*_list_changes(done), *_list_compose(done, top, out or top, composition)]
    _refuse_links(changes, out or top, settings.cwd)
    return Prepared(done=done, changes=changes, composed=composed, top=out or top)


def import_project(request: ImportRequest, settings: Settings) -> Report:
    found = convert_project(request, settings)
    existing = [one for one in found.changes if one.old is not None]
    folders = [one.read.folder for one in found.done]
    if request.dry_run:
        problems = list(check_copy(found.changes, folders, found.top, settings))
        if existing and not request.force:
            problems.append(_build_existing_problem(existing, settings.cwd))
    else:
        if existing and not request.force:
            raise FabricError(_build_existing_problem(existing, settings.cwd))
        _write(found.changes, found.top)
        problems = [problem for one in folders for problem in check_files(one, one, settings)]
    return _report(request, found, problems, settings.cwd)


def _choose_out(
    request: ImportRequest, place: Path, sources: Sequence[Source], cwd: Path
) -> Path | None:
    """Choose the directory to write. The code must be below it, because fabric.yml names it."""
    if not request.out:
        return None
    out = Path(os.path.normpath(cwd / request.out))
    folder = Path(os.path.normpath(get_folder(place)))
    if out == folder:
        return None
    if len(sources) > 1:
        message = "--out cannot be combined with several services"
        raise FabricError(Problem("usage/conflict", message, "import one service at a time"))
    source = Path(os.path.normpath(sources[0].file.parent))
    if not source.is_relative_to(out):
        message = f"the code of `{sources[0].shown}` is not below `{request.out}`"
        hint = "fabric.yml must be beside or above the code: use a directory above, or omit --out"
        raise FabricError(Problem("usage/bad-directory", message, hint))
    return out


class _Places(Struct, frozen=True):
    """The imported path, the directory to write if it is another one, and that of a compose file,
    if one is written."""

    source: Path
    out: Path | None
    workspace: Path | None


def _convert(source: Source, places: _Places, cwd: Path) -> _Read:
    out = places.out
    text = read_source_text(source.file, cwd)
    document = read_source(source.kind, source.shown, text)
    folder = source.file.parent
    prefix = "" if out is None else os.path.relpath(folder, out)
    surroundings = open_surroundings(
        folder, get_folder(places.source), cwd, "" if prefix == "." else prefix
    )
    if places.workspace is not None:
        path = os.path.relpath(out or folder, places.workspace)
        surroundings = replace(surroundings, height=len(Path(path).parts))
    found = convert(source.kind, document.root, text, surroundings, source.shown)
    repeated = tuple(one for one in document.warnings if one.code == "config/duplicate-key")
    return _Read(source, found, folder if out is None else out, repeated)


def _read_composition(top: Path, cwd: Path) -> Composition | None:
    file = next((top / one for one in COMPOSE_NAMES if (top / one).is_file()), None)
    if file is None:
        return None
    shown = format_shown(file, cwd)
    return read_composition(read(shown, read_source_text(file, cwd).encode()).root, shown)


def _format(
    converted: Sequence[_Read],
    composition: Composition | None,
    top: Path,
    stages: Sequence[str],
) -> tuple[list[ConvertedSource], list[ImportNote]]:
    """Format the files of all services, with the parameters of the compose file."""
    folders = {os.path.relpath(one.source.file.parent, top): one.found for one in converted}
    composed = composition.services if composition else {}
    listed = {name: folders[one.folder] for name, one in composed.items() if one.folder in folders}
    names = {name: one.service for name, one in listed.items()}
    outputs = {name: one.outputs for name, one in listed.items()}
    lost = [*composition.notes, *list_lost_services(composition, folders)] if composition else []
    params: dict[str, dict[str, str]] = {}
    for one in composed.values():
        params[one.folder], notes = convert_params(one, names, outputs)
        lost += notes
    done = []
    for each in converted:
        given = params.get(os.path.relpath(each.source.file.parent, top), {})
        made = format_files(each.found, given, stages)
        done.append(ConvertedSource(each, made))
    shown = composition.file if composition else ""
    return done, [_describe_compose_note(shown, one) for one in lost]


def _describe_compose_note(file: str, note: ComposeNote) -> ImportNote:
    return ImportNote(
        code=_NOT_CARRIED,
        path=".".join(note.at.path),
        where=str(Place(file, note.at.line, note.at.column)),
        reason=note.reason,
        hint=note.hint,
    )


def _require_functions(done: list[ConvertedSource]) -> list[ConvertedSource]:
    """Keep the sources with functions, services of the Serverless Framework with resources, and
    templates with state machines. Of others fabric deploys nothing."""
    found = [one for one in done if one.made.functions or _has_other_parts(one)]
    if not found:
        names = [one.read.source.shown for one in done[:3]]
        raise build_no_functions_error(names, done[0].read.source.kind)
    return found


def _has_other_parts(one: ConvertedSource) -> bool:
    """Return whether a service without functions has a stack or workflows."""
    text = one.made.files[CONFIG_FILE]
    part = {"serverless": "stack:", "sam": "\nworkflows:"}.get(one.read.source.kind, "")
    return bool(part) and "\nfunctions: []\n" in text and part in text


def _list_changes(done: Sequence[ConvertedSource]) -> list[FileChange]:
    """List the files to write. An existing example of variables is kept."""
    changes: list[FileChange] = []
    for one in done:
        for name, text in one.made.files.items():
            path = one.read.folder / name
            old = read_bytes(path) if path.is_file() else None
            if old == text.encode() or (old is not None and name == EXAMPLE_FILE):
                continue
            changes.append(FileChange(path, old, text.encode()))
    return changes


def _refuse_links(changes: Sequence[FileChange], top: Path, cwd: Path) -> None:
    """Raise if a file to write is a link, or if its directory is behind a link."""
    root = os.path.realpath(top)
    for one in changes:
        parent = os.path.realpath(one.path.parent)
        if one.path.is_symlink() or os.path.commonpath((root, parent)) != root:
            shown = format_shown(one.path, cwd)
            message = f"cannot write `{shown}`: it is a link, or in a linked directory"
            hint = "replace the link, or use --out for another directory"
            raise FabricError(Problem("import/linked", message, hint, Place(shown)))


def _build_existing_problem(existing: Sequence[FileChange], cwd: Path) -> Problem:
    shown = [format_shown(one.path, cwd) for one in existing]
    names = ", ".join(f"`{one}`" for one in shown[:5])
    message = f"files exist already: {names}; nothing was changed"
    return Problem("import/exists", message, "use --force to replace them", Place(shown[0]))


def _write(changes: Sequence[FileChange], top: Path) -> None:
    """Write all files or none."""
    if all(one.old is None for one in changes):
        write_new_files(top, [(os.path.relpath(one.path, top), one.new) for one in changes])
        return
    # The lock is held on the last file, which exists.
    change_files(sorted(changes, key=lambda one: one.old is not None), top)


def _list_compose(
    done: Sequence[ConvertedSource], top: Path, out: Path, composition: Composition | None
) -> Iterator[FileChange]:
    """List the compose file of several services."""
    if len(done) < 2 and composition is None:  # noqa: PLR2004
        return
    names = {os.path.relpath(one.read.source.file.parent, top): one.made.service for one in done}
    services: dict[str, object] = {}
    for folder, name in names.items():
        entry: dict[str, object] = {"config": f"{folder}/{CONFIG_FILE}"}
        listed = composition.list_needed(folder) if composition else ()
        needed = [names[one] for one in listed if one in names]
        if needed:
            entry["dependsOn"] = needed
        services[name] = entry
    tree = build_tree({"services": services})  # type: ignore[dict-item]
    text = "\n".join(map_lines(getattr(tree, "entries", ()), FileStyle())) + "\n"
    path = out / COMPOSE_FILE
    old = read_bytes(path) if path.is_file() else None
    if old != text.encode():
        yield FileChange(path, old, text.encode())


def _report(
    request: ImportRequest, found: Prepared, problems: Sequence[Problem], cwd: Path
) -> Report:
    done = found.done
    outcome = ImportOutcome(
        source=request.path,
        from_=", ".join(dict.fromkeys(one.read.source.kind for one in done)),
        written=tuple(format_shown(one.path, cwd) for one in found.changes),
        replaced=tuple(format_shown(one.path, cwd) for one in found.changes if one.old is not None),
        services=tuple(
            ImportedService(one.made.service, one.made.functions, one.made.triggers) for one in done
        ),
        carried=sum(one.made.settled.count(Fate.CARRIED) for one in done),
        changed=tuple(change for one in done for change in _list_changed(one)),
        not_carried=(*_list_notes(done, Fate.NOT_CARRIED), *found.composed),
        dropped=tuple(_list_notes(done, Fate.DROPPED)),
        problems=tuple(map(_describe_problem, problems)),
        dry_run=request.dry_run,
    )
    is_partial = bool(outcome.not_carried or problems)
    code = ExitCode.OK
    if is_partial:
        code = ExitCode.FAILED if request.strict else ExitCode.PARTIAL
    return Report("import", outcome, warnings=tuple(problems), exit_code=code)


def _describe_problem(problem: Problem) -> ImportNote:
    return ImportNote(
        code=problem.code,
        path="",
        where=str(problem.where or ""),
        reason=problem.message,
        hint=problem.hint,
    )


def _place(done: ConvertedSource, note: Note) -> str:
    return str(Place(done.read.source.shown, note.line, note.column))


def _list_notes(done: Sequence[ConvertedSource], fate: Fate) -> Iterator[ImportNote]:
    for one in done:
        for note in one.made.settled.select(fate):
            yield ImportNote(
                code=note.code,
                path=".".join(note.path),
                where=_place(one, note),
                reason=note.reason,
                hint=note.advice,
            )


def _list_changed(done: ConvertedSource) -> Iterator[ChangedKey]:
    for one in done.read.repeated:
        where = one.where or Place(done.read.source.shown)
        yield ChangedKey(
            code="import/changed",
            path=".".join(find_path_at(done.read.found.root, where.line, where.column)),
            where=str(where),
            from_="",
            to="",
            reason=f"{one.message}; the last value counts, as in AWS SAM",
        )
    for note in done.made.settled.select(Fate.CHANGED):
        yield ChangedKey(
            code=note.code,
            path=".".join(note.path),
            where=_place(done, note),
            from_=REDACTED if note.is_hidden else describe(done.read.found.root, note.path),
            to=note.advice,
            reason=note.reason,
        )
