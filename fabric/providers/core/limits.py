"""Checks of settings that providers share: what one does not support, without an API call."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fabric.model.calls.concurrency import format_settings, parse_concurrency
from fabric.model.problems import Problem
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported

UNFIT = "config/unfit"
Trigger: TypeAlias = Mapping[str, object]
# A registry, possibly with a path.
_REGISTRY = re.compile(r"[^/]*[.:][^/]*/.+|localhost/.+|[^/]*[.:][^/]*")


def function_problem(function: str, why: str, hint: str = "") -> Problem:
    return Problem(UNFIT, f"function `{function}` {why}", hint)


def find_draft_problems(
    functions: Sequence[FunctionDraft],
    of_function: Callable[[FunctionDraft], Iterable[Problem]],
    of_trigger: Callable[[FunctionDraft, Trigger], Iterable[Problem]],
) -> Iterator[Unsupported]:
    """Check each function, and then each of its triggers."""
    for one in functions:
        yield from (Unsupported(one.name, problem) for problem in of_function(one))
        for number, text in enumerate(one.triggers):
            found = of_trigger(one, json.loads(text))
            yield from (Unsupported(one.name, problem, number) for problem in found)


def find_name_conflicts(
    functions: Sequence[FunctionDraft], build_name: Callable[[str], str], form: str
) -> Iterator[Unsupported]:
    """Find functions that would have the same name at the provider. `form` is what one would be,
    with `{}` for the name."""
    taken: dict[str, str] = {}
    for one in functions:
        name = build_name(one.name)
        first = taken.setdefault(name, one.name)
        if first != one.name:
            why = f"would be {form.format(name)}, which conflicts with `{first}`"
            yield Unsupported(one.name, function_problem(one.name, why, "rename one of them"))


def find_authorizer_problems(function: str, trigger: Trigger, provider: str) -> Iterator[Problem]:
    if trigger.get("authorizer"):
        why = f"has an authorizer, which fabric does not support for {provider}"
        yield function_problem(function, why, "authorize callers in the handler")


def find_trigger_problems(
    one: FunctionDraft,
    trigger: Trigger,
    provider: str,
    find_cron_problems: Callable[[str, Trigger], Iterable[Problem]],
) -> Iterator[Problem]:
    """Check a trigger at a provider with routes and schedules, and without authorizers."""
    kind = trigger.get("type")
    if kind == "http":
        yield from find_authorizer_problems(one.name, trigger, provider)
    elif kind == "cron":
        yield from find_cron_problems(one.name, trigger)
    else:
        yield unsupported_kind_problem(one.name, kind, provider)


def find_architecture_problems(one: FunctionDraft, missing: str) -> Iterator[Problem]:
    """Find the architecture arm64 at a provider without it."""
    if dict(one.settings).get("architecture", "").startswith("arm"):
        yield function_problem(one.name, f"has the architecture `arm64`, {missing}")


def find_language_problems(
    one: FunctionDraft, missing: str, is_supported: Callable[[str], object]
) -> Iterator[Problem]:
    """Find runtimes at a provider that runs only JavaScript."""
    runtime = dict(one.settings).get("runtime", "")
    if not is_supported(runtime):
        why = f"has the runtime `{runtime}`, and {missing}"
        hint = "write it in TypeScript or JavaScript, or deploy it to another provider"
        yield function_problem(one.name, why, hint)


def find_reserved_variables(
    one: FunctionDraft,
    is_reserved: Callable[[str], object],
    form: str = "`{}`, which the runtime reserves",
) -> Iterator[Problem]:
    """Find variables that the provider or the runtime sets."""
    for name in sorted(filter(is_reserved, one.variables)):
        yield function_problem(one.name, f"sets {form.format(name)}", "rename the variable")


def find_registry_problems(
    provider_id: str, registry: str, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    """Check that functions with images have a registry."""
    images = [one for one in functions if dict(one.settings).get("package") == "image"]
    if not images or _REGISTRY.fullmatch(registry):
        return
    message = (
        f"invalid `registry`: `{registry}`"
        if registry
        else "functions with `package.type: image` require `registry`"
    )
    hint = f"set `extensions.{provider_id}.registry`, such as registry.example.com/team"
    yield Unsupported("", Problem(UNFIT, message, hint), keys=("extensions", provider_id))


def find_changed_type(
    one: FunctionDraft, address: DeploymentAddress, provider: str
) -> Iterator[Problem]:
    """Check that a deployed function stays an archive or an image."""
    is_image = dict(one.settings).get("package") == "image"
    record = address.previous.function(one.name) if address.previous else None
    if record is None or not record.resource_id or bool(record.image) == is_image:
        return
    was, now = ("an archive", "an image") if is_image else ("an image", "an archive")
    why = f"is deployed as {was}, and {provider} cannot change it to {now}"
    yield function_problem(one.name, why, "rename the function, or remove it and deploy again")


def route_conflict_problem(function: str, route: str, other: str, owner: str) -> Problem:
    why = f"has the route `{route}`, which matches the same requests as `{other}` of `{owner}`"
    return function_problem(function, why, "use one function for both, or choose another path")


def unsupported_setting(
    extension: tuple[str, ...], name: str, why: str, hint: str = "", code: str = UNFIT
) -> Unsupported:
    """Build the problem of a setting in the provider's section of the config."""
    keys = (*extension, name)
    return Unsupported("", Problem(code, f"`{'.'.join(keys)}` is {why}", hint), keys=keys)


def unsupported_kind_problem(
    function: str, kind: object, provider: str, hint: str = "use http or cron"
) -> Problem:
    why = f"has a trigger of type `{kind}`, which fabric does not support for {provider}"
    return function_problem(function, why, hint)


def find_schedule_problems(
    function: str, trigger: Trigger, convert: Callable[[str], object], provider: str
) -> Iterator[Problem]:
    """Check that the provider can express the schedule. `convert` raises a ValueError."""
    schedule = str(trigger.get("schedule", ""))
    try:
        convert(schedule)
    except ValueError as error:
        why = f"has the schedule `{schedule}`, which {provider} does not support: {error}"
        yield function_problem(function, why, "use five cron fields")


def find_utc_schedule_problems(
    function: str, trigger: Trigger, convert: Callable[[str, str], object], provider: str
) -> Iterator[Problem]:
    """Check that a provider whose schedules are in UTC can express the schedule."""
    schedule, zone = str(trigger.get("schedule", "")), str(trigger.get("timezone") or "")
    try:
        convert(schedule, zone)
    except ValueError as error:
        why = f"has the schedule `{schedule}`, which {provider} does not support: {error}"
        yield function_problem(function, why, "use five cron fields in UTC")


def find_concurrency_problems(
    one: FunctionDraft, why_not_zero: str, provider: str
) -> Iterator[Problem]:
    """Find concurrency settings at a provider that only limits the number of instances."""
    if read_reserved_concurrency(one) == 0:
        why = f"sets `reservedConcurrency: 0`, and {why_not_zero}"
        hint = "remove its triggers, or remove `reservedConcurrency`"
        yield function_problem(one.name, why, hint)
    if one.provisioned_concurrency:
        why = f"sets `provisionedConcurrency`, which fabric does not support for {provider}"
        yield function_problem(one.name, why, "remove it: instances start on demand")


def find_scaling_problems(one: FunctionDraft, missing: str, hint: str) -> Iterator[Problem]:
    """Find concurrency settings at a provider that has none of them."""
    reserved = read_reserved_concurrency(one)
    asked = {
        "reservedConcurrency": reserved is not None,
        "provisionedConcurrency": bool(one.provisioned_concurrency),
    }
    for name in (name for name, is_asked in asked.items() if is_asked):
        yield function_problem(one.name, f"sets `{name}`, which {missing}", hint)


def read_reserved_concurrency(one: FunctionDraft) -> int | None:
    reserved, _ = parse_concurrency(dict(format_settings(one.settings)).get("concurrency", ""))
    return reserved
