"""Settings that Vercel or fabric does not support there, found without an API call."""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from fabric.model.problems import Problem
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.limits import (
    UNFIT,
    Trigger,
    find_draft_problems,
    find_language_problems,
    find_name_conflicts,
    find_reserved_variables,
    find_scaling_problems,
    find_trigger_problems,
    find_utc_schedule_problems,
    function_problem,
    route_conflict_problem,
)
from fabric.providers.core.triggers import list_schedules, parse_routes
from fabric.providers.core.whole_service import build_function_name
from fabric.providers.host1.client import OWN_PATHS, choose_vercel_runtime, convert_own_cron
from fabric.providers.host1.output import ENVIRONMENT
from fabric.providers.host1.routes import find_route_conflicts

_SECONDS = 800
# Of the largest plan; in MB.
_LEAST_MEMORY, _MOST_MEMORY = 128, 10_240
_REGION = re.compile(r"[a-z]{3}[0-9]")
_CRONS, _ROUTES = 100, 2048
# host1 and the runtime below it set these, or take them for their own.
_RESERVED_FORM = "the variable `{}`, which Vercel reserves"
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
            UNFIT, f"`{address.region}` is not a Vercel region", "use a region such as fra1"
        )
        yield Unsupported("", problem, keys=("provider", "region"))
    yield from find_draft_problems(functions, _find_function_problems, _find_trigger_problems)
    yield from find_name_conflicts(
        functions, partial(build_function_name, address), "named `{}` at Vercel"
    )
    yield from _find_excess_crons(functions)
    yield from _find_route_problems(functions)
    yield from ENVIRONMENT.find_unsupported(functions)


def _find_function_problems(one: FunctionDraft) -> Iterator[Problem]:
    settings = dict(one.settings)
    timeout = settings.get("timeout", "")
    missing = "fabric supports only nodejs20, 22 and 24 for Vercel"
    yield from find_language_problems(one, missing, choose_vercel_runtime)
    yield from find_scaling_problems(
        one, "Vercel does not have", "remove it: functions scale on demand"
    )
    yield from find_reserved_variables(one, _RESERVED.fullmatch, _RESERVED_FORM)
    if timeout.isdigit() and int(timeout) > _SECONDS:
        why = f"has a timeout of {timeout} s; the largest Vercel plan allows {_SECONDS} s"
        yield function_problem(one.name, why)
    memory = settings.get("memory", "")
    if memory.isdigit() and int(memory) and not _LEAST_MEMORY <= int(memory) <= _MOST_MEMORY:
        why = f"has {memory} MB of memory; Vercel allows {_LEAST_MEMORY} to {_MOST_MEMORY}"
        yield function_problem(
            one.name, why, "choose a value in this range; your plan might allow less"
        )
    if one.tags:
        why = f"has the tag `{one.tags[0][0]}`, and Vercel functions have no tags"
        yield function_problem(one.name, why, "remove the tags")


def _find_trigger_problems(one: FunctionDraft, trigger: Trigger) -> Iterator[Problem]:
    of_cron = partial(find_utc_schedule_problems, convert=convert_own_cron, provider="Vercel")
    yield from find_trigger_problems(one, trigger, "Vercel", of_cron)
    if trigger.get("type") == "http":
        yield from _find_http_problems(one.name, trigger)


def _find_http_problems(function: str, trigger: Trigger) -> Iterator[Problem]:
    path = str(trigger.get("path") or "/")
    own = next((one for one in _OWN if path.startswith(one)), "")
    if own:
        whose = "fabric" if own == OWN_PATHS else "Vercel"
        why = f"has the path `{path}`, and paths below `{own}` are reserved by {whose}"
        yield function_problem(function, why, "choose another path")


def _find_excess_crons(functions: Sequence[FunctionDraft]) -> Iterator[Unsupported]:
    counted = 0
    for one in functions:
        before, counted = counted, counted + len(list_schedules(one.triggers))
        if before <= _CRONS < counted:
            why = f"has schedule number {_CRONS + 1} of the service; Vercel allows {_CRONS}"
            yield Unsupported(
                one.name, function_problem(one.name, why, "move schedules to a second project")
            )


def _find_route_problems(functions: Sequence[FunctionDraft]) -> Iterator[Unsupported]:
    rows = [row for one in functions for row in parse_routes(one.name, one.triggers)]
    for first, other in find_route_conflicts(rows):
        problem = route_conflict_problem(other.function, other.title, first.title, first.function)
        yield Unsupported(other.function, problem, other.number)
    # Each may need one more for all other methods.
    if len(rows) * 2 + _CRONS > _ROUTES:
        why = f"has the last of {len(rows)} routes; Vercel allows {_ROUTES} rows for all routes"
        yield Unsupported(
            rows[-1].function, function_problem(rows[-1].function, why), rows[-1].number
        )
