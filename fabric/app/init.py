"""`init`: choices to a new project, of which all files are written or none."""

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.settings import Settings
from fabric.model.backends import BackendKind, back_end_facts
from fabric.model.outcomes.generated import InitOutcome
from fabric.model.problems import ExitCode, FabricError, Place, Problem, raise_if_any
from fabric.model.report import Report
from fabric.scaffold.choices import (
    NO_MANAGER,
    ManagerFacts,
    ProjectChoices,
    derive_service_name,
    find_length_problem,
    find_service_name_problem,
    find_unknown_words,
    find_unsupported_pairs,
)
from fabric.scaffold.config_text import SCHEMA_FILE
from fabric.scaffold.languages import Language
from fabric.scaffold.new_project import CONFIG_FILE, NewFile, build_new_project
from fabric.scaffold.templates import find_template
from fabric.system.files.disk import read_bytes
from fabric.system.files.new_files import write_new_files
from fabric.system.schemas import read_schema_text

if TYPE_CHECKING:
    from fabric.system.plugins import FindEntries


class InitRequest(Struct, frozen=True):
    """The options given on the command line; empty if omitted."""

    folder: str = "."
    service: str = ""
    template: str = ""
    provider: str = ""
    lang: str = ""
    backend: str = ""
    manager: str = ""
    skip_install: bool = False
    with_workflow: bool = False


_MANIFEST = "package.json"
_LOCAL_STATE = (
    "State is stored on this machine (.fabric/state). Before another machine or CI deploys, "
    "set a shared `backend` in fabric.yml."
)
# What a project goes without if these files were somebody's own.
_WANTED = {".gitignore": (".env", ".fabric"), _MANIFEST: ("call:local", '"test"')}

# What was said, to that with the rest.
Ask: TypeAlias = Callable[[InitRequest], InitRequest]


class InitHelp(Struct, frozen=True):
    """The interaction of `init`: `asker` prompts for omitted options, `tell` reports the
    install."""

    asker: Callable[[], Ask | None]
    tell: Callable[[str], None]
    # Lists plugins.
    find: "FindEntries | None" = None


def init(asked: InitRequest, settings: Settings, helped: InitHelp) -> Report:
    folder = Path(os.path.abspath(settings.cwd / asked.folder))  # noqa: PTH100 - links stay links
    asked = replace(asked, service=asked.service or derive_service_name(folder.name) or folder.name)
    raise_if_any(_find_input_problems(asked, folder, helped.find))
    choices = _choose_project(_complete(asked, helped), helped.find)
    files = (
        NewFile(SCHEMA_FILE, read_schema_text("config"), may_be_kept=True),
        *build_new_project(choices),
    )
    problem = find_length_problem(choices)
    raise_if_any([*([problem] if problem else ()), *_find_conflicting_files(folder, files)])
    kept = [one for one in files if os.path.lexists(folder / one.path)]
    written = [one for one in files if one not in kept]
    write_new_files(folder, [(one.path, one.text.encode()) for one in written])
    made = _NewProject(asked, choices, folder, written, kept)
    return _report(made, _install(made, settings, helped))


def _find_input_problems(
    asked: InitRequest, folder: Path, find: "FindEntries | None"
) -> list[Problem]:
    """Find all invalid options before the first prompt."""
    said = _collect_given_choices(asked)
    unknown = find_unknown_words(said)
    service = find_service_name_problem(asked.service, is_folder=asked.service == folder.name)
    found = [*unknown, *(() if unknown else find_unsupported_pairs(said))]
    found += [service] if service else []
    found += _find_manager_problems(asked.manager, find)
    return [*found, *_find_folder_problems(folder)]


def _collect_given_choices(asked: InitRequest) -> ProjectChoices:
    return ProjectChoices(asked.service, asked.template, asked.provider, asked.lang, asked.backend)


def _find_manager_problems(name: str, find: "FindEntries | None") -> tuple[Problem, ...]:
    try:
        _find_package_manager(name, find)
    except FabricError as error:
        first = error.first
        return (Problem("usage/unknown-choice", first.message, first.hint),)
    return ()


def _find_package_manager(name: str, find: "FindEntries | None") -> ManagerFacts | None:
    if name in ("", NO_MANAGER):
        return None
    from fabric.system.plugins import list_installed, load_secret_manager  # few projects have one

    return ManagerFacts(name, tuple(load_secret_manager(name, find or list_installed).variables))


def _complete(asked: InitRequest, helped: InitHelp) -> InitRequest:
    if asked.template and asked.provider:
        return asked
    if ask := helped.asker():
        return ask(asked)
    options = (("--template", asked.template), ("--provider", asked.provider))
    missing = " and ".join(option for option, said in options if not said)
    message = f"missing {missing} (not a terminal, so fabric cannot prompt)"
    hint = "run a command such as: fabric init --template http --provider cloud1-lambda"
    raise FabricError(Problem("usage/missing-option", message, hint))


def _choose_project(asked: InitRequest, find: "FindEntries | None") -> ProjectChoices:
    return replace(
        _collect_given_choices(asked),
        lang=asked.lang or Language.TYPESCRIPT.value,
        backend=asked.backend or BackendKind.LOCAL.value,
        manager=_find_package_manager(asked.manager, find),
        with_workflow=asked.with_workflow,
    )


def _find_folder_problems(folder: Path) -> Iterator[Problem]:
    if os.path.lexists(folder / CONFIG_FILE):
        message = f"`{CONFIG_FILE}` already exists; nothing was changed"
        hint = "use another directory with --dir, or extend this project with `fabric generate`"
        yield Problem("init/exists", message, hint, Place(str(folder / CONFIG_FILE)))
    yield from _find_parent_problems(folder)


def _find_parent_problems(folder: Path) -> Iterator[Problem]:
    """Check that the nearest existing parent is a directory."""
    there = next(one for one in (folder, *folder.parents) if os.path.lexists(one))
    if there.is_dir():
        return
    what = "is a broken link" if there.is_symlink() and not there.exists() else "is not a directory"
    hint = "use another directory with --dir" if there == folder else f"move or delete `{there}`"
    yield Problem("disk/no-folder", f"`{there}` {what}", hint, Place(str(there)))


def _find_conflicting_files(folder: Path, files: Sequence[NewFile]) -> Iterator[Problem]:
    """Find existing files with other content, and files where a directory is needed."""
    for one in files:
        path = folder / one.path
        if os.path.lexists(path) and not one.may_be_kept and not _is_same(path, one):
            message = f"`{one.path}` already exists; nothing was changed"
            hint = "move or delete it, or use another directory with --dir"
            yield Problem("init/exists", message, hint, Place(str(path)))
    parents = dict.fromkeys((folder / one.path).parent for one in files)
    yield from dict.fromkeys(
        problem for parent in parents for problem in _find_parent_problems(parent)
    )


def _is_same(path: Path, wanted: NewFile) -> bool:
    try:
        return read_bytes(path) == wanted.text.encode()
    except OSError:
        return False


class _NewProject(Struct, frozen=True):
    """The requested project and the files written for it."""

    asked: InitRequest
    choices: ProjectChoices
    folder: Path
    written: Sequence[NewFile]
    kept: Sequence[NewFile]

    @property
    def is_node(self) -> bool:
        return self.choices.language.runtime == "nodejs"

    @property
    def installs(self) -> bool:
        return self.is_node and not self.asked.skip_install


def _install(made: _NewProject, settings: Settings, helped: InitHelp) -> tuple[Problem, ...]:
    if not made.installs:
        return ()
    from fabric.app.npm_install import run_npm_install

    problem = run_npm_install(made.folder, settings.env, helped.tell)
    return (problem,) if problem else ()


def _report(made: _NewProject, problems: tuple[Problem, ...]) -> Report:
    choices = made.choices
    is_installed = made.installs and not problems
    outcome = InitOutcome(
        service=choices.service,
        folder=str(made.folder),
        template=choices.template,
        provider=choices.provider,
        lang=choices.lang,
        files=tuple(one.path for one in made.written),
        kept=tuple(one.path for one in made.kept),
        installed=is_installed,
        next=tuple(_list_next_steps(made, is_installed=is_installed)),
        title=_format_title(choices),
        advice=_LOCAL_STATE if back_end_facts(choices.backend).is_own_folder else "",
    )
    return Report(
        "init",
        outcome,
        problems=problems,
        warnings=(
            *_warn_of_derived_names(made),
            *_list_warnings(choices),
            *_warn_of_kept_files(made),
        ),
        exit_code=ExitCode.PARTIAL if problems else ExitCode.OK,
    )


def _format_title(choices: ProjectChoices) -> str:
    template = find_template(choices.template)
    language, place = choices.language.facts.title, choices.facts.title
    return f"a function that {template.title}, in {language}, for {place} ({choices.provider})"


def _list_next_steps(made: _NewProject, *, is_installed: bool) -> Iterator[str]:
    if Path(made.asked.folder) != Path():
        yield f"cd {shlex.quote(made.asked.folder)}"
    if any(one.path == _MANIFEST for one in made.kept):
        pass  # it has commands of its own
    elif made.choices.language is Language.PYTHON:
        yield from ("pip install -r requirements-dev.txt", "python3 -m pytest")
    elif not made.is_node:
        yield from made.choices.language.facts.checks
    else:
        yield from ("npm test",) if is_installed else ("npm install", "npm test")
    yield from ("fabric plan", "fabric deploy")


def _warn_of_kept_files(made: _NewProject) -> Iterator[Problem]:
    """Warn of lines that existing files lack compared with the generated ones."""
    for one in made.kept:
        wanted = _WANTED.get(one.path, ())
        text = read_bytes(made.folder / one.path).decode(errors="replace")
        missing = [word for word in wanted if word not in text]
        if missing:
            message = (
                f"keeping the existing `{one.path}`, which does not contain {', '.join(missing)}"
            )
            yield Problem("init/kept-file", message, "add the missing entries by hand")


def _warn_of_derived_names(made: _NewProject) -> Iterator[Problem]:
    name, folder = made.choices.service, made.folder.name
    if name != folder and name == derive_service_name(folder):
        message = f"the service is named `{name}`, after the directory `{folder}`"
        hint = "edit `service` in fabric.yml to use another name"
        yield Problem("init/derived-name", message, hint)


def _list_warnings(choices: ProjectChoices) -> Iterator[Problem]:
    if choices.with_workflow and back_end_facts(choices.backend).is_own_folder:
        message = f"the state backend `{choices.backend}` loses its state after each workflow run"
        hint = "use a shared backend, such as --state-backend objstore1"
        yield Problem("init/local-state", message, hint)
