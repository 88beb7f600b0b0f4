"""`generate`: add an entry and its handler to an existing config.

Steps: config, overview, requested entry, new text and handler, verification. Both files are
written, or neither.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.project.bound_files import BoundFiles
from fabric.app.project.compose_files import find_owning_compose
from fabric.app.project.files import (
    EnvPlace,
    build_binding_environment,
    format_shown_path,
    read_file,
    resolve_config_path,
)
from fabric.app.request import CONFIG_NAME
from fabric.app.settings import Settings
from fabric.config.load import BindingInputs, ConfigText
from fabric.config.overview import Overview, read_overview
from fabric.config.yaml.nodes import Mapping
from fabric.model.builds.command_runtimes import is_command_runtime
from fabric.model.outcomes.generated import GeneratedFile, GenerateOutcome
from fabric.model.problems import FabricError, Place, Problem, raise_if_any
from fabric.model.report import Report
from fabric.runtimes.entry import NODE_EXTENSIONS, PYTHON_EXTENSIONS, list_entry_candidates
from fabric.scaffold.file_diff import format_file_diff
from fabric.scaffold.generated import NewEntry
from fabric.scaffold.handler_place import (
    HandlerPlace,
    KnownHandler,
    choose_handler_place,
    find_hidden_module,
)
from fabric.scaffold.languages import Language
from fabric.scaffold.programs import choose_program_place, list_shared_texts
from fabric.scaffold.templates import has_handler, read_handler_source
from fabric.scaffold.yaml_edit import with_addition
from fabric.scaffold.yaml_places import Addition
from fabric.scaffold.yaml_text import build_tree
from fabric.system.files.disk import read_bytes
from fabric.system.files.file_changes import FileChange, change_files


class OpenConfig(Struct, frozen=True):
    """A config as found."""

    path: Path
    # The link target, if the path is a link.
    file: Path
    raw: bytes
    source: ConfigText
    overview: Overview


class GenerateOptions(Struct, frozen=True):
    """With `force` an existing handler is replaced. With `dry_run` nothing is written."""

    force: bool = False
    dry_run: bool = False
    # Of a workflow: whether pull requests get previews.
    previews: bool = False


def open_config(config: str, settings: Settings) -> OpenConfig:
    path = resolve_config_path(settings.cwd / config)
    raw = read_file(path, CONFIG_NAME)
    owner = find_owning_compose(path)
    place = EnvPlace(path.parent, owner.parent if owner else path.parent)
    source = ConfigText(
        format_shown_path(path, settings.cwd),
        raw,
        build_binding_environment(place, settings.env),
        settings.stage(""),
        bindings=BindingInputs(read_text=BoundFiles(path.parent).text),
    )
    return OpenConfig(path, path.resolve(), raw, source, read_overview(source))


def generate(
    opened: OpenConfig, wanted: NewEntry, options: GenerateOptions, settings: Settings
) -> Report:
    place = _choose_handler_place(opened, wanted) if wanted.trigger else None
    raw = with_addition(opened.source.file, opened.raw, _build_addition(wanted, place))
    found = _refuse_worse(opened, raw)
    changes = [
        *_plan_handler_changes(opened, wanted, place, options),
        FileChange(opened.file, opened.raw, raw),
    ]
    if not options.dry_run:
        change_files(changes, opened.path.parent)
    outcome = GenerateOutcome(
        kind=wanted.noun,
        name=wanted.name,
        config=opened.source.file,
        dry_run=options.dry_run,
        files=tuple(_describe_file(opened, change, settings) for change in changes),
        diff="\n".join(_diff(opened, change, settings) for change in changes),
        next_step=_suggest_next_step(opened, wanted),
    )
    return Report(f"generate {wanted.noun}", outcome, warnings=_find_newly_unset(opened, found))


def _build_addition(wanted: NewEntry, place: HandlerPlace | None) -> Addition:
    fields = dict(wanted.fields)
    if place is not None:
        preset = place.language.facts.preset
        fields = {"entry": place.entry, "triggers": [fields]}
        if preset:
            fields["build"] = {"preset": preset}
    entry = build_tree(fields)
    if not isinstance(entry, Mapping):
        raise TypeError("an entry must be a map")
    return Addition(wanted.section, wanted.name, entry)


def _refuse_worse(opened: OpenConfig, raw: bytes) -> Overview:
    """Raise for problems that exist already, or for problems that the new entry causes."""
    old = opened.overview
    new = read_overview(replace(opened.source, text=raw))
    still = {_extract_message(problem) for problem in new.problems}
    own = [problem for problem in old.problems if _extract_message(problem) in still]
    known = {_extract_message(problem) for problem in old.limits}
    brought = [problem for problem in new.limits if _extract_message(problem) not in known]
    # The line that would be wrong is shown; its number is of a file that nobody has.
    problems = own or [replace(one, where=None) for one in (*new.problems, *brought)]
    raise_if_any(problems)
    return new


def _extract_message(problem: Problem) -> tuple[str, str]:
    return problem.code, problem.message


def _find_newly_unset(opened: OpenConfig, new: Overview) -> tuple[Problem, ...]:
    known = {_extract_message(problem) for problem in opened.overview.unset}
    return tuple(problem for problem in new.unset if _extract_message(problem) not in known)


def _choose_handler_place(opened: OpenConfig, wanted: NewEntry) -> HandlerPlace:
    found, language = opened.overview, _choose_default_language(opened)
    if language.is_program:
        entries = [one.entry for one in found.sections["functions"]]
        return choose_program_place(wanted.name, language, entries)
    known = [
        handler
        for one in found.sections["functions"]
        if (handler := _find_known_handler(opened.path.parent, one.name, one.entry))
    ]
    return choose_handler_place(wanted.name, known, language)


def _find_known_handler(folder: Path, function: str, entry: str) -> KnownHandler | None:
    """Find a handler. Adds the file name if the entry names a module only."""
    names = list_entry_candidates(entry, (*NODE_EXTENSIONS, *PYTHON_EXTENSIONS))
    names += list_entry_candidates(entry, PYTHON_EXTENSIONS)[1:]
    there = (KnownHandler(function, *name) for name in names if _is_file(folder / name[0]))
    return next(there, None) or (KnownHandler(function, entry) if entry else None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _choose_default_language(opened: OpenConfig) -> Language:
    """Choose the language if there is no existing handler."""
    folder = opened.path.parent
    runtime = opened.overview.runtime
    if runtime.startswith("python"):
        return Language.PYTHON
    if is_command_runtime(runtime):
        return _find_program_language(folder, runtime)
    is_plain = _is_file(folder / "package.json") and not _is_file(folder / "tsconfig.json")
    return Language.JAVASCRIPT if is_plain else Language.TYPESCRIPT


def _find_program_language(folder: Path, runtime: str) -> Language:
    """Find the language whose manifest the project has."""
    programs = [one for one in Language if one.runtime == runtime.partition(".")[0]]
    language = next((one for one in programs if _is_file(folder / one.facts.manifest)), None)
    if language is not None:
        return language
    names = " or ".join(f"`{one.facts.manifest}`" for one in Language if one.is_program)
    message = f"fabric has no handler template for this project with runtime `{runtime}`"
    hint = f"create {names} next to the config, or add the function to the config by hand"
    raise FabricError(Problem("usage/unsupported", message, hint))


def _plan_handler_changes(
    opened: OpenConfig, wanted: NewEntry, place: HandlerPlace | None, options: GenerateOptions
) -> Iterator[FileChange]:
    if place is None:
        return
    path = opened.path.parent / place.path
    _refuse_outside(opened, path)
    if module := find_hidden_module(place):
        message = f"`{place.path}` would hide the Python module `{module}`"
        raise FabricError(Problem("usage/bad-name", message, "use another name"))
    if not has_handler(wanted.trigger, place.language):
        title = place.language.facts.title
        message = f"fabric has no {title} template for the trigger `{wanted.trigger}`"
        hint = "add the function to the config by hand"
        raise FabricError(Problem("usage/unsupported", message, hint))
    provider_id = opened.overview.provider
    content = read_handler_source(wanted.trigger, place.language, provider_id).encode()
    old = _read_old_handler(path, place, force=options.force)
    if old != content:
        yield FileChange(path, old, content)
    for one in list_shared_texts(place) if place.language.is_program else ():
        shared = opened.path.parent / one.path
        if not shared.exists():
            _refuse_outside(opened, shared)
            yield FileChange(shared, None, one.text.encode())


def _refuse_outside(opened: OpenConfig, path: Path) -> None:
    """Reject handlers outside the project, because their directory can be a link."""
    if not path.resolve().is_relative_to(opened.path.parent.resolve()):
        message = f"the handler `{path}` would be outside the project, behind a symbolic link"
        hint = "use a path beside or below the config"
        raise FabricError(Problem("disk/led-away", message, hint, Place(str(path))))


def _read_old_handler(path: Path, place: HandlerPlace, *, force: bool) -> bytes | None:
    if not path.is_symlink() and not path.exists():
        return None
    if path.is_symlink() or not path.is_file():
        message = f"the handler path `{place.path}` is not a regular file"
        raise FabricError(Problem("disk/handler-exists", message, where=Place(place.path)))
    if not force:
        message = f"the handler `{place.path}` already exists"
        hint = "use another name, or --force to replace the file"
        raise FabricError(Problem("disk/handler-exists", message, hint, Place(place.path)))
    return read_bytes(path)


def _describe_file(opened: OpenConfig, change: FileChange, settings: Settings) -> GeneratedFile:
    is_config = change.path == opened.file
    kind = "update" if is_config else "create" if change.old is None else "replace"
    return GeneratedFile(_name(opened, change, settings), kind)


def _name(opened: OpenConfig, change: FileChange, settings: Settings) -> str:
    """Return the config name as the user gave it."""
    path = opened.path if change.path == opened.file else change.path
    return format_shown_path(path, settings.cwd)


def _diff(opened: OpenConfig, change: FileChange, settings: Settings) -> str:
    old = None if change.old is None else change.old.decode("utf-8", "replace")
    return format_file_diff(_name(opened, change, settings), old, change.new.decode())


def _suggest_next_step(opened: OpenConfig, wanted: NewEntry) -> str:
    config = opened.source.file
    flag = "" if config == CONFIG_NAME else f" -c {config}"
    if wanted.trigger:
        return f"fabric plan{flag}"
    return f"fabric validate{flag}"
