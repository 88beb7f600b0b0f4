"""`invoke run`: call a deployed function at the address in its receipt."""

import contextlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.image_kinds import existing_image_problem
from fabric.app.invoking.deployed_function import (
    Called,
    list_deployed_entries,
    select_called_function,
    select_project_entries,
)
from fabric.app.invoking.layer_folders import LayerArchive, unpack_layers
from fabric.app.observing.noted_calls import CallNotes
from fabric.app.project.files import find_config_in
from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.app.project.project import open_project
from fabric.app.project.stored_source import use_kept_config
from fabric.app.records.backends import BackEnds
from fabric.app.records.scope import ScopeOptions, open_deploy_scope
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.graph.service_unit import ServiceUnit
from fabric.model.outcomes.json_struct import Json
from fabric.model.outcomes.queried import InvokeOutcome
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.model.report import Report, encode_problem
from fabric.providers.core.contract import FunctionCaller, LiveFunction
from fabric.state.call_log import call_log_path
from fabric.state.records.archives import build_archive_path, find_archive
from fabric.state.store import RecordStore
from fabric.tasks.deploy_tools import Values

_SECONDS = 900.0
_SHOWN = 4_000
_PARAMETER = re.compile(r"\{([A-Za-z0-9_.-]+\+?)\}")


class Answer(Struct, frozen=True):
    """The response of a function and its logs."""

    response: Json
    ms: int
    logs: str = ""


def invoke_run(request: Request, settings: Settings, payload: bytes) -> Report:
    event = _parse_event(payload)
    stage = settings.stage(request.where.stage)
    where = use_kept_config(request.where, settings)
    home = Path(where.home or find_config_in(settings.cwd / where.config).parent / ".fabric")
    project = _open_project(request, settings)
    entries = list_deployed_entries(home, stage, project, settings)
    called = select_called_function(
        select_project_entries(entries, project, request.where.provider), request, stage
    )
    if called.entry.mode is Mode.SIMULATED:
        _refuse_existing_image(called, project)
        return _invoke_locally(request, called, event, _Place(home, project, settings))
    answered = _invoke_by_provider(request, called, event, project, settings)
    return answered or _invoke_over_http(request, called, event)


class _Place(Struct, frozen=True):
    """Where a simulated deployment is: its `.fabric`, and its project if there still is one."""

    home: Path
    project: Project | None
    settings: Settings


def _refuse_existing_image(called: Called, project: Project | None) -> None:
    unit = _find_unit(called, project)
    for one in unit.config.functions if unit else ():
        if one.name == called.name and one.build.package.existing:
            raise FabricError(existing_image_problem(called.name))


def _parse_event(payload: bytes) -> str:
    try:
        text = payload.decode().strip()
        json.loads(text or "{}")
    except ValueError as error:
        hint = """write one JSON document, such as '{"id": 1}'"""
        raise FabricError(
            Problem("input/bad-payload", "the payload is not valid JSON", hint)
        ) from error
    return text or "{}"


def _open_project(request: Request, settings: Settings) -> Project | None:
    """Open the project for its variables. A deployed function can be invoked without a config."""
    where = use_kept_config(request.where, settings)
    if not find_config_in(settings.cwd / where.config).is_file():
        return None
    return open_project(where, settings)


def _invoke_locally(request: Request, called: Called, event: str, place: _Place) -> Report:
    """Run a simulated deployment on this machine, from the deployed archive."""
    from fabric.app.invoking.function_clients import find_calling_provider
    from fabric.app.invoking.installed_packages import find_installed_packages
    from fabric.providers.core.redaction import build_redaction
    from fabric.runtimes.calls.function import InstalledPackages
    from fabric.runtimes.invoke import Invocation, invoke

    home, project, settings = place.home, place.project, place.settings
    unit = _find_unit(called, project)
    values = _read_values(called, project, settings)
    caller = find_calling_provider(called.entry, called.function, unit.config if unit else None)
    installed = (
        find_installed_packages(project.workspace, unit, called.function.runtime)
        if project and unit
        else InstalledPackages()
    )
    call = Invocation(
        function=called.name,
        archive=_read_archive(called, called.entry.artifacts.get(called.name, ""), place),
        handler=called.function.handler,
        runtime=called.function.runtime,
        event=event,
        env=values.env,
        timeout=float(called.function.timeout or caller.facts.timeout),
        installed=replace(installed, opt=_unpack_layers(called, place)),
        caller=caller,
    )
    secrets = unit.config.document.secret_values.reveal() if unit else frozenset()
    hide = build_redaction(secrets | values.read_secrets.reveal(), values.env.reveal()).over
    path = call_log_path(home, settings.stage(request.where.stage), called.entry.service)
    with contextlib.closing(CallNotes(path, called.entry.provider, settings)) as notes:
        try:
            answer = invoke(call, settings.env)
        except FabricError as error:
            told = FabricError(*(_redact_problem(one, hide) for one in error.problems))
            notes.put_down(called.name, told.first.frame, 0, told.first.message)
            raise told from None
        shown = Answer(json.loads(answer.response), answer.ms, hide(answer.logs))
        notes.put_down(called.name, shown.logs, shown.ms)
    warnings = _merge_warnings(called, answer.warnings, settings)
    return _report(request, called, shown, warnings)


def _merge_warnings(
    called: Called, differences: tuple[Problem, ...], settings: Settings
) -> tuple[Problem, ...]:
    """Report another Python version once, with the code that it has for this command."""
    from fabric.runtimes.calls.differences import OTHER_VERSION
    from fabric.runtimes.python.interpreters import find_version_problems

    other = find_version_problems({called.name: called.function.runtime}, settings.env)
    rest = (one for one in differences if not other or one.code != OTHER_VERSION)
    return (*other, *rest)


def _redact_problem(problem: Problem, hide: Callable[[str], str]) -> Problem:
    return replace(problem, message=hide(problem.message), frame=hide(problem.frame))


def _unpack_layers(called: Called, place: _Place) -> tuple[str, ...]:
    """Unpack the layers that the deployment published."""
    digests = called.function.layer_archives
    for sha256 in digests:
        _read_archive(called, sha256, place)
    found = [LayerArchive(called.name, one, build_archive_path(place.home, one)) for one in digests]
    return unpack_layers(found, place.home / "layers" / "opt")


def _read_archive(called: Called, sha256: str, place: _Place) -> bytes:
    home, project, settings = place.home, place.project, place.settings
    if project is None or build_archive_path(home, sha256).is_file():
        return build_archive_path(home, sha256).read_bytes()
    placement = build_placement(project.units[0], project.workspace, project.home)
    back_ends = BackEnds(settings)
    try:
        record_store = RecordStore(home, back_ends.record_store(placement).stores)
        ref = RecordRef(called.entry.service, placement.stage, called.entry.provider)
        return find_archive(record_store, ref, sha256)
    finally:
        back_ends.close()


def _find_unit(called: Called, project: Project | None) -> ServiceUnit | None:
    units = project.units if project else ()
    return next((one for one in units if one.service == called.entry.service), None)


def _read_values(called: Called, project: Project | None, settings: Settings) -> Values:
    """Build the values as a deploy of the current config would, with upstream addresses."""
    unit = _find_unit(called, project)
    if project is None or unit is None:
        return Values()
    placement = build_placement(unit, project.workspace, project.home)
    others = (*project.units, *project.dependencies)
    beside = [build_placement(one, project.workspace) for one in others]
    options = ScopeOptions(lambda: project.units, dependencies=beside)
    with open_deploy_scope((placement,), settings, options) as scope:
        return scope.tools.values.values(placement.ref, called.name)


def _invoke_by_provider(
    request: Request, called: Called, event: str, project: Project | None, settings: Settings
) -> Report | None:
    """Invoke through the provider's API, which returns logs. Returns None without such an API."""
    unit = _find_unit(called, project)
    if project is None or unit is None or called.entry.mode is not Mode.REAL:
        return None
    placement = build_placement(unit, project.workspace, project.home)
    if placement.ref.provider != called.entry.provider:
        return None
    function = LiveFunction(called.name, called.function.resource_name, called.function.resource_id)
    options = ScopeOptions(lambda: project.units)
    with open_deploy_scope((placement,), settings, options) as scope:
        deployers = scope.tools.deployers
        deployer = deployers.deployer(placement.ref, Mode.REAL)
        if not isinstance(deployer, FunctionCaller):
            return None
        # Where it lies is in its record: what surrounds us may mean another place.
        address = replace(deployers.address(placement.ref), previous=scope.record(placement.ref))
        answer = deployer.call(address, function, event.encode())
    report = _report(request, called, Answer(_parse_json(answer.response), answer.ms, answer.logs))
    if not answer.failure:
        return report
    message = f"`{called.name}` failed: {answer.failure}"
    problems = (Problem("invoke/failed", message, frame=answer.logs[-_SHOWN:].strip()),)
    return replace(report, text="", notes="", problems=problems, exit_code=ExitCode.FAILED)


def _parse_json(text: str) -> Json:
    try:
        found: Json = json.loads(text)
    except ValueError:
        return text
    return found


def _invoke_over_http(request: Request, called: Called, event: str) -> Report:
    from fabric.system.http import http_check

    if not called.url:
        message = f"`{called.name}` has no URL to call"
        hint = "add an http trigger: the provider returned no URL for the function"
        raise FabricError(Problem("invoke/no-endpoint", message, hint))
    url = _with_parameters(called, event)
    answer = http_check.call_function(called.method, url, event.encode(), _SECONDS)
    report = _report(request, called, Answer(_parse_json(answer.text), answer.ms))
    if answer.status < 400:  # noqa: PLR2004 - from here on HTTP says that it failed
        return report
    message = f"`{called.name}` at {url} returned {answer.status}"
    problems = (Problem("invoke/failed", message, frame=answer.text[:_SHOWN].strip()),)
    return replace(report, text="", notes="", problems=problems, exit_code=ExitCode.FAILED)


def _with_parameters(called: Called, event: str) -> str:
    """Insert payload values for the path parameters of the address."""
    document: Json = json.loads(event)
    said = document if isinstance(document, dict) else {}
    inner = said.get("pathParameters")
    values = {**said, **(inner if isinstance(inner, dict) else {})}

    def replace_parameter(found: re.Match[str]) -> str:
        name = found[1].rstrip("+")
        if not isinstance(values.get(name), str | int):
            message = f"missing value for the path parameter `{name}` of `{called.name}`"
            hint = f"""add it to the payload: {{"pathParameters": {{"{name}": "…"}}}}"""
            raise FabricError(Problem("invoke/no-parameter", message, hint))
        return quote(str(values[name]), safe="/" if found[1].endswith("+") else "")

    return _PARAMETER.sub(replace_parameter, called.url)


def _report(
    request: Request, called: Called, answer: Answer, warnings: tuple[Problem, ...] = ()
) -> Report:
    outcome = InvokeOutcome(
        called.name,
        called.entry.provider,
        simulated=called.entry.mode is Mode.SIMULATED,
        response=answer.response,
        logs=answer.logs,
        ms=answer.ms,
        warnings=tuple(map(encode_problem, warnings)),
    )
    return Report(request.command, outcome, notes=answer.logs.rstrip("\n"), warnings=warnings)
