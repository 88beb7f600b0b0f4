"""Settings that OpenWhisk or fabric does not support there, found without an API call."""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from fabric.model.problems import Problem
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.limits import (
    UNFIT,
    Trigger,
    find_architecture_problems,
    find_draft_problems,
    find_reserved_variables,
    find_schedule_problems,
    find_trigger_problems,
    function_problem,
    read_reserved_concurrency,
)
from fabric.providers.core.triggers import convert_to_five_fields
from fabric.providers.whisk.client import format_action_owner
from fabric.providers.whisk.documents import is_own_annotation, is_reserved
from fabric.providers.whisk.work import WhiskProvider, read_zone

_LEAST_MEMORY = 128
_NAME = re.compile(r"\w[\w@.&-]{0,199}", re.ASCII)


def find_unsupported(
    address: DeploymentAddress, functions: Sequence[FunctionDraft], provider: WhiskProvider
) -> Iterator[Unsupported]:
    if address.region:
        why = f"the region `{address.region}` has no effect for {provider.name}"
        hint = "remove it: the host and the key define the location"
        yield Unsupported("", Problem(UNFIT, why, hint), keys=("provider", "region"))
    yield from find_draft_problems(
        functions,
        partial(_find_function_problems, address=address, provider=provider),
        partial(_find_trigger_problems, provider=provider),
    )


def _find_function_problems(
    one: FunctionDraft, address: DeploymentAddress, provider: WhiskProvider
) -> Iterator[Problem]:
    settings, name = dict(one.settings), provider.name
    memory = settings.get("memory", "")
    yield from provider.runtimes.find_problems(one)
    if memory.isdigit() and 0 < int(memory) < _LEAST_MEMORY:
        yield function_problem(
            one.name, f"has {memory} MB of memory; {name} requires at least {_LEAST_MEMORY}"
        )
    yield from find_architecture_problems(one, f"which {name} does not support")
    if not all(_NAME.fullmatch(part) for part in format_action_owner(address, one.name).split("/")):
        why = f"has a name that is invalid for {name}"
        yield function_problem(one.name, why, "use letters, digits, `-` and `_`")
    yield from _find_concurrency_problems(one, name)
    for tag in sorted(tag for tag, _ in one.tags if is_own_annotation(tag)):
        why = f"has the tag `{tag}`, an annotation that fabric or {name} sets"
        yield function_problem(one.name, why, "rename the tag")
    yield from find_reserved_variables(one, is_reserved)


def _find_concurrency_problems(one: FunctionDraft, name: str) -> Iterator[Problem]:
    if read_reserved_concurrency(one) is not None:
        why = f"sets `reservedConcurrency`, which {name} supports only for a namespace"
        yield function_problem(one.name, why, "remove it")
    if one.provisioned_concurrency:
        why = f"sets `provisionedConcurrency`, which {name} does not have"
        yield function_problem(one.name, why, "remove it: instances start on demand")


def _find_trigger_problems(
    one: FunctionDraft, trigger: Trigger, provider: WhiskProvider
) -> Iterator[Problem]:
    of_cron = partial(_find_cron_problems, provider=provider)
    yield from find_trigger_problems(one, trigger, provider.name, of_cron)


def _find_cron_problems(
    function: str, trigger: Trigger, provider: WhiskProvider
) -> Iterator[Problem]:
    zone = read_zone(trigger)
    if zone and not provider.has_zones:
        why = f"has the time zone `{zone}`, and {provider.name} schedules support only UTC"
        yield function_problem(function, why, "write the schedule in UTC")
        return
    yield from find_schedule_problems(function, trigger, convert_to_five_fields, provider.name)
