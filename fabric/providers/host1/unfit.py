"""What of a config host1 would refuse, or fabric cannot do there, as far as no call is needed."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from fabric.model.concurrency import told_counts, told_settings
from fabric.model.problems import Problem
from fabric.providers.contract import DeploymentAddress, FunctionDraft, Unfit
from fabric.providers.host1.crons import own_cron
from fabric.providers.host1.deploy_plan import misfits_of_variables
from fabric.providers.host1.own_settings import OWN_PATHS, crons_in, function_name, own_runtime
from fabric.providers.host1.routes import ProjectRoute, routes_in, twice

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


def unfit_drafts(address: DeploymentAddress, functions: Sequence[FunctionDraft]) -> Iterator[Unfit]:
    if address.region and not _REGION.fullmatch(address.region):
        problem = Problem(_CODE, f"`{address.region}` is no region of host1", "write it as fra1")
        yield Unfit("", problem, keys=("provider", "region"))
    for one in functions:
        yield from (Unfit(one.name, problem) for problem in _of_function(one))
        for number, text in enumerate(one.triggers):
            for problem in _of_trigger(one.name, json.loads(text)):
                yield Unfit(one.name, problem, number)
    yield from _of_names(address, functions)
    yield from _of_crons(functions)
    yield from _of_routes(functions)
    yield from _of_variables(functions)


def _of_function(one: FunctionDraft) -> Iterator[Problem]:
    settings = dict(one.settings)
    runtime, timeout = settings.get("runtime", ""), settings.get("timeout", "")
    if not own_runtime(runtime):
        why = f"has the runtime `{runtime}`, and fabric deploys nodejs20, 22 and 24 alone to host1"
        yield _problem(one.name, why, "deploy it to another provider, or write it in TypeScript")
    yield from _of_counts(one)
    for name in one.variables:
        if _RESERVED.fullmatch(name):
            why = f"has the variable `{name}`, which host1 sets or keeps for itself"
            yield _problem(one.name, why, "give it another name")
    if timeout.isdigit() and int(timeout) > _SECONDS:
        why = f"asks for a timeout of {timeout} s, and host1 waits {_SECONDS} s on its largest plan"
        yield _problem(one.name, why)
    memory = settings.get("memory", "")
    if memory.isdigit() and int(memory) and not _LEAST_MEMORY <= int(memory) <= _MOST_MEMORY:
        why = f"asks for {memory} MB, and host1 takes {_LEAST_MEMORY} to {_MOST_MEMORY}"
        yield _problem(one.name, why, "its plan may allow less yet")
    if one.tags:
        why = f"has the tag `{one.tags[0][0]}`, and host1 keeps none of functions"
        yield _problem(one.name, why, "take its tags out: they would have no effect")


def _of_counts(one: FunctionDraft) -> Iterator[Problem]:
    reserved, _ = told_counts(dict(told_settings(one.settings)).get("concurrency", ""))
    asked = {
        "reservedConcurrency": reserved is not None,
        "provisionedConcurrency": bool(one.provisioned_concurrency),
    }
    for name in (name for name, is_asked in asked.items() if is_asked):
        why = f"asks for `{name}`, which host1 does not have"
        yield _problem(one.name, why, "leave it out: as many run as are called")


def _of_trigger(function: str, trigger: Mapping[str, object]) -> Iterator[Problem]:
    match trigger.get("type"):
        case "http":
            yield from _of_http(function, trigger)
        case "cron":
            yield from _of_cron(function, trigger)
        case kind:
            why = f"has a trigger of the type `{kind}`, which host1 does not have"
            yield _problem(function, why, "host1 has http and cron")


def _of_http(function: str, trigger: Mapping[str, object]) -> Iterator[Problem]:
    if trigger.get("authorizer"):
        why = "asks for an authorizer, and fabric makes none at host1"
        yield _problem(function, why, "check who calls in the handler itself")
    path = str(trigger.get("path") or "/")
    own = next((one for one in _OWN if path.startswith(one)), "")
    if own:
        whose = "fabric's" if own == OWN_PATHS else "host1's"
        why = f"has the path `{path}`, and what begins with `{own}` is {whose} own there"
        yield _problem(function, why, "choose another path")


def _of_cron(function: str, trigger: Mapping[str, object]) -> Iterator[Problem]:
    schedule, zone = str(trigger.get("schedule", "")), str(trigger.get("timezone") or "")
    try:
        own_cron(schedule, zone)
    except ValueError as error:
        why = f"has the schedule `{schedule}`, which host1 cannot keep: {error}"
        yield _problem(function, why, "write it as five fields in UTC")


def _of_names(address: DeploymentAddress, functions: Sequence[FunctionDraft]) -> Iterator[Unfit]:
    taken: dict[str, str] = {}
    for one in functions:
        name = function_name(address, one.name)
        first = taken.setdefault(name, one.name)
        if first != one.name:
            why = f"would be called `{name}` at host1, and so would `{first}`"
            yield Unfit(one.name, _problem(one.name, why, "rename one of the two"))


def _of_crons(functions: Sequence[FunctionDraft]) -> Iterator[Unfit]:
    counted = 0
    for one in functions:
        before, counted = counted, counted + len(crons_in(one.triggers))
        if before <= _CRONS < counted:
            why = f"has the schedule number {_CRONS + 1} of the service: host1 takes {_CRONS}"
            yield Unfit(one.name, _problem(one.name, why, "take the others to a second project"))


def _of_variables(functions: Sequence[FunctionDraft]) -> Iterator[Unfit]:
    """Those whose values are known: the others are looked at before the first call."""
    for function, problem in misfits_of_variables(
        [(one.name, one.known.reveal()) for one in functions]
    ):
        keys = () if function else ("functions",)
        yield Unfit(function, replace(problem, code=_CODE), keys=keys)


def _of_routes(functions: Sequence[FunctionDraft]) -> Iterator[Unfit]:
    rows = [row for one in functions for row in routes_in(one.name, map(json.loads, one.triggers))]
    for first, other in twice(rows):
        yield Unfit(other.function, _same(first, other), other.number)
    # Each may need one more for all other methods.
    if len(rows) * 2 + _CRONS > _ROUTES:
        why = f"has the last of {len(rows)} routes, and host1 takes {_ROUTES} rows for all of them"
        yield Unfit(rows[-1].function, _problem(rows[-1].function, why), rows[-1].number)


def _same(first: ProjectRoute, other: ProjectRoute) -> Problem:
    why = (
        f"has the route `{other.title}`, and no request tells it from `{first.title}` of "
        f"`{first.function}`"
    )
    return _problem(other.function, why, "let one function have it, or choose another path")


def _problem(function: str, why: str, hint: str = "") -> Problem:
    return Problem(_CODE, f"function `{function}` {why}", hint)
