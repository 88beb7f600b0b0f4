"""Checks of settings that providers share: what one does not support, without an API call."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fabric.model.concurrency import format_settings, parse_concurrency
from fabric.model.problems import Problem
from fabric.providers.core.contract import FunctionDraft, Unsupported

UNFIT = "config/unfit"
Trigger: TypeAlias = Mapping[str, object]


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


def unsupported_kind_problem(function: str, kind: object, provider: str) -> Problem:
    why = f"has a trigger of type `{kind}`, which fabric does not support for {provider}"
    return function_problem(function, why, "use http or cron")


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
