"""What of a config cloud4 would refuse, or fabric cannot do there, as far as no call is needed."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from fabric.model.concurrency import told_counts, told_settings
from fabric.model.problems import Problem
from fabric.providers.cloud4.documents import (
    cpu_of,
    fits_cpu,
    is_reserved,
    memory_in,
    tag_problems,
)
from fabric.providers.cloud4.own_settings import Cloud4Place, Cloud4Settings, function_name
from fabric.providers.cloud4.source import no_runtime, source_runtime
from fabric.providers.cloud4.triggers import schedule_of
from fabric.providers.contract import DeploymentAddress, FunctionDraft, Unfit

_CODE = "config/unfit"
_EXTENSION = ("extensions", "cloud4-fc")
_ROLE = re.compile(r"acs:ram::\d+:role/[\w.-]+", re.ASCII)
_DISKS = (0, 512, 10_240)
_MEMORY_STEP, _LEAST_MEMORY = 64, 128
_MOST_CPU, _STEPS_OF_CPU = 16.0, 20
_TRIGGERS = 50


def unfit_region(region: str) -> Iterator[Unfit]:
    if not Cloud4Place(region).is_sound:
        yield Unfit("", bad_region(region), keys=("provider", "region"))


def bad_region(region: str) -> Problem:
    return Problem(_CODE, f"`{region}` is no region of cloud4", "write it as cn-hangzhou")


def unfit_settings(own: Cloud4Settings) -> Iterator[Unfit]:
    """What the service as a whole asks for."""
    if own.role and not _ROLE.fullmatch(own.role):
        hint = "write it as acs:ram::1234567890123456:role/shop"
        yield _of_setting("role", own.role, "and no role of an account", hint)
    if own.disk_size not in _DISKS:
        yield _of_setting("diskSize", own.disk_size, "and cloud4 has 512 and 10240")
    steps = own.cpu * _STEPS_OF_CPU
    if own.cpu and (own.cpu < 0 or own.cpu > _MOST_CPU or abs(steps - round(steps)) > 1e-6):  # noqa: PLR2004 - no step at all
        yield _of_setting("cpu", own.cpu, "and cloud4 takes 0.05 to 16, in steps of 0.05")


def _of_setting(name: str, value: object, why: str, hint: str = "") -> Unfit:
    keys = (*_EXTENSION, name)
    return Unfit("", Problem(_CODE, f"`{'.'.join(keys)}` is `{value}`, {why}", hint), keys=keys)


def unfit_drafts(
    address: DeploymentAddress, functions: Sequence[FunctionDraft], own: Cloud4Settings
) -> Iterator[Unfit]:
    for one in functions:
        yield from (Unfit(one.name, problem) for problem in _of_function(one, own))
        for number, text in enumerate(one.triggers):
            problem = _of_trigger(one.name, json.loads(text))
            if problem is not None:
                yield Unfit(one.name, problem, number)
    yield from _of_names(address, functions)


def _of_function(one: FunctionDraft, own: Cloud4Settings) -> Iterator[Problem]:
    settings = dict(one.settings)
    runtime = settings.get("runtime", "")
    if source_runtime(runtime) is None:
        yield no_runtime(one.name, runtime)
    if settings.get("architecture", "").startswith("arm"):
        yield _problem(one.name, "asks for the architecture `arm64`, and cloud4 has x86_64 alone")
    yield from _of_memory(one, own)
    yield from _of_counts(one)
    yield from tag_problems(one.name, one.tags)
    for name in sorted(filter(is_reserved, one.variables)):
        why = f"sets `{name}`, which its runtime there sets itself"
        yield _problem(one.name, why, "give it another name")
    if len(one.triggers) > _TRIGGERS:
        why = f"has {len(one.triggers)} triggers, and cloud4 takes {_TRIGGERS} of a function"
        yield _problem(one.name, why)


def _of_memory(one: FunctionDraft, own: Cloud4Settings) -> Iterator[Problem]:
    memory = memory_in(one.settings)
    if memory < _LEAST_MEMORY or memory % _MEMORY_STEP:
        why = f"asks for {memory} MB, and cloud4 takes 128 MB and more, in steps of 64"
        near = max(_LEAST_MEMORY, -(-memory // _MEMORY_STEP) * _MEMORY_STEP)
        yield _problem(one.name, why, f"take {near} MB")
    elif own.cpu and not fits_cpu(memory, own.cpu):
        why = f"has {memory} MB and a `cpu` of {own.cpu:g}, and cloud4 takes 1 to 4 GB for each"
        yield _problem(one.name, why, f"leave `cpu` out, and it is {cpu_of(memory):g} here")


def _of_counts(one: FunctionDraft) -> Iterator[Problem]:
    reserved, _ = told_counts(dict(told_settings(one.settings)).get("concurrency", ""))
    if reserved == 0:
        why = "asks for `reservedConcurrency: 0`, and fabric switches no function off at cloud4"
        yield _problem(one.name, why, "take its triggers away, or leave it out")
    if one.provisioned_concurrency:
        why = "asks for `provisionedConcurrency`, which fabric does not set at cloud4"
        yield _problem(one.name, why, "leave it out: an instance is made where a call comes")


def _of_trigger(function: str, trigger: Mapping[str, object]) -> Problem | None:
    match trigger.get("type"):
        case "http":
            return _of_http(function, trigger)
        case "cron":
            return _of_cron(function, trigger)
        case kind:
            why = f"has a trigger of the type `{kind}`, which fabric does not make at cloud4 yet"
            return _problem(function, why, "fabric makes http and cron there")


def _of_http(function: str, trigger: Mapping[str, object]) -> Problem | None:
    if trigger.get("authorizer"):
        why = "asks for an authorizer, and fabric makes none at cloud4"
        return _problem(function, why, "check who calls in the handler itself")
    return None


def _of_cron(function: str, trigger: Mapping[str, object]) -> Problem | None:
    schedule = str(trigger.get("schedule", ""))
    try:
        schedule_of(schedule)
    except ValueError as error:
        why = f"has the schedule `{schedule}`, which cloud4 cannot keep: {error}"
        return _problem(function, why, "write it as five cron fields")
    return None


def _of_names(address: DeploymentAddress, functions: Sequence[FunctionDraft]) -> Iterator[Unfit]:
    taken: dict[str, str] = {}
    for one in functions:
        name = function_name(address, one.name)
        first = taken.setdefault(name, one.name)
        if first != one.name:
            why = f"would be called `{name}` at cloud4, and so would `{first}`"
            yield Unfit(one.name, _problem(one.name, why, "rename one of the two"))


def _problem(function: str, why: str, hint: str = "") -> Problem:
    return Problem(_CODE, f"function `{function}` {why}", hint)
