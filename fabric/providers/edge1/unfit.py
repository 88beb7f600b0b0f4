"""What of a config edge1 would refuse, or fabric cannot do there, as far as no call is needed."""

import json
from collections.abc import Iterator, Mapping, Sequence

from fabric.model.concurrency import told_counts, told_settings
from fabric.model.problems import Problem
from fabric.providers.contract import DeploymentAddress, FunctionDraft, Unfit
from fabric.providers.edge1.crons import own_schedule
from fabric.providers.edge1.own_settings import worker_name

_CODE = "config/unfit"
_MEMORY = 128
_VARIABLES = 128


def unfit_drafts(address: DeploymentAddress, functions: Sequence[FunctionDraft]) -> Iterator[Unfit]:
    for one in functions:
        yield from (Unfit(one.name, problem) for problem in _of_function(one))
        for number, text in enumerate(one.triggers):
            problem = _of_trigger(one.name, json.loads(text))
            if problem is not None:
                yield Unfit(one.name, problem, number)
    yield from _of_names(address, functions)


def _of_function(one: FunctionDraft) -> Iterator[Problem]:
    settings = dict(one.settings)
    runtime = settings.get("runtime", "")
    if not runtime.startswith("nodejs"):
        why = f"has the runtime `{runtime}`, and edge1 runs JavaScript alone"
        yield _problem(one.name, why, "deploy it to another provider, or write it in TypeScript")
    memory = settings.get("memory", "")
    if memory.isdigit() and int(memory) > _MEMORY:
        yield _problem(one.name, f"asks for {memory} MB, and a Worker has {_MEMORY}")
    reserved, _ = told_counts(dict(told_settings(one.settings)).get("concurrency", ""))
    asked = {
        "reservedConcurrency": reserved is not None,
        "provisionedConcurrency": bool(one.provisioned_concurrency),
    }
    for name in (name for name, is_asked in asked.items() if is_asked):
        why = f"asks for `{name}`, which edge1 does not have"
        yield _problem(one.name, why, "leave it out: as many run as are called")
    if len(one.variables) > _VARIABLES:
        why = f"has {len(one.variables)} variables, and edge1 takes {_VARIABLES}"
        yield _problem(one.name, why)


def _of_trigger(function: str, trigger: Mapping[str, object]) -> Problem | None:
    match trigger.get("type"):
        case "http":
            return _of_http(function, trigger)
        case "cron":
            return _of_cron(function, trigger)
        case kind:
            why = f"has a trigger of the type `{kind}`, which edge1 does not have"
            return _problem(function, why, "edge1 has http and cron")


def _of_http(function: str, trigger: Mapping[str, object]) -> Problem | None:
    if not trigger.get("authorizer"):
        return None
    why = "asks for an authorizer, and fabric makes none at edge1"
    return _problem(function, why, "check who calls in the handler itself")


def _of_cron(function: str, trigger: Mapping[str, object]) -> Problem | None:
    schedule, zone = str(trigger.get("schedule", "")), str(trigger.get("timezone") or "")
    try:
        own_schedule(schedule, zone)
    except ValueError as error:
        why = f"has the schedule `{schedule}`, which edge1 cannot keep: {error}"
        return _problem(function, why, "write it as five fields in UTC")
    return None


def _of_names(address: DeploymentAddress, functions: Sequence[FunctionDraft]) -> Iterator[Unfit]:
    taken: dict[str, str] = {}
    for one in functions:
        name = worker_name(address, one.name)
        first = taken.setdefault(name, one.name)
        if first != one.name:
            why = f"would be the Worker `{name}`, and so would `{first}`"
            yield Unfit(one.name, _problem(one.name, why, "rename one of the two"))


def _problem(function: str, why: str, hint: str = "") -> Problem:
    return Problem(_CODE, f"function `{function}` {why}", hint)
