"""Settings that Vercel or fabric does not support there, found without an API call."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from fabric.model.concurrency import format_settings, parse_concurrency
from fabric.model.problems import Problem
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.host1.client import (
    OWN_PATHS,
    build_function_name,
    choose_vercel_runtime,
    list_crons,
)
from fabric.providers.host1.crons import convert_own_cron
from fabric.providers.host1.output import find_variable_problems
from fabric.providers.host1.routes import ProjectRoute, find_route_conflicts, parse_project_routes

_CODE = "config/unfit"
_SECONDS = 800
# Of the largest plan; in MB.
_LEAST_MEMORY, _MOST_MEMORY = 128, 10_240
_REGION = re.compile(r"[a-z]{3}[0-9]")
_CRONS, _ROUTES = 100, 2048
# host1 and the runtime below it set these, or take them for their own.
_RESERVED = re.compile(
    r"AWS_(SECRET_KEY|EXECUTION_ENV|REGION|DEFAULT_REGION|ACCESS_KEY(_ID)?|SECRET_ACCESS_KEY"
    r"|SESSION_TOKEN|SECURITY_TOKEN|LAMBDA_.*)|_HANDLER|_X_AMZN_TRACE_ID|LAMBDA_.*|NOW_REGION|TZ"
    r"|VERCEL(_.*)?"
)
_OWN = (OWN_PATHS, "/_vercel/", "/.well-known/vercel/", "/.well-known/workflow/")


def find_unsupported(
    address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    if address.region and not _REGION.fullmatch(address.region):
        problem = Problem(
            _CODE, f"`{address.region}` is not a Vercel region", "use a region such as fra1"
        )
        yield Unsupported("", problem, keys=("provider", "region"))
    for one in functions:
        yield from (Unsupported(one.name, problem) for problem in _find_function_problems(one))
        for number, text in enumerate(one.triggers):
            for problem in _find_trigger_problems(one.name, json.loads(text)):
                yield Unsupported(one.name, problem, number)
    yield from _find_name_conflicts(address, functions)
    yield from _find_excess_crons(functions)
    yield from _find_route_problems(functions)
    yield from _find_variable_conflicts(functions)


def _find_function_problems(one: FunctionDraft) -> Iterator[Problem]:
    settings = dict(one.settings)
    runtime, timeout = settings.get("runtime", ""), settings.get("timeout", "")
    if not choose_vercel_runtime(runtime):
        why = (
            f"has the runtime `{runtime}`, and fabric supports only nodejs20, 22 and 24 for Vercel"
        )
        yield _function_problem(
            one.name, why, "write it in TypeScript or JavaScript, or deploy it to another provider"
        )
    yield from _find_concurrency_problems(one)
    for name in one.variables:
        if _RESERVED.fullmatch(name):
            why = f"sets the variable `{name}`, which Vercel reserves"
            yield _function_problem(one.name, why, "rename the variable")
    if timeout.isdigit() and int(timeout) > _SECONDS:
        why = f"has a timeout of {timeout} s; the largest Vercel plan allows {_SECONDS} s"
        yield _function_problem(one.name, why)
    memory = settings.get("memory", "")
    if memory.isdigit() and int(memory) and not _LEAST_MEMORY <= int(memory) <= _MOST_MEMORY:
        why = f"has {memory} MB of memory; Vercel allows {_LEAST_MEMORY} to {_MOST_MEMORY}"
        yield _function_problem(
            one.name, why, "choose a value in this range; your plan might allow less"
        )
    if one.tags:
        why = f"has the tag `{one.tags[0][0]}`, and Vercel functions have no tags"
        yield _function_problem(one.name, why, "remove the tags")


def _find_concurrency_problems(one: FunctionDraft) -> Iterator[Problem]:
    reserved, _ = parse_concurrency(dict(format_settings(one.settings)).get("concurrency", ""))
    asked = {
        "reservedConcurrency": reserved is not None,
        "provisionedConcurrency": bool(one.provisioned_concurrency),
    }
    for name in (name for name, is_asked in asked.items() if is_asked):
        why = f"sets `{name}`, which Vercel does not have"
        yield _function_problem(one.name, why, "remove it: functions scale on demand")


def _find_trigger_problems(function: str, trigger: Mapping[str, object]) -> Iterator[Problem]:
    match trigger.get("type"):
        case "http":
            yield from _find_http_problems(function, trigger)
        case "cron":
            yield from _find_cron_problems(function, trigger)
        case kind:
            why = f"has a trigger of type `{kind}`, which is not supported for Vercel"
            yield _function_problem(function, why, "use http or cron")


def _find_http_problems(function: str, trigger: Mapping[str, object]) -> Iterator[Problem]:
    if trigger.get("authorizer"):
        why = "has an authorizer, which fabric does not support for Vercel"
        yield _function_problem(function, why, "authorize callers in the handler")
    path = str(trigger.get("path") or "/")
    own = next((one for one in _OWN if path.startswith(one)), "")
    if own:
        whose = "fabric" if own == OWN_PATHS else "Vercel"
        why = f"has the path `{path}`, and paths below `{own}` are reserved by {whose}"
        yield _function_problem(function, why, "choose another path")


def _find_cron_problems(function: str, trigger: Mapping[str, object]) -> Iterator[Problem]:
    schedule, zone = str(trigger.get("schedule", "")), str(trigger.get("timezone") or "")
    try:
        convert_own_cron(schedule, zone)
    except ValueError as error:
        why = f"has the schedule `{schedule}`, which Vercel does not support: {error}"
        yield _function_problem(function, why, "use five cron fields in UTC")


def _find_name_conflicts(
    address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    taken: dict[str, str] = {}
    for one in functions:
        name = build_function_name(address, one.name)
        first = taken.setdefault(name, one.name)
        if first != one.name:
            why = f"would be named `{name}` at Vercel, which conflicts with `{first}`"
            yield Unsupported(one.name, _function_problem(one.name, why, "rename one of them"))


def _find_excess_crons(functions: Sequence[FunctionDraft]) -> Iterator[Unsupported]:
    counted = 0
    for one in functions:
        before, counted = counted, counted + len(list_crons(one.triggers))
        if before <= _CRONS < counted:
            why = f"has schedule number {_CRONS + 1} of the service; Vercel allows {_CRONS}"
            yield Unsupported(
                one.name, _function_problem(one.name, why, "move schedules to a second project")
            )


def _find_variable_conflicts(functions: Sequence[FunctionDraft]) -> Iterator[Unsupported]:
    """Check variables with known values; the others are checked before the first call."""
    for function, problem in find_variable_problems(
        [(one.name, one.known.reveal()) for one in functions]
    ):
        keys = () if function else ("functions",)
        yield Unsupported(function, replace(problem, code=_CODE), keys=keys)


def _find_route_problems(functions: Sequence[FunctionDraft]) -> Iterator[Unsupported]:
    rows = [
        row
        for one in functions
        for row in parse_project_routes(one.name, map(json.loads, one.triggers))
    ]
    for first, other in find_route_conflicts(rows):
        yield Unsupported(other.function, _route_conflict_problem(first, other), other.number)
    # Each may need one more for all other methods.
    if len(rows) * 2 + _CRONS > _ROUTES:
        why = f"has the last of {len(rows)} routes; Vercel allows {_ROUTES} rows for all routes"
        yield Unsupported(
            rows[-1].function, _function_problem(rows[-1].function, why), rows[-1].number
        )


def _route_conflict_problem(first: ProjectRoute, other: ProjectRoute) -> Problem:
    why = (
        f"has the route `{other.title}`, which matches the same requests as `{first.title}` of "
        f"`{first.function}`"
    )
    return _function_problem(
        other.function, why, "use one function for both, or choose another path"
    )


def _function_problem(function: str, why: str, hint: str = "") -> Problem:
    return Problem(_CODE, f"function `{function}` {why}", hint)
