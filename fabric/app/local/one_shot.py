"""`invoke local`: build one function, invoke it once, and return its response."""

import contextlib
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.local.artifacts import NO_FUNCTIONS, Artifacts, build_artifacts
from fabric.app.local.http_input import HttpInput
from fabric.app.local.service import LocalService, build_local_service, list_routes
from fabric.app.observing.noted_calls import open_local_calls
from fabric.app.project.compile_files import unknown_function_problem
from fabric.app.project.project import open_project
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.config.values import Config
from fabric.engine.bus import MakeListeners
from fabric.graph.bundling import find_first_function
from fabric.local.routes import Matched, RouteTable
from fabric.model.outcomes.json_struct import Json
from fabric.model.outcomes.queried import InvokeOutcome
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import Report, encode_problem
from fabric.runtimes.calls.call_end import CallEnd, build_call_problem, decode_response
from fabric.runtimes.calls.event_lines import encode_call_event
from fabric.runtimes.invoke import call_once


class OneCall(Struct, frozen=True):
    """The input of the call: an HTTP request or a raw event."""

    function: str
    event: Json = None
    http: HttpInput | None = None


def invoke_local(
    request: Request, settings: Settings, make_listeners: MakeListeners, call: OneCall
) -> Report:
    project = open_project(request.where, settings)
    config = project.units[0].config
    name, event = _select_function(call, config, settings)
    # A function can use something of another one, as classes of Durable Objects.
    needed = {name, find_first_function(config)} & {each.name for each in config.functions}
    one = replace(request, functions=frozenset(needed))
    artifacts = build_artifacts(one, settings, make_listeners)
    service = build_local_service(project, artifacts, settings)
    warnings = (*artifacts.warnings, *service.warnings)
    _refuse_broken(artifacts, service, name)
    function = service.functions[name]
    end = call_once(function, encode_call_event(event), settings.env)
    with contextlib.closing(open_local_calls(project, settings)) as notes:
        notes.note(name, end)
    warnings = (*warnings, *end.warnings)
    return _report(request, service, name, end, warnings)


def _select_function(call: OneCall, config: Config, settings: Settings) -> tuple[str, Json]:
    """Select the function by name or route, and build its event."""
    names = [one.name for one in config.functions]
    if call.function and call.function not in names:
        raise FabricError(unknown_function_problem(call.function, names))
    if call.http is None:
        return call.function or _require_single_function(names), call.event
    from fabric.local.http_event import (
        Arrival,
        RefusedBodyError,
        convert_event,
        convert_request_to_event,
    )

    matched = _match_route(call, config, call.http)
    arrival = Arrival(settings.clock.now(), settings.chance(8))
    event = convert_request_to_event(call.http.request(), matched, arrival)
    try:
        return matched.route.function, convert_event(matched.route.payload, event)
    except RefusedBodyError as error:
        message = f"the API refuses the body with {error.status}: {error}"
        hint = "pass JSON or a form, with its `content-type`"
        raise FabricError(Problem("input/bad-payload", message, hint)) from error


def _require_single_function(names: Sequence[str]) -> str:
    if len(names) > 1:
        hint = f"set --function to one of {', '.join(names)}"
        raise FabricError(Problem("usage/no-function", "missing option --function", hint))
    if not names:
        raise FabricError(NO_FUNCTIONS)
    return names[0]


def _match_route(call: OneCall, config: Config, http: HttpInput) -> Matched:
    wanted = (one for one in config.functions if call.function in ("", one.name))
    table = RouteTable(list_routes(config, wanted))
    found = table.find(http.method, http.target.partition("?")[0])
    if isinstance(found, Matched):
        return found
    routes = ", ".join(route.key for route in table.routes)
    hint = f"use one of {routes}" if routes else "add an http trigger to a function"
    raise FabricError(
        Problem("usage/no-route", f"no route matches {http.method} {http.target}", hint=hint)
    )


def _refuse_broken(artifacts: Artifacts, service: LocalService, name: str) -> None:
    if artifacts.interrupted:
        raise FabricError(Problem("run/interrupted", "interrupted"))
    if name in service.broken:
        raise FabricError(service.broken[name])


def _report(
    request: Request,
    service: LocalService,
    name: str,
    end: CallEnd,
    warnings: tuple[Problem, ...],
) -> Report:
    logs = end.said
    problem = build_call_problem(name, end)
    if problem is not None:
        problems = (replace(problem, hint=problem.hint or suggest_fix(end)),)
        return Report(
            request.command, problems=problems, warnings=warnings, exit_code=ExitCode.FAILED
        )
    response: Json = decode_response(end)
    outcome = InvokeOutcome(
        name,
        service.provider,
        simulated=True,
        response=response,
        logs=logs,
        ms=end.ms,
        warnings=tuple(map(encode_problem, end.warnings)),
    )
    return Report(request.command, outcome, notes=logs.rstrip("\n"), warnings=warnings)


_FOREIGN = (
    "invalid ELF header",
    "wrong ELF class",
    "cannot open shared object file",
    "not a mach-o file",
    "Exec format error",
    "incompatible architecture",
)


def suggest_fix(end: CallEnd) -> str:
    """Suggest a cause. Packages are built for the deploy platform, which can differ from this
    machine."""
    said = f"{end.failure.message if end.failure else ''}\n{end.said}"
    if not any(words in said for words in _FOREIGN):
        return ""
    return (
        "set `architecture` of the function to that of this machine, or call the deployed "
        "function: its native modules are built for the deployment platform"
    )
