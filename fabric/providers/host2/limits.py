"""Settings that Netlify or fabric does not support there, found without an API call."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial

from fabric.model.problems import Problem
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.limits import (
    Trigger,
    find_architecture_problems,
    find_draft_problems,
    find_language_problems,
    find_reserved_variables,
    find_scaling_problems,
    find_trigger_problems,
    find_utc_schedule_problems,
    function_problem,
    route_conflict_problem,
)
from fabric.providers.core.triggers import parse_routes
from fabric.providers.host2.client import convert_own_cron
from fabric.providers.host2.routes import ANY, METHODS, find_collisions
from fabric.providers.host2.uploads import (
    ENVIRONMENT,
    choose_site_runtime,
    list_deployed_names,
)

_HTTP_SECONDS, _CRON_SECONDS = 60, 30
# host2 and the runtime below it set these, or take them for their own.
_RESERVED_FORM = "the variable `{}`, which Netlify reserves"
_RESERVED = re.compile(
    r"AWS_(REGION|DEFAULT_REGION|EXECUTION_ENV|ACCESS_KEY(_ID)?|SECRET_ACCESS_KEY|SECRET_KEY"
    r"|SESSION_TOKEN|LAMBDA_.*)|_.*|LAMBDA_(TASK_ROOT|RUNTIME_DIR)|NETLIFY(_.*)?|SITE_(ID|NAME)"
    r"|DEPLOY_(ID|URL|PRIME_URL)|URL|CONTEXT|BRANCH|HEAD|COMMIT_REF|BUILD_ID|REPOSITORY_URL"
)
# What a request has as an escape, and an expression as itself.
_STRANGE = re.compile(r"[^A-Za-z0-9/{}\-._~!$&'()*+,;=:@]")
_OWN_PATHS = "/.netlify/"


def find_unsupported(
    address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    yield from find_draft_problems(functions, _find_function_problems, _find_trigger_problems)
    yield from _find_name_conflicts(address, functions)
    yield from _find_route_problems(functions)
    yield from ENVIRONMENT.find_unsupported(functions)


def _find_function_problems(one: FunctionDraft) -> Iterator[Problem]:
    settings = dict(one.settings)
    missing = "fabric supports only JavaScript for Netlify"
    yield from find_language_problems(one, missing, choose_site_runtime)
    yield from find_architecture_problems(one, "and Netlify supports only x86_64")
    yield from find_scaling_problems(
        one, "Netlify does not have", "remove it: functions scale on demand"
    )
    yield from find_reserved_variables(one, _RESERVED.fullmatch, _RESERVED_FORM)
    yield from _find_kind_problems(one, settings.get("timeout", ""))


def _find_kind_problems(one: FunctionDraft, timeout: str) -> Iterator[Problem]:
    kinds = [json.loads(text).get("type") for text in one.triggers]
    most = _CRON_SECONDS if "cron" in kinds else _HTTP_SECONDS
    if timeout.isdigit() and int(timeout) > most:
        whom = "scheduled functions" if "cron" in kinds else "an answer"
        why = f"has a timeout of {timeout} s; Netlify allows {most} s for {whom}"
        yield function_problem(one.name, why)


def _find_trigger_problems(one: FunctionDraft, trigger: Trigger) -> Iterator[Problem]:
    of_cron = partial(find_utc_schedule_problems, convert=convert_own_cron, provider="Netlify")
    yield from find_trigger_problems(one, trigger, "Netlify", of_cron)
    if trigger.get("type") == "http":
        yield from _find_http_problems(one.name, trigger)


def _find_http_problems(function: str, trigger: Trigger) -> Iterator[Problem]:
    method, path = str(trigger.get("method") or "GET").upper(), str(trigger.get("path") or "/")
    if method not in (ANY, *METHODS):
        why = f"has a route for {method}, which Netlify does not support"
        yield function_problem(function, why, "use GET, which also serves HEAD, or ANY")
    strange = _STRANGE.search(path)
    if strange:
        why = f"has the path `{path}` with `{strange[0]}`, which Netlify paths do not support"
        yield function_problem(
            function, why, "use letters without accents, digits and `-._~!$&'()*+,;=:@`"
        )
    if path.startswith(_OWN_PATHS):
        why = f"has the path `{path}`, and paths below `{_OWN_PATHS}` are reserved by Netlify"
        yield function_problem(function, why, "choose another path")


def _find_name_conflicts(
    address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    taken: dict[str, str] = {}
    for one in functions:
        for name, _ in list_deployed_names(address, one.name, one.triggers):
            first = taken.setdefault(name, one.name)
            if first != one.name:
                why = (
                    f"would be named `{name}` at Netlify, which conflicts with a "
                    f"function of `{first}`"
                )
                yield Unsupported(one.name, function_problem(one.name, why, "rename one of them"))


def _find_route_problems(functions: Sequence[FunctionDraft]) -> Iterator[Unsupported]:
    rows = [row for one in functions for row in parse_routes(one.name, one.triggers)]
    for one, other in find_collisions(rows):
        problem = route_conflict_problem(other.function, other.title, one.title, one.function)
        yield Unsupported(other.function, problem, other.number)
