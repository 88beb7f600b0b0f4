"""Settings that Kubernetes does not support, found without a call."""

import json
from collections.abc import Iterator, Sequence

from fabric.model.problems import Problem
from fabric.providers.cluster.names import build_object_name
from fabric.providers.cluster.objects import find_pod_runtime
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.triggers import convert_to_five_fields

_CODE = "config/unfit"
# The container has them from us; and `PORT` is where it is asked.
_RESERVED = frozenset(("FABRIC_SAID", "FABRIC_CODE", "FABRIC_WORK", "FABRIC_EVENT", "PORT"))


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


def missing_image_problem(function: str, runtime: str) -> Problem:
    why = f"has the runtime `{runtime}`, which has no public image"
    return _function_problem(
        function, why, "use nodejs18.x to nodejs24.x, or python3.11 to python3.14"
    )


def _find_function_problems(one: FunctionDraft) -> Iterator[Problem]:
    runtime = dict(one.settings).get("runtime", "")
    if find_pod_runtime(runtime) is None:
        yield missing_image_problem(one.name, runtime)
    for name in sorted(_RESERVED.intersection(one.variables)):
        why = f"sets `{name}`, which fabric sets in the container"
        yield _function_problem(one.name, why, "rename the variable")


def _find_trigger_problem(function: str, trigger: dict[str, object]) -> Problem | None:
    if trigger.get("type") == "cron":
        schedule = str(trigger.get("schedule", ""))
        try:
            convert_to_five_fields(schedule)
        except ValueError as error:
            why = f"has the schedule `{schedule}`, which a CronJob does not support: {error}"
            return _function_problem(function, why, "use five cron fields")
    if trigger.get("type") == "http" and trigger.get("authorizer"):
        why = "has an `authorizer`, which an Ingress does not support"
        return _function_problem(
            function, why, "authorize requests in the function, or in front of the Ingress"
        )
    return None


def _find_name_conflicts(
    address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    found: dict[str, str] = {}
    for one in functions:
        name = build_object_name(address, one.name)
        other = found.setdefault(name, one.name)
        if other != one.name:
            why = f"would be named `{name}` in the cluster, which conflicts with `{other}`"
            yield Unsupported(one.name, _function_problem(one.name, why, "rename one of them"))


def _function_problem(function: str, why: str, hint: str = "") -> Problem:
    return Problem(_CODE, f"function `{function}` {why}", hint)
