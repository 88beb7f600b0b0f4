"""`doctor`: run every environment check as a task, all in parallel."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.caching.cache_place import cache_folder, inspect_cache
from fabric.app.caching.shared_cache import URL_VARIABLE
from fabric.app.checks.table import Candidate, Use, list_checks
from fabric.app.command import start_command
from fabric.app.doctor.surroundings import (
    ServiceUnderTest,
    check_accounts,
    check_credentials,
    check_deployers,
    check_state,
    package_checks,
)
from fabric.app.doctor.tool_checks import check_tools
from fabric.app.project.compile_files import compile_project
from fabric.app.project.files import find_workspace
from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.app.project.project import open_project
from fabric.app.records.scope import ScopeOptions, open_deploy_scope
from fabric.app.request import Request
from fabric.app.running.run_graph import GraphJob, list_entry_files, plan_graph, run_graph
from fabric.app.running.run_problems import list_run_problems
from fabric.app.session import SessionOptions, open_session
from fabric.app.settings import Settings
from fabric.config.values import Function
from fabric.engine.bus import MakeListeners
from fabric.engine.result import RunResult
from fabric.graph.probes import probe_graph
from fabric.graph.taskgraph import TaskGraph
from fabric.manifest import VERSION
from fabric.model.checks import Check, make_failed_check, make_passed_check, make_warning_check
from fabric.model.distribution import DISTRIBUTION
from fabric.model.names import Verb
from fabric.model.outcomes.queried import CheckRow, DoctorOutcome
from fabric.model.problems import ExitCode, FabricError, Problem, exit_code_of
from fabric.model.project_info import ProjectInfo
from fabric.model.records.record import RecordRef
from fabric.model.report import Report
from fabric.model.task_inputs import ProbeInputs
from fabric.state.backends.failures import NoAccessError
from fabric.system.files.file_systems import free_bytes, is_network, is_private, is_writable
from fabric.system.mixed_installation import find_mixed_installation
from fabric.tasks.probe import Look, ProbeKind, read_probe_checks
from fabric.views.messages import format_size

_ACCOUNT = "account"
_SHARED = "shared-cache"
_NAME = "deploy"
_REPORTED = ("config/", "backend/", "credentials/", "state/", "build/")


class _Patient(Struct, frozen=True):
    """The checked project. Without a loadable config, only independent checks run."""

    ref: RecordRef
    workspace: Path
    looks: Mapping[str, Look]


def run_doctor(
    request: Request,
    settings: Settings,
    make_listeners: MakeListeners,
    *,
    offline: bool = False,
) -> Report:
    """Run all checks. `offline` skips provider calls."""
    stage = settings.stage(request.where.stage)
    patient = _build_patient(request, settings, stage)
    if offline:
        asking = (_ACCOUNT, _SHARED)
        looks = {name: look for name, look in patient.looks.items() if name not in asking}
        patient = replace(patient, looks=looks)
    graph = probe_graph(patient.ref, patient.looks)
    result = _run_probes(request, settings, patient, graph, make_listeners)
    checks = _collect_checks(graph, result, list(patient.looks))
    outcome = DoctorOutcome(patient.ref.service, stage, tuple(map(_build_check_row, checks)))
    problems = (*(one.problem for one in checks if one.is_error), *list_run_problems(result))
    code = result.exit_code if result.interrupted else _choose_exit_code(problems)
    return Report(request.command, outcome, problems=problems, exit_code=code)


def _choose_exit_code(problems: tuple[Problem, ...]) -> ExitCode:
    return max(map(exit_code_of, problems), default=ExitCode.OK)


def _build_patient(request: Request, settings: Settings, stage: str) -> _Patient:
    try:
        project = open_project(request.where, settings)
    except FabricError as error:
        problems = error.problems
        workspace = find_workspace(settings.cwd)
        looks: dict[str, Look] = {
            "config": lambda: [make_failed_check("config", problem) for problem in problems]
        }
        return _Patient(
            RecordRef("", stage, ""), workspace, looks | _inspect_machine(workspace, settings)
        )
    return _with_config(project, request, settings)


def _with_config(project: Project, request: Request, settings: Settings) -> _Patient:
    unit = project.units[0]
    placement = build_placement(unit, project.workspace)
    where = ServiceUnderTest(unit, placement, settings)
    looks: dict[str, Look] = {
        "config": lambda: _check_project_config(project, request, settings),
        "credentials": lambda: check_credentials(where),
        "packages": lambda: package_checks(where),
        "deployer": lambda: check_deployers(where),
        _ACCOUNT: lambda: check_accounts(where),
        "state": lambda: check_state(where),
        "deploy": lambda: _deploy_checks(project, request, settings),
        "runtimes": lambda: check_tools(unit, project.workspace, settings),
    }
    machine = _inspect_machine(project.workspace, settings)
    return _Patient(placement.ref, project.workspace, looks | machine)


def _inspect_machine(workspace: Path, settings: Settings) -> dict[str, Look]:
    folder = cache_folder(workspace, settings)
    return {
        "installation": lambda: (_check_installation(),),
        "cache": lambda: _cache_checks(folder, settings),
        "disk": lambda: _check_disk(folder),
        _SHARED: lambda: list_shared_cache_checks(settings),
    }


def list_shared_cache_checks(settings: Settings) -> Iterable[Check]:
    if not settings.env.get(URL_VARIABLE):
        return ()
    from fabric.app.caching import shared_status  # httpx and all: only where one is asked for

    return tuple(shared_status.check_shared_cache(settings))


def _check_project_config(project: Project, request: Request, settings: Settings) -> list[Check]:
    """Check that the project can be planned, including its entry files."""
    try:
        compile_project(project, request)
        _plan_files(project, request, settings)
    except FabricError as error:
        return [make_failed_check("config", problem) for problem in error.problems]
    config = project.units[0].config
    found = [make_passed_check("config", f"`{config.document.file}` is valid")]
    public = [f"`{one.name}`" for one in config.functions if _has_public_url(one)]
    if public:
        names = ", ".join(public)
        found.append(make_passed_check("public-urls", f"function URLs open to everybody: {names}"))
    return found


def _has_public_url(function: Function) -> bool:
    url = dict(function.settings).get("url", "")
    return bool(url) and "AWS_IAM" not in url


def _run_probes(
    request: Request,
    settings: Settings,
    patient: _Patient,
    graph: TaskGraph,
    make_listeners: MakeListeners,
) -> RunResult:
    """Run the checks with the engine, without cached results or outputs."""
    kinds = {"probe": ProbeKind(patient.looks)}
    command = start_command(request, settings)
    info = ProjectInfo(str(patient.workspace), patient.ref.stage)
    options = SessionOptions(kinds=kinds, use_cache=False)
    with open_session(command, patient.workspace, options) as session:
        return run_graph(session, GraphJob(info, graph), make_listeners)


def _collect_checks(graph: TaskGraph, result: RunResult, order: list[str]) -> tuple[Check, ...]:
    """Collect the results of all probes, in reading order."""
    found: dict[str, tuple[Check, ...]] = {}
    for task, outcome in zip(graph.tasks, result.outcomes, strict=True):
        if isinstance(task.inputs, ProbeInputs) and outcome.output is not None:
            found[task.inputs.check] = read_probe_checks(outcome.output)
    return tuple(check for name in order for check in found.get(name, ()))


def _build_check_row(check: Check) -> CheckRow:
    return CheckRow(check.name, check.ok, check.severity, check.message, check.fix)


def _plan_files(project: Project, request: Request, settings: Settings) -> None:
    """Raises for entries that are missing or cannot be built, as a plan does. Nothing is built."""
    request = replace(request, verb=Verb.BUILD)
    work = compile_project(project, request)
    command = start_command(request, settings)
    with open_session(command, Path(work.info.workspace)) as session:
        list_entry_files(session, plan_graph(session, work.graph))


def _deploy_checks(project: Project, request: Request, settings: Settings) -> Iterator[Check]:
    try:
        found = tuple(_run_checks(project, request, settings))
    except FabricError as error:
        # The checks of the config and of the backend report these.
        if not isinstance(error, NoAccessError) and not error.first.code.startswith(_REPORTED):
            yield from (make_failed_check(_NAME, problem) for problem in error.problems)
        return
    yield from found
    if not found:
        yield make_passed_check(_NAME, "all other checks before a deploy passed")


def _run_checks(project: Project, request: Request, settings: Settings) -> Iterator[Check]:
    work = compile_project(project, request)
    options = ScopeOptions(lambda: project.units, dependencies=work.dependencies)
    with open_deploy_scope(work.placements, settings, options) as scope:
        one = Candidate(scope=scope, work=work)
        for check in list_checks(Use.DOCTOR):
            yield from (make_failed_check(check.name, problem) for problem in check.find(one))


_LOW = 1 << 30
_TOO_LOW = 50 << 20


def _check_installation() -> Check:
    problem = find_mixed_installation()
    if problem is None:
        return make_passed_check("installation", f"{DISTRIBUTION} {VERSION}")
    return make_warning_check("installation", problem)


def _cache_checks(folder: Path, settings: Settings) -> Iterator[Check]:
    strange = inspect_cache(folder, settings).problem if folder.exists() else None
    if strange:
        yield make_failed_check("cache", strange)
    elif not is_writable(folder):
        yield make_failed_check("cache", _not_writable_problem(folder))
    elif not is_private(folder):
        yield make_warning_check("cache", _not_private_problem(folder))
    else:
        yield make_passed_check("cache", f"`{folder}` is writable by its owner only")
    if is_network(folder):
        yield make_warning_check("cache-place", _network_folder_problem(folder))
    else:
        yield make_passed_check("cache-place", "the cache is on a local file system")


def _not_writable_problem(folder: Path) -> Problem:
    return Problem(
        "cache/not-writable",
        f"cannot write `{folder}`",
        hint="check its owner and mode, or set FABRIC_CACHE_DIR to another directory",
    )


def _not_private_problem(folder: Path) -> Problem:
    return Problem(
        "cache/not-private", f"other users can read `{folder}`", hint=f"run: chmod 700 {folder}"
    )


def _network_folder_problem(folder: Path) -> Problem:
    return Problem(
        "cache/network",
        f"the cache `{folder}` is on a network file system, which is slow",
        hint="set FABRIC_CACHE_DIR to a local directory",
    )


def _check_disk(folder: Path) -> Iterator[Check]:
    free = free_bytes(folder)
    if free >= _LOW:
        yield make_passed_check("disk", f"{format_size(free)} free")
        return
    problem = Problem(
        "doctor/disk-space",
        f"only {format_size(free)} free on the disk of `{folder}`",
        hint="free disk space, or run: fabric cache prune --max-size 100M",
    )
    yield (
        make_failed_check("disk", problem)
        if free < _TOO_LOW
        else make_warning_check("disk", problem)
    )
