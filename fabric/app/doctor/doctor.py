"""`doctor`: run every environment check as a task, all in parallel."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.cache_place import cache_folder
from fabric.app.doctor.before_deploy import deploy_checks, plan_files
from fabric.app.doctor.machine import cache_checks, disk_checks, installation_check, runtime_checks
from fabric.app.doctor.surroundings import (
    ServiceUnderTest,
    account_checks,
    credential_checks,
    deployer_checks,
    package_checks,
    state_checks,
)
from fabric.app.project.compile_files import compile_project
from fabric.app.project.opened import Project
from fabric.app.project.place_services import placement_of
from fabric.app.project.project import open_project
from fabric.app.project.workspace import workspace_of
from fabric.app.request import Request
from fabric.app.run_graph import GraphJob, run_graph
from fabric.app.run_problems import problems_of
from fabric.app.session import Session, SessionOptions
from fabric.app.settings import Settings
from fabric.app.shared_cache import URL_VARIABLE
from fabric.engine.result import RunResult
from fabric.engine.run_info import MakeListeners
from fabric.graph.probes import probe_graph
from fabric.graph.taskgraph import TaskGraph
from fabric.model.checks import Check, failed, passed
from fabric.model.outcomes.looked_up import CheckRow, DoctorOutcome
from fabric.model.problems import ExitCode, FabricError, Problem, exit_code_of
from fabric.model.project_info import ProjectInfo
from fabric.model.records.record import RecordRef
from fabric.model.report import Report
from fabric.model.task_inputs import ProbeInputs
from fabric.system.clock import file_time_ns
from fabric.tasks.probe import Look, ProbeKind, checks_in

_ACCOUNT = "account"
_SHARED = "shared-cache"


class _Patient(Struct, frozen=True):
    """The checked project. Without a loadable config, only independent checks run."""

    ref: RecordRef
    workspace: Path
    looks: Mapping[str, Look]


def doctor(
    request: Request,
    settings: Settings,
    make_listeners: MakeListeners,
    *,
    offline: bool = False,
) -> Report:
    """Run all checks. `offline` skips provider calls."""
    stage = settings.stage(request.where.stage)
    patient = _patient(request, settings, stage)
    if offline:
        asking = (_ACCOUNT, _SHARED)
        looks = {name: look for name, look in patient.looks.items() if name not in asking}
        patient = replace(patient, looks=looks)
    graph = probe_graph(patient.ref, patient.looks)
    result = _ran(request, settings, (patient, graph), make_listeners)
    checks = _checks(graph, result, list(patient.looks))
    outcome = DoctorOutcome(patient.ref.service, stage, tuple(map(_row, checks)))
    problems = (*(one.problem for one in checks if one.is_error), *problems_of(result))
    code = result.exit_code if result.interrupted else _worst(problems)
    return Report(request.command, outcome, problems=problems, exit_code=code)


def _worst(problems: tuple[Problem, ...]) -> ExitCode:
    return max(map(exit_code_of, problems), default=ExitCode.OK)


def _patient(request: Request, settings: Settings, stage: str) -> _Patient:
    try:
        project = open_project(request.where, settings)
    except FabricError as error:
        problems = error.problems
        workspace = workspace_of(settings.cwd)
        looks: dict[str, Look] = {
            "config": lambda: [failed("config", problem) for problem in problems]
        }
        return _Patient(RecordRef("", stage, ""), workspace, looks | _machine(workspace, settings))
    return _with_config(project, request, settings)


def _with_config(project: Project, request: Request, settings: Settings) -> _Patient:
    unit = project.units[0]
    placement = placement_of(unit, project.workspace)
    where = ServiceUnderTest(unit, placement, settings)
    looks: dict[str, Look] = {
        "config": lambda: _config(project, request, settings),
        "credentials": lambda: credential_checks(where),
        "packages": lambda: package_checks(where),
        "deployer": lambda: deployer_checks(where),
        _ACCOUNT: lambda: account_checks(where),
        "state": lambda: state_checks(where),
        "deploy": lambda: deploy_checks(project, request, settings),
        "runtimes": lambda: runtime_checks(unit, placement.env_place, settings),
    }
    machine = _machine(project.workspace, settings)
    return _Patient(placement.ref, project.workspace, looks | machine)


def _machine(workspace: Path, settings: Settings) -> dict[str, Look]:
    folder = cache_folder(workspace, settings)
    return {
        "installation": lambda: (installation_check(),),
        "cache": lambda: cache_checks(folder, settings),
        "disk": lambda: disk_checks(folder),
        _SHARED: lambda: shared_checks(settings),
    }


def shared_checks(settings: Settings) -> Iterable[Check]:
    if not settings.env.get(URL_VARIABLE):
        return ()
    from fabric.app import shared_status  # httpx and all: only where one is asked for

    return tuple(shared_status.shared_checks(settings))


def _config(project: Project, request: Request, settings: Settings) -> list[Check]:
    """Check that the project can be planned, including its entry files."""
    try:
        compile_project(project, request)
        plan_files(project, request, settings)
    except FabricError as error:
        return [failed("config", problem) for problem in error.problems]
    return [passed("config", f"`{project.units[0].config.file}` is valid")]


def _ran(
    request: Request,
    settings: Settings,
    work: tuple[_Patient, TaskGraph],
    make_listeners: MakeListeners,
) -> RunResult:
    """Run the checks with the engine, without cached results or outputs."""
    patient, graph = work
    kinds = {"probe": ProbeKind(patient.looks)}
    opening = SessionOptions(file_time_ns(settings.cwd), use_cache=False, create=False, kinds=kinds)
    info = ProjectInfo(str(patient.workspace), patient.ref.stage)
    with Session(patient.workspace, settings, opening) as session:
        return run_graph(request, session, GraphJob(info, graph), make_listeners)


def _checks(graph: TaskGraph, result: RunResult, order: list[str]) -> tuple[Check, ...]:
    """Collect the results of all probes, in reading order."""
    found: dict[str, tuple[Check, ...]] = {}
    for task, outcome in zip(graph.tasks, result.outcomes, strict=True):
        if isinstance(task.inputs, ProbeInputs) and outcome.output is not None:
            found[task.inputs.check] = checks_in(outcome.output)
    return tuple(check for name in order for check in found.get(name, ()))


def _row(check: Check) -> CheckRow:
    return CheckRow(check.name, check.ok, check.severity, check.message, check.fix)
