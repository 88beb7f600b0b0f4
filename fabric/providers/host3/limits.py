"""Settings that Fly or fabric does not support there, found without an API call."""

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
    find_name_conflicts,
    find_reserved_variables,
    find_trigger_problems,
    find_utc_schedule_problems,
    function_problem,
    read_reserved_concurrency,
    route_conflict_problem,
    unsupported_setting,
)
from fabric.providers.core.serving import SERVER_VARIABLES, find_server_runtime
from fabric.providers.core.triggers import HttpRoute, parse_routes
from fabric.providers.core.whole_service import build_function_name, find_mixed_runtimes
from fabric.providers.host3.client import Host3Settings
from fabric.providers.host3.clock import CLOCK_TITLE, expand_schedule
from fabric.providers.host3.documents import (
    ENVIRONMENT,
    MEMORY,
    SHARED,
    missing_image_problem,
)

EXTENSION = ("extensions", "host3-machines")
_REGION = re.compile(r"[a-z]{3}")
_CPUS = (1, 2, 4, 8, 16)
_SECONDS = 3600
_RESERVED = re.compile(r"FLY_.*|PRIMARY_REGION|FABRIC_.*")
_RESERVED_FORM = "the variable `{}`, which Fly or fabric sets in the machine"


def find_unsupported(
    own: Host3Settings, address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    if address.region and not _REGION.fullmatch(address.region):
        message = f"`{address.region}` is not a Fly region"
        yield Unsupported(
            "", Problem(UNFIT, message, "use a region such as fra"), keys=("provider", "region")
        )
    yield from _find_setting_problems(own)
    yield from find_draft_problems(
        functions, partial(_find_function_problems, own), _find_trigger_problems
    )
    yield from find_mixed_runtimes(functions, SHARED)
    yield from find_name_conflicts(
        functions, partial(build_function_name, address), "named `{}` on Fly"
    )
    yield from _find_route_conflicts(functions)
    yield from ENVIRONMENT.find_unsupported(functions)


def _find_setting_problems(own: Host3Settings) -> Iterator[Unsupported]:
    if own.hostname.startswith("*"):
        why, hint = "a wildcard, which is not an endpoint", "use one hostname"
        yield unsupported_setting(EXTENSION, "hostname", why, hint)
    if own.cpus not in _CPUS:
        hint = f"use {', '.join(map(str, _CPUS))}"
        yield unsupported_setting(EXTENSION, "cpus", f"{own.cpus}, which Fly does not offer", hint)


def _find_function_problems(own: Host3Settings, one: FunctionDraft) -> Iterator[Problem]:
    settings = dict(one.settings)
    runtime, memory = settings.get("runtime", ""), settings.get("memory", "")
    if find_server_runtime(runtime) is None:
        yield missing_image_problem(one.name, runtime)
    if settings.get("package") == "image":
        why = "is packaged as an image, and a machine contains all functions of a service"
        yield function_problem(one.name, why, "remove `package`: fabric builds an image if needed")
    yield from find_architecture_problems(one, "and Fly machines are amd64 only")
    _, most = MEMORY.get(own.cpu_kind, (0, 0))
    if memory.isdigit() and most and int(memory) > most * own.cpus:
        why = f"has {memory} MB of memory; {own.cpus} {own.cpu_kind} CPU allow {most * own.cpus}"
        hint = f"set `cpus` or `cpuKind` below `{'.'.join(EXTENSION)}`"
        yield function_problem(one.name, why, hint)
    timeout = settings.get("timeout", "")
    if timeout.isdigit() and int(timeout) > _SECONDS:
        why = f"has a timeout of {timeout} s; fabric allows {_SECONDS} s on Fly"
        yield function_problem(one.name, why)
    if read_reserved_concurrency(one) is not None:
        why = "sets `reservedConcurrency`, and all functions of a machine share its requests"
        yield function_problem(one.name, why, "remove it")
    if one.tags:
        why = f"has the tag `{one.tags[0][0]}`, and functions on Fly have no tags"
        yield function_problem(one.name, why, "remove the tags")
    yield from find_reserved_variables(
        one,
        lambda name: name in SERVER_VARIABLES or _RESERVED.fullmatch(name),
        _RESERVED_FORM,
    )


def _find_trigger_problems(one: FunctionDraft, trigger: Trigger) -> Iterator[Problem]:
    yield from find_trigger_problems(one, trigger, "Fly", _find_cron_problems)


def _find_cron_problems(function: str, trigger: Trigger) -> Iterator[Problem]:
    yield from find_utc_schedule_problems(function, trigger, expand_schedule, CLOCK_TITLE)


def _find_route_conflicts(functions: Sequence[FunctionDraft]) -> Iterator[Unsupported]:
    taken: dict[tuple[str, tuple[str, ...]], HttpRoute] = {}
    for row in (row for one in functions for row in parse_routes(one.name, one.triggers)):
        first = taken.setdefault((row.method, row.shape), row)
        if first.function != row.function:
            problem = route_conflict_problem(row.function, row.title, first.title, first.function)
            yield Unsupported(row.function, problem, row.number)
