"""Settings that Kubernetes does not support, found without a call."""

import json
from collections.abc import Iterator, Sequence

from fabric.model.problems import Problem
from fabric.providers.cluster.names import own_name
from fabric.providers.cluster.pod_files import pod_runtime
from fabric.providers.contract import DeploymentAddress, FunctionDraft, Unfit
from fabric.providers.five_fields import five_fields

_CODE = "config/unfit"
# The container has them from us; and `PORT` is where it is asked.
_RESERVED = frozenset(("FABRIC_SAID", "FABRIC_CODE", "FABRIC_WORK", "FABRIC_EVENT", "PORT"))


def unfit_drafts(address: DeploymentAddress, functions: Sequence[FunctionDraft]) -> Iterator[Unfit]:
    for one in functions:
        yield from (Unfit(one.name, problem) for problem in _of_function(one))
        for number, text in enumerate(one.triggers):
            problem = _of_trigger(one.name, json.loads(text))
            if problem is not None:
                yield Unfit(one.name, problem, number)
    yield from _same_names(address, functions)


def no_image(function: str, runtime: str) -> Problem:
    why = f"has the runtime `{runtime}`, which has no public image"
    return _problem(function, why, "use nodejs18.x to nodejs24.x, or python3.11 to python3.14")


def _of_function(one: FunctionDraft) -> Iterator[Problem]:
    runtime = dict(one.settings).get("runtime", "")
    if pod_runtime(runtime) is None:
        yield no_image(one.name, runtime)
    for name in sorted(_RESERVED.intersection(one.variables)):
        why = f"sets `{name}`, which fabric sets in the container"
        yield _problem(one.name, why, "rename the variable")


def _of_trigger(function: str, trigger: dict[str, object]) -> Problem | None:
    if trigger.get("type") == "cron":
        schedule = str(trigger.get("schedule", ""))
        try:
            five_fields(schedule)
        except ValueError as error:
            why = f"has the schedule `{schedule}`, which a CronJob does not support: {error}"
            return _problem(function, why, "use five cron fields")
    if trigger.get("type") == "http" and trigger.get("authorizer"):
        why = "has an `authorizer`, which an Ingress does not support"
        return _problem(
            function, why, "authorize requests in the function, or in front of the Ingress"
        )
    return None


def _same_names(address: DeploymentAddress, functions: Sequence[FunctionDraft]) -> Iterator[Unfit]:
    found: dict[str, str] = {}
    for one in functions:
        name = own_name(address, one.name)
        other = found.setdefault(name, one.name)
        if other != one.name:
            why = f"would be named `{name}` in the cluster, which conflicts with `{other}`"
            yield Unfit(one.name, _problem(one.name, why, "rename one of them"))


def _problem(function: str, why: str, hint: str = "") -> Problem:
    return Problem(_CODE, f"function `{function}` {why}", hint)
