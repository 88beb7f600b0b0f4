"""Settings that Kubernetes does not support, found without a call."""

from collections.abc import Iterator, Sequence
from functools import partial

from fabric.model.problems import Problem
from fabric.providers.cluster.client import ClusterSettings
from fabric.providers.cluster.object_settings import find_object_setting_problems
from fabric.providers.cluster.objects import build_object_name
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.limits import (
    Trigger,
    find_draft_problems,
    find_name_conflicts,
    find_registry_problems,
    find_schedule_problems,
    function_problem,
)
from fabric.providers.core.serving import SERVER_VARIABLES, find_server_runtime
from fabric.providers.core.triggers import convert_to_five_fields


def find_unsupported(
    own: ClusterSettings, address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    yield from find_registry_problems("cluster-orchestrator", own.registry, functions)
    yield from find_object_setting_problems(own.objects, functions)
    yield from find_draft_problems(functions, _find_function_problems, _find_trigger_problems)
    yield from find_name_conflicts(
        functions, partial(build_object_name, address), "named `{}` in the cluster"
    )


def missing_image_problem(function: str, runtime: str) -> Problem:
    why = f"has the runtime `{runtime}`, which has no public image"
    return function_problem(
        function, why, "use nodejs18.x to nodejs24.x, python3.11 to python3.14, or provided.al2023"
    )


def _find_function_problems(one: FunctionDraft) -> Iterator[Problem]:
    runtime = dict(one.settings).get("runtime", "")
    if find_server_runtime(runtime) is None:
        yield missing_image_problem(one.name, runtime)
    for name in sorted(SERVER_VARIABLES.intersection(one.variables)):
        why = f"sets `{name}`, which fabric sets in the container"
        yield function_problem(one.name, why, "rename the variable")


def _find_trigger_problems(one: FunctionDraft, trigger: Trigger) -> Iterator[Problem]:
    if trigger.get("type") == "cron":
        yield from find_schedule_problems(one.name, trigger, convert_to_five_fields, "a CronJob")
    if trigger.get("type") == "http" and trigger.get("authorizer"):
        why = "has an `authorizer`, which an Ingress does not support"
        yield function_problem(
            one.name, why, "authorize requests in the function, or in front of the Ingress"
        )
