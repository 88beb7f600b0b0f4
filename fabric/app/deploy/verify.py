"""`verify`: build the commit of a deployment in a clean checkout, and compare it with the code that
the provider runs."""

import functools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.build import build
from fabric.app.project.opened import Project
from fabric.app.project.recorded import open_recorded
from fabric.app.records.live_records import LiveRecords, find_records
from fabric.app.records.scope import DeployScope, ScopeOptions, open_deploy_scope
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.engine.bus import MakeListeners
from fabric.model.names import Verb
from fabric.model.outcomes.built import BuildOutcome
from fabric.model.outcomes.deployed import VerifiedFunction, VerifyOutcome
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.records.record import FunctionRecord, Mode, Record
from fabric.model.report import Report
from fabric.providers.core.contract import CodeHasher
from fabric.runtimes.nodejs.toolchain import LOCK_FILES
from fabric.state.records.archives import ArchiveMissingError, find_archive
from fabric.system.files.owned_folder import create_temporary_folder
from fabric.system.git.git import clone_commit, find_commit

MATCH, DIFFERS, UNKNOWN = "match", "differs", "unknown"
# Not in commits: installed packages, and variables of bindings.
_COPIED = ("node_modules", ".env")
# The files that decide what is installed.
_LOCKS = ("package.json", *(one for one in LOCK_FILES if "/" not in one))
_NO_HASH = "the provider reports no hash of the code"
_NO_FUNCTION = "the commit does not contain the function"
_NO_IMAGE = "the commit does not contain its image"
_OTHER_ARCHIVE = "the commit builds another archive"
_REASONS_OF_COMMITS = (_NO_FUNCTION, _OTHER_ARCHIVE)

# Hashes of built archives, by service and function.
Built = Mapping[tuple[str, str], str]


class _Build(Struct, frozen=True):
    """The build of a commit, or why it failed."""

    commit: str
    archives: Built = {}
    failure: str = ""


class _Actual(Struct, frozen=True):
    """The hash of the code at the provider, or why it is not known."""

    sha256: str = ""
    reason: str = ""


def verify(
    request: Request, settings: Settings, commit: str, make_listeners: MakeListeners
) -> Report:
    project = open_recorded(request.where, settings)
    found = find_records(project, request.where.provider, settings).all_readable()
    commits = {commit} if commit else {one.origin.commit for one in found.records.values()}
    if not found.records:
        outcome = VerifyOutcome(project.stage, commit, ())
        text = f"Nothing is deployed in stage {project.stage}."
        return Report(request.command, outcome, text=text, exit_code=ExitCode.PARTIAL)

    @functools.cache
    def build_once(one: str) -> _Build:
        try:
            return _build_commit(project, request, settings, one, make_listeners)
        except FabricError as error:
            if commit:
                raise
            return _Build(one, failure=_format_failure(error.first))

    rows = tuple(_verify_records(project, found, settings, commit, build_once))
    outcome = VerifyOutcome(project.stage, ", ".join(sorted(commits - {""})), rows)
    return Report(
        request.command, outcome, warnings=project.warnings, exit_code=_choose_exit_code(rows)
    )


def _format_failure(problem: Problem) -> str:
    return f"{problem.message} ({problem.hint})" if problem.hint else problem.message


def _choose_exit_code(rows: tuple[VerifiedFunction, ...]) -> ExitCode:
    verdicts = {one.verdict for one in rows}
    if DIFFERS in verdicts:
        return ExitCode.FAILED
    return ExitCode.PARTIAL if UNKNOWN in verdicts else ExitCode.OK


def _build_commit(
    project: Project,
    request: Request,
    settings: Settings,
    commit: str,
    make_listeners: MakeListeners,
) -> _Build:
    """Build the archives of a commit in a temporary checkout, without any cache. A commit that does
    not build is a result, because other deployments have other commits."""
    with create_temporary_folder("verify") as folder:
        here = settings.cwd.resolve()
        checkout = folder / "checkout"
        there = clone_commit(here, checkout, commit, settings.env)
        _copy_installed(project, here, there, checkout)
        where = replace(request.where, home="")
        one = replace(request, verb=Verb.PACKAGE, command="package", where=where)
        env = {name: text for name, text in settings.env.items() if name != "FABRIC_CACHE_DIR"}
        try:
            report = build(one, replace(settings, cwd=there, env=env), make_listeners)
        except FabricError as error:
            return _Build(commit, failure=_format_failure(error.first))
        if report.problems:
            return _Build(commit, failure=_format_failure(report.problems[0]))
        outcome = report.outcome
        rows = outcome.artifacts if isinstance(outcome, BuildOutcome) else ()
        return _Build(commit, {(row.service, row.function): row.sha256 for row in rows})


def _copy_installed(project: Project, here: Path, there: Path, checkout: Path) -> None:
    """Copy what a commit does not contain, for each service and the directories above it. Packages
    are copied only if the locks of the directory, and of those above it, are the same."""
    top = project.workspace.resolve()
    ends = {_move(top / one, here, there) for one in ("", *(unit.root for unit in project.units))}
    targets = {one for end in ends for one in (end, *end.parents) if one.is_relative_to(checkout)}
    changed = {one for one in targets if not _has_same_locks(_move(one, there, here), one)}
    for target in sorted(one for one in targets if one.is_dir()):
        for name in _COPIED:
            source = _move(target, there, here) / name
            is_same = name == ".env" or changed.isdisjoint((target, *target.parents))
            if source.exists() and not (target / name).exists() and is_same:
                _copy(source, target / name)


def _move(path: Path, old: Path, new: Path) -> Path:
    """Return the path at the same place relative to another directory."""
    return Path(os.path.normpath(new / os.path.relpath(path, old)))


def _copy(source: Path, target: Path) -> None:
    """Copy a directory: build steps can change its files, and a link would be visible in paths of
    bundles. Variables are only linked."""
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        target.symlink_to(source)


def _has_same_locks(one: Path, other: Path) -> bool:
    return all(_read(one / name) == _read(other / name) for name in _LOCKS)


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _verify_records(
    project: Project,
    found: LiveRecords,
    settings: Settings,
    commit: str,
    build_once: Callable[[str], _Build],
) -> Iterator[VerifiedFunction]:
    head = "" if commit else find_commit(settings.cwd, settings.env)
    with open_deploy_scope(
        found.placements, settings, ScopeOptions(lambda: project.units)
    ) as scope:
        for _, record in sorted(found.records.items()):
            named = commit or record.origin.commit
            for one in record.functions:
                actual = _find_actual(scope, record, one)
                row = _compare(record, one, actual, build_once(named) if named else None)
                # A deploy without changes keeps the record, also if it has another commit.
                is_later = row.reason in _REASONS_OF_COMMITS and head not in ("", named)
                again = _compare(record, one, actual, build_once(head)) if is_later else row
                yield again if again.verdict == MATCH else row


def _find_actual(scope: DeployScope, record: Record, one: FunctionRecord) -> _Actual:
    """Find the hash of the code that runs. Metadata that fabric wrote proves nothing."""
    if record.mode is Mode.SIMULATED:
        return _read_simulated(scope, record, one)
    deployer = scope.tools.deployers.deployer(record.ref, record.mode)
    if not isinstance(deployer, CodeHasher):
        return _Actual(reason=_NO_HASH)
    address = replace(scope.tools.deployers.full_address(record.ref), previous=record)
    found = deployer.fetch_code_hash(address, one.name)
    return _Actual(found, "" if found else "the function does not exist at the provider")


def _read_simulated(scope: DeployScope, record: Record, one: FunctionRecord) -> _Actual:
    """A simulated deployment runs the stored archive, whose content is hashed."""
    try:
        find_archive(scope.transaction.record_store(record.ref), record.ref, one.artifact_sha256)
    except ArchiveMissingError:
        return _Actual(reason="the stored archive is missing or was changed")
    return _Actual(one.artifact_sha256)


def _compare(
    record: Record, one: FunctionRecord, actual: _Actual, built: _Build | None
) -> VerifiedFunction:
    expected = built.archives.get((record.ref.service, one.name), "") if built else ""
    verdict, reason = _judge(one, actual, expected, built)
    return VerifiedFunction(
        service=record.ref.service,
        function=one.name,
        provider=record.ref.provider,
        verdict=verdict,
        expected=expected,
        actual=actual.sha256,
        reason=reason,
    )


def _judge(
    one: FunctionRecord, actual: _Actual, expected: str, built: _Build | None
) -> tuple[str, str]:
    """Return the verdict and its reason."""
    if not actual.sha256:
        return (UNKNOWN if actual.reason == _NO_HASH else DIFFERS), actual.reason
    if one.artifact_sha256 and actual.sha256 != one.artifact_sha256:
        return DIFFERS, "the code was changed outside of fabric"
    if built is None:
        return UNKNOWN, "the deployment names no commit: use --commit"
    if built.failure:
        return UNKNOWN, f"the commit {built.commit[:12]} cannot be built: {built.failure}"
    if expected:
        return (MATCH, "") if expected == actual.sha256 else (DIFFERS, _OTHER_ARCHIVE)
    is_existing_image = one.image and not one.handler
    return (UNKNOWN, _NO_IMAGE) if is_existing_image else (DIFFERS, _NO_FUNCTION)
