"""Settings that OpenWhisk or fabric does not support there, found without an API call."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from fabric.model.concurrency import format_settings, parse_concurrency
from fabric.model.problems import Problem
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.triggers import convert_to_five_fields
from fabric.providers.whisk.client import format_action_owner
from fabric.providers.whisk.documents import is_own_annotation, is_reserved
from fabric.providers.whisk.events import read_zone
from fabric.providers.whisk.functions import WhiskRuntimes

_CODE = "config/unfit"
_LEAST_MEMORY = 128
_NAME = re.compile(r"\w[\w@.&-]{0,199}", re.ASCII)


class WhiskLimits(Struct, frozen=True):
    """The abilities of one provider, with its display name."""

    name: str
    runtimes: WhiskRuntimes
    has_zones: bool


def find_unsupported(
    address: DeploymentAddress, functions: Sequence[FunctionDraft], limits: WhiskLimits
) -> Iterator[Unsupported]:
    if address.region:
        why = f"the region `{address.region}` has no effect for {limits.name}"
        hint = "remove it: the host and the key define the location"
        yield Unsupported("", Problem(_CODE, why, hint), keys=("provider", "region"))
    for one in functions:
        yield from (
            Unsupported(one.name, problem)
            for problem in _find_function_problems(one, address, limits)
        )
        for number, text in enumerate(one.triggers):
            problem = _find_trigger_problem(one, json.loads(text), limits)
            if problem is not None:
                yield Unsupported(one.name, problem, number)


def _find_function_problems(
    one: FunctionDraft, address: DeploymentAddress, limits: WhiskLimits
) -> Iterator[Problem]:
    settings, name = dict(one.settings), limits.name
    runtime, memory = settings.get("runtime", ""), settings.get("memory", "")
    if limits.runtimes.of(runtime) is None:
        yield limits.runtimes.none_such(one.name, runtime, name)
    if memory.isdigit() and 0 < int(memory) < _LEAST_MEMORY:
        yield _function_problem(
            one.name, f"has {memory} MB of memory; {name} requires at least {_LEAST_MEMORY}"
        )
    if settings.get("architecture", "").startswith("arm"):
        yield _function_problem(
            one.name, f"has the architecture `arm64`, which {name} does not support"
        )
    if not all(_NAME.fullmatch(part) for part in format_action_owner(address, one.name).split("/")):
        why = f"has a name that is invalid for {name}"
        yield _function_problem(one.name, why, "use letters, digits, `-` and `_`")
    yield from _find_concurrency_problems(one, name)
    for tag in sorted(tag for tag, _ in one.tags if is_own_annotation(tag)):
        why = f"has the tag `{tag}`, an annotation that fabric or {name} sets"
        yield _function_problem(one.name, why, "rename the tag")
    for variable in sorted(filter(is_reserved, one.variables)):
        why = f"sets `{variable}`, which the runtime reserves"
        yield _function_problem(one.name, why, "rename the variable")


def _find_concurrency_problems(one: FunctionDraft, name: str) -> Iterator[Problem]:
    reserved, _ = parse_concurrency(dict(format_settings(one.settings)).get("concurrency", ""))
    if reserved is not None:
        why = f"sets `reservedConcurrency`, which {name} supports only for a namespace"
        yield _function_problem(one.name, why, "remove it")
    if one.provisioned_concurrency:
        why = f"sets `provisionedConcurrency`, which {name} does not have"
        yield _function_problem(one.name, why, "remove it: instances start on demand")


def _find_trigger_problem(
    one: FunctionDraft, trigger: Mapping[str, object], limits: WhiskLimits
) -> Problem | None:
    match trigger.get("type"):
        case "http":
            return _find_http_problem(one.name, trigger, limits.name)
        case "cron":
            return _find_cron_problem(one.name, trigger, limits)
        case kind:
            why = f"has a trigger of type `{kind}`, which fabric does not support for {limits.name}"
            return _function_problem(one.name, why, "use http or cron")


def _find_http_problem(function: str, trigger: Mapping[str, object], name: str) -> Problem | None:
    if trigger.get("authorizer"):
        why = f"has an authorizer, which fabric does not support for {name}"
        return _function_problem(function, why, "authorize callers in the handler")
    return None


def _find_cron_problem(
    function: str, trigger: Mapping[str, object], limits: WhiskLimits
) -> Problem | None:
    zone = read_zone(trigger)
    if zone and not limits.has_zones:
        why = f"has the time zone `{zone}`, and {limits.name} schedules support only UTC"
        return _function_problem(function, why, "write the schedule in UTC")
    schedule = str(trigger.get("schedule", ""))
    try:
        convert_to_five_fields(schedule)
    except ValueError as error:
        why = f"has the schedule `{schedule}`, which {limits.name} does not support: {error}"
        return _function_problem(function, why, "use five cron fields")
    return None


def _function_problem(function: str, why: str, hint: str = "") -> Problem:
    return Problem(_CODE, f"function `{function}` {why}", hint)
