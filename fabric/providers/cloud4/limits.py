"""Settings that Alibaba Cloud or fabric does not support there, found without an API call."""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.providers.cloud4.client import Cloud4Call, Cloud4Work, build_cloud4_call
from fabric.providers.cloud4.events import schedule_of
from fabric.providers.cloud4.settings import Cloud4Place, Cloud4Settings, build_function_name
from fabric.providers.cloud4.versions import (
    SOURCE_RUNTIMES,
    choose_cpu,
    find_tag_problems,
    is_cpu_allowed,
    is_reserved,
    read_memory_setting,
)
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.limits import (
    UNFIT,
    Trigger,
    find_architecture_problems,
    find_concurrency_problems,
    find_draft_problems,
    find_name_conflicts,
    find_reserved_variables,
    find_schedule_problems,
    find_trigger_problems,
    function_problem,
    unsupported_setting,
)

_EXTENSION = ("extensions", "cloud4-fc")
_ROLE = re.compile(r"acs:ram::\d+:role/[\w.-]+", re.ASCII)
_DISKS = (0, 512, 10_240)
_MEMORY_STEP, _LEAST_MEMORY = 64, 128
_MOST_CPU, _STEPS_OF_CPU = 16.0, 20
_TRIGGERS = 50


def find_unsupported_region(region: str) -> Iterator[Unsupported]:
    if not Cloud4Place(region).is_sound:
        yield Unsupported("", region_problem(region), keys=("provider", "region"))


def region_problem(region: str) -> Problem:
    return Problem(
        UNFIT, f"`{region}` is not an Alibaba Cloud region", "use a region such as cn-hangzhou"
    )


def find_setting_problems(own: Cloud4Settings) -> Iterator[Unsupported]:
    """Check the settings of the whole service."""
    if own.role and not _ROLE.fullmatch(own.role):
        hint = "use an ARN such as acs:ram::1234567890123456:role/shop"
        yield _build_setting_problem("role", own.role, "which is not the ARN of a role", hint)
    if own.disk_size not in _DISKS:
        yield _build_setting_problem(
            "diskSize", own.disk_size, "which is not supported: use 512 or 10240"
        )
    steps = own.cpu * _STEPS_OF_CPU
    if own.cpu and (own.cpu < 0 or own.cpu > _MOST_CPU or abs(steps - round(steps)) > 1e-6):  # noqa: PLR2004 - no step at all
        yield _build_setting_problem(
            "cpu", own.cpu, "which is not supported: use 0.05 to 16, in steps of 0.05"
        )


def _build_setting_problem(name: str, value: object, why: str, hint: str = "") -> Unsupported:
    return unsupported_setting(_EXTENSION, name, f"`{value}`, {why}", hint)


def find_unsupported(
    address: DeploymentAddress, functions: Sequence[FunctionDraft], own: Cloud4Settings
) -> Iterator[Unsupported]:
    of_function = partial(_find_function_problems, own=own)
    yield from find_draft_problems(functions, of_function, _find_trigger_problems)
    yield from find_name_conflicts(
        functions, partial(build_function_name, address), "named `{}` at Alibaba Cloud"
    )


def _find_function_problems(one: FunctionDraft, own: Cloud4Settings) -> Iterator[Problem]:
    yield from SOURCE_RUNTIMES.find_problems(one)
    yield from find_architecture_problems(one, "and Alibaba Cloud supports only x86_64")
    yield from _find_memory_problems(one, own)
    missing = "fabric cannot disable a function at Alibaba Cloud"
    yield from find_concurrency_problems(one, missing, "Alibaba Cloud")
    yield from find_tag_problems(one.name, one.tags)
    yield from find_reserved_variables(one, is_reserved)
    if len(one.triggers) > _TRIGGERS:
        why = f"has {len(one.triggers)} triggers; Alibaba Cloud allows {_TRIGGERS} per function"
        yield function_problem(one.name, why)


def _find_memory_problems(one: FunctionDraft, own: Cloud4Settings) -> Iterator[Problem]:
    memory = read_memory_setting(one.settings)
    if memory < _LEAST_MEMORY or memory % _MEMORY_STEP:
        why = f"has {memory} MB of memory; Alibaba Cloud allows 128 MB and more, in steps of 64"
        near = max(_LEAST_MEMORY, -(-memory // _MEMORY_STEP) * _MEMORY_STEP)
        yield function_problem(one.name, why, f"use {near} MB")
    elif own.cpu and not is_cpu_allowed(memory, own.cpu):
        why = (
            f"has {memory} MB and a `cpu` of {own.cpu:g}; Alibaba Cloud requires 1 to 4 GB per CPU"
        )
        yield function_problem(
            one.name, why, f"remove `cpu`; the default is {choose_cpu(memory):g}"
        )


def _find_trigger_problems(one: FunctionDraft, trigger: Trigger) -> Iterator[Problem]:
    of_cron = partial(find_schedule_problems, convert=schedule_of, provider="Alibaba Cloud")
    yield from find_trigger_problems(one, trigger, "Alibaba Cloud", of_cron)


_PART = "concurrency"


class _ConcurrencyRow(Struct, frozen=True, rename="camel"):
    reserved_concurrency: int | None = None


def set_concurrency(work: Cloud4Work, name: str, wanted: int | None) -> None:
    """Set the reserved concurrency. None means the account's remaining capacity."""
    call = Cloud4Call("GetConcurrencyConfig", "GET", (name, _PART))
    row = work.look(call, _ConcurrencyRow)
    there = row.reserved_concurrency if row else None
    if (there or None) == wanted:
        return
    if wanted is None:
        work.delete("DeleteConcurrencyConfig", name, _PART)
        return
    document = {"reservedConcurrency": wanted}
    work.ask(build_cloud4_call("PutConcurrencyConfig", "PUT", (name, _PART), document), object)
