"""`generate ci`: build a workflow for a project from its config and files."""

import json
from collections.abc import Iterator
from pathlib import Path

from fabric.app.generate import GenerateOptions, OpenConfig
from fabric.app.settings import Settings
from fabric.model.catalog import find_provider_facts
from fabric.model.outcomes.generated import GeneratedFile, GenerateOutcome
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.report import Report
from fabric.runtimes.entry import NODE_EXTENSIONS
from fabric.scaffold.file_diff import format_file_diff
from fabric.scaffold.languages import PYTHON_CHECKS, Language
from fabric.scaffold.workflow import WORKFLOW_FILE, CiProject, format_workflow
from fabric.system.files.disk import read_bytes
from fabric.system.files.file_changes import FileChange, change_files
from fabric.system.files.new_files import write_new_files

_NEXT = "set the variables and secrets of the workflow, then push it"


def generate_ci(opened: OpenConfig, options: GenerateOptions, settings: Settings) -> Report:
    root = _find_repository(opened.path.parent)
    path = root / WORKFLOW_FILE
    content = format_workflow(_describe_ci_project(opened, root, options)).encode()
    old = _read_old_workflow(path, content, force=options.force)
    if not options.dry_run and old is None:
        write_new_files(root, [(WORKFLOW_FILE, content)])
    elif not options.dry_run and old != content:
        change_files([FileChange(path, old, content)], root)
    name = _format_path(path, settings)
    before = None if old is None else old.decode("utf-8", "replace")
    outcome = GenerateOutcome(
        kind="ci",
        name="github-actions",
        config=opened.source.file,
        dry_run=options.dry_run,
        files=(GeneratedFile(name, "create" if old is None else "replace"),),
        diff=format_file_diff(name, before, content.decode()),
        next_step=_NEXT,
    )
    return Report("generate ci", outcome)


def _describe_ci_project(opened: OpenConfig, root: Path, options: GenerateOptions) -> CiProject:
    found, folder = opened.overview, opened.path.parent
    if found.problems:
        raise FabricError(*found.problems)
    if find_provider_facts(found.provider) is None or not found.backend:
        what = "provider" if find_provider_facts(found.provider) is None else "backend"
        message = f"the {what} in `{found.file}` is unknown: its environment variable is not set"
        problem = Problem(
            "config/unset-variable", message, "set that variable, then run: fabric generate ci"
        )
        raise FabricError(problem)
    place = folder.resolve().relative_to(root.resolve()).as_posix()
    return CiProject(
        provider=found.provider,
        backend=found.backend,
        folder="" if place == "." else place,
        has_node=_has_node(opened),
        checks=tuple(_list_test_commands(folder)),
        previews=options.previews,
    )


def _has_node(opened: OpenConfig) -> bool:
    entries = [one.entry for one in opened.overview.sections["functions"]]
    return opened.overview.runtime.startswith("nodejs") or any(
        one.endswith(NODE_EXTENSIONS) for one in entries
    )


def _list_test_commands(folder: Path) -> Iterator[str]:
    """List the test commands of the project."""
    manifest = folder / "package.json"
    if manifest.is_file():
        yield "npm ci" if (folder / "package-lock.json").is_file() else "npm install"
        if _has_test(manifest):
            yield "npm test"
    if (folder / "requirements-dev.txt").is_file():
        yield from PYTHON_CHECKS
    for language in Language:
        if language.is_program and (folder / language.facts.manifest).is_file():
            yield from language.facts.checks


def _has_test(manifest: Path) -> bool:
    try:
        found = json.loads(read_bytes(manifest))
    except (OSError, ValueError):
        return False
    scripts = found.get("scripts") if isinstance(found, dict) else None
    return isinstance(scripts, dict) and "test" in scripts


def _find_repository(folder: Path) -> Path:
    """Find the repository root, the only place where workflows are read."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def _read_old_workflow(path: Path, content: bytes, *, force: bool) -> bytes | None:
    if not path.is_symlink() and not path.exists():
        return None
    if path.is_symlink() or not path.is_file():
        message = f"`{WORKFLOW_FILE}` is not a regular file"
        raise FabricError(Problem("disk/workflow-exists", message, where=Place(str(path))))
    old = read_bytes(path)
    if old != content and not force:
        message = f"the workflow `{WORKFLOW_FILE}` already exists"
        hint = "use --force to replace it, or --dry-run --force to compare"
        raise FabricError(Problem("disk/workflow-exists", message, hint, Place(str(path))))
    return old


def _format_path(path: Path, settings: Settings) -> str:
    cwd = settings.cwd.resolve()
    return path.relative_to(cwd).as_posix() if path.is_relative_to(cwd) else str(path)
