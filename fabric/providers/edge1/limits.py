"""Settings that Cloudflare or fabric does not support there, found without an API call."""

import datetime
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from fabric.model.concurrency import format_settings, parse_concurrency
from fabric.model.problems import Problem
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.edge1.client import Edge1Place, Edge1Settings, build_worker_name
from fabric.providers.edge1.events import convert_schedule

_CODE = "config/unfit"
_EXTENSION = ("extensions", "edge1-workers")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+", re.IGNORECASE)
_MEMORY = 128
_VARIABLES = 128


def find_setting_problems(own: Edge1Settings, place: Edge1Place) -> Iterator[Unsupported]:
    """Check the settings of the whole service."""
    if not _is_date(own.compatibility_date):
        why = f"`{own.compatibility_date}`, which is not a date"
        yield _build_setting_problem(
            "compatibilityDate", _CODE, why, "use a date such as 2026-01-31"
        )
    if not own.hostname:
        return
    if not _HOST.fullmatch(own.hostname):
        why = f"`{own.hostname}`, which is not a hostname"
        yield _build_setting_problem(
            "hostname", _CODE, why, "use a hostname such as shop.example.com"
        )
    # Who has no credentials at all may still look at a plan.
    if place.is_known and not place.zone:
        why = f"`{own.hostname}`, and `EDGE1_ZONE_ID` is not set"
        hint = "set `EDGE1_ZONE_ID` in the environment or in `.env` beside the config"
        yield _build_setting_problem("hostname", "credentials/missing", why, hint)


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return _DATE.fullmatch(text) is not None


def _build_setting_problem(name: str, code: str, why: str, hint: str) -> Unsupported:
    keys = (*_EXTENSION, name)
    return Unsupported("", Problem(code, f"`{'.'.join(keys)}` is {why}", hint), keys=keys)


def find_unsupported(
    address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    for one in functions:
        yield from (Unsupported(one.name, problem) for problem in _find_function_problems(one))
        for number, text in enumerate(one.triggers):
            problem = _find_trigger_problem(one.name, json.loads(text))
            if problem is not None:
                yield Unsupported(one.name, problem, number)
    yield from _find_name_conflicts(address, functions)


def _find_function_problems(one: FunctionDraft) -> Iterator[Problem]:
    settings = dict(one.settings)
    runtime = settings.get("runtime", "")
    if not runtime.startswith("nodejs"):
        why = f"has the runtime `{runtime}`, and Cloudflare Workers run only JavaScript"
        yield _function_problem(
            one.name, why, "write it in TypeScript or JavaScript, or deploy it to another provider"
        )
    memory = settings.get("memory", "")
    if memory.isdigit() and int(memory) > _MEMORY:
        yield _function_problem(
            one.name, f"has {memory} MB of memory; a Worker always has {_MEMORY}"
        )
    reserved, _ = parse_concurrency(dict(format_settings(one.settings)).get("concurrency", ""))
    asked = {
        "reservedConcurrency": reserved is not None,
        "provisionedConcurrency": bool(one.provisioned_concurrency),
    }
    for name in (name for name, is_asked in asked.items() if is_asked):
        why = f"sets `{name}`, which Cloudflare Workers do not have"
        yield _function_problem(one.name, why, "remove it: Workers scale on demand")
    if len(one.variables) > _VARIABLES:
        why = f"has {len(one.variables)} variables; Cloudflare allows {_VARIABLES}"
        yield _function_problem(one.name, why)


def _find_trigger_problem(function: str, trigger: Mapping[str, object]) -> Problem | None:
    match trigger.get("type"):
        case "http":
            return _find_http_problem(function, trigger)
        case "cron":
            return _find_cron_problem(function, trigger)
        case kind:
            why = f"has a trigger of type `{kind}`, which is not supported for Cloudflare Workers"
            return _function_problem(function, why, "use http or cron")


def _find_http_problem(function: str, trigger: Mapping[str, object]) -> Problem | None:
    if not trigger.get("authorizer"):
        return None
    why = "has an authorizer, which fabric does not support for Cloudflare Workers"
    return _function_problem(function, why, "authorize callers in the handler")


def _find_cron_problem(function: str, trigger: Mapping[str, object]) -> Problem | None:
    schedule, zone = str(trigger.get("schedule", "")), str(trigger.get("timezone") or "")
    try:
        convert_schedule(schedule, zone)
    except ValueError as error:
        why = f"has the schedule `{schedule}`, which Cloudflare does not support: {error}"
        return _function_problem(function, why, "use five cron fields in UTC")
    return None


def _find_name_conflicts(
    address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    taken: dict[str, str] = {}
    for one in functions:
        name = build_worker_name(address, one.name)
        first = taken.setdefault(name, one.name)
        if first != one.name:
            why = f"would be the Worker `{name}`, which conflicts with `{first}`"
            yield Unsupported(one.name, _function_problem(one.name, why, "rename one of them"))


def _function_problem(function: str, why: str, hint: str = "") -> Problem:
    return Problem(_CODE, f"function `{function}` {why}", hint)
