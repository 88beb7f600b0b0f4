"""Settings that Azure or fabric does not support there, found without an API call."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from fabric.model.problems import Problem
from fabric.providers.cloud3.client import PROVIDER_ID, Cloud3Settings
from fabric.providers.cloud3.hosting import Hosting
from fabric.providers.cloud3.package import (
    ENVIRONMENT,
    SHARED,
    find_app_runtime,
    unsupported_runtime_problem,
)
from fabric.providers.cloud3.triggers import convert_blob_event, convert_schedule
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.limits import (
    UNFIT,
    Trigger,
    find_architecture_problems,
    find_authorizer_problems,
    find_concurrency_problems,
    find_draft_problems,
    find_name_conflicts,
    find_reserved_variables,
    find_utc_schedule_problems,
    function_problem,
    read_reserved_concurrency,
    route_conflict_problem,
    unsupported_kind_problem,
    unsupported_setting,
)
from fabric.providers.core.triggers import HttpRoute, parse_routes
from fabric.providers.core.whole_service import find_mixed_runtimes

EXTENSION = ("extensions", PROVIDER_ID)
_APP_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,58}[A-Za-z0-9]")
_STORAGE_NAME = re.compile(r"[a-z0-9]{3,24}")
# Further triggers of a function have such an end.
_FUNCTION = re.compile(r"(?!.*--[0-9]+$)[A-Za-z][A-Za-z0-9_-]{0,123}")
_QUEUE = re.compile(r"(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_REGION = re.compile(r"[a-z0-9]{3,40}")
# The load balancer of Azure ends a request after this time.
_HTTP_SECONDS = 230
_PREFIXES = ("admin", "runtime")
_RESERVED = re.compile(
    r"FABRIC_.*|AzureWebJobs.*|AzureFunctions.*|FUNCTIONS_.*|WEBSITE_.*|DEPLOYMENT_STORAGE_.*|SCM_.*"
    r"|CONTAINER_.*|HOME|PATH|PYTHONPATH|NODE_OPTIONS"
)
_OTHER_PLAN = f"set `{'.'.join(EXTENSION)}.sku` to another plan"
_RESERVED_FORM = "the variable `{}`, which Azure or fabric sets in the app"


def find_unsupported(
    own: Cloud3Settings, address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    if address.region and not _REGION.fullmatch(address.region):
        message = f"`{address.region}` is not an Azure region"
        problem = Problem(UNFIT, message, "use a region such as westeurope")
        yield Unsupported("", problem, keys=("provider", "region"))
    yield from _find_setting_problems(own)
    find_function = partial(_find_function_problems, own.hosting)
    yield from find_draft_problems(functions, find_function, _find_trigger_problems)
    yield from find_mixed_runtimes(functions, SHARED)
    yield from find_name_conflicts(functions, str.lower, "named `{}` on Azure")
    yield from _find_route_conflicts(functions)
    yield from ENVIRONMENT.find_unsupported(functions)


def _find_setting_problems(own: Cloud3Settings) -> Iterator[Unsupported]:
    if own.app_name and not _APP_NAME.fullmatch(own.app_name):
        hint = "use 2 to 60 characters: a-z, 0-9 and hyphens"
        yield unsupported_setting(EXTENSION, "appName", "not the name of a function app", hint)
    if own.storage_account and not _STORAGE_NAME.fullmatch(own.storage_account):
        hint = "use 3 to 24 characters: a-z and 0-9"
        yield unsupported_setting(
            EXTENSION, "storageAccount", "not the name of a storage account", hint
        )
    least, most = own.hosting.instances
    if not least <= own.maximum_instances <= most:
        why = f"not allowed for {own.hosting.title}"
        hint = f"use {least} to {most}"
        yield unsupported_setting(EXTENSION, "maximumInstances", why, hint)


def _find_function_problems(hosting: Hosting, one: FunctionDraft) -> Iterator[Problem]:
    settings = dict(one.settings)
    runtime = settings.get("runtime", "")
    if find_app_runtime(runtime) is None:
        yield unsupported_runtime_problem(one.name, runtime)
    if not _FUNCTION.fullmatch(one.name) or one.name.lower() == "host":
        hint = "begin with a letter, and use no end such as `--1`"
        yield function_problem(one.name, "has a name that Azure does not allow", hint)
    if settings.get("package") == "image":
        why = "is packaged as an image, and a function app contains archives"
        yield function_problem(one.name, why, "remove `package`")
    yield from find_architecture_problems(one, "and function apps are amd64 only")
    yield from _find_size_problems(hosting, one, settings)
    yield from find_concurrency_problems(one, "an app cannot be limited to 0 instances", "Azure")
    if read_reserved_concurrency(one):
        why = "sets `reservedConcurrency`, and all functions share the instances of an app"
        hint = f"remove it, or set `maximumInstances` below `{'.'.join(EXTENSION)}`"
        yield function_problem(one.name, why, hint)
    if one.tags:
        why = f"has the tag `{one.tags[0][0]}`, and single functions have no tags on Azure"
        yield function_problem(one.name, why, "remove the tags")
    yield from find_reserved_variables(one, _RESERVED.fullmatch, _RESERVED_FORM)


def _find_size_problems(
    hosting: Hosting, one: FunctionDraft, settings: Mapping[str, str]
) -> Iterator[Problem]:
    memory, timeout = settings.get("memory", ""), settings.get("timeout", "")
    if memory.isdigit() and int(memory) > hosting.memory[-1]:
        why = f"has {memory} MB of memory; the maximum of {hosting.title} is {hosting.memory[-1]}"
        yield function_problem(one.name, why, f"reduce `memory`, or {_OTHER_PLAN}")
    if timeout.isdigit() and int(timeout) > hosting.seconds:
        why = f"has a timeout of {timeout} s; fabric allows {hosting.seconds} s on {hosting.title}"
        yield function_problem(one.name, why, f"reduce `timeout`, or {_OTHER_PLAN}")


def _find_trigger_problems(one: FunctionDraft, trigger: Trigger) -> Iterator[Problem]:
    match trigger.get("type"):
        case "http":
            yield from find_authorizer_problems(one.name, trigger, "Azure")
            yield from _find_path_problems(one, str(trigger.get("path") or "/"))
        case "cron":
            convert = convert_schedule
            yield from find_utc_schedule_problems(one.name, trigger, convert, "Azure")
        case "queue":
            yield from _find_queue_problems(one.name, trigger)
        case "storage":
            yield from _find_container_problems(one.name, trigger)
        case kind:
            hint = "use http, cron, queue or storage"
            yield unsupported_kind_problem(one.name, kind, "Azure", hint)


def _find_path_problems(one: FunctionDraft, path: str) -> Iterator[Problem]:
    if path.strip("/").lower().startswith(_PREFIXES):
        why = f"has the path `{path}`, and Azure reserves paths that begin with admin or runtime"
        yield function_problem(one.name, why, "choose another path")
    timeout = dict(one.settings).get("timeout", "")
    if timeout.isdigit() and int(timeout) > _HTTP_SECONDS:
        why = f"has a timeout of {timeout} s; Azure ends requests after {_HTTP_SECONDS} s"
        yield function_problem(one.name, why, "move the long part to a function with a queue")


def _find_queue_problems(function: str, trigger: Trigger) -> Iterator[Problem]:
    queue = str(trigger.get("queue", ""))
    if not _QUEUE.fullmatch(queue):
        why = f"has the queue `{queue}`, which is not the name of a queue of a storage account"
        hint = "use 3 to 63 characters: a-z, 0-9 and single hyphens"
        yield function_problem(function, why, hint)
    if trigger.get("enabled") is False:
        why = "has a disabled queue trigger, which fabric does not support for Azure"
        yield function_problem(function, why, "remove the trigger")


def _find_container_problems(function: str, trigger: Trigger) -> Iterator[Problem]:
    container = str(trigger.get("bucket", ""))
    if not _QUEUE.fullmatch(container):
        why = f"has the bucket `{container}`, which is not the name of a container of blobs"
        hint = "use 3 to 63 characters: a-z, 0-9 and single hyphens"
        yield function_problem(function, why, hint)
    if not trigger.get("existingBucket"):
        why = f"watches the container `{container}`, and fabric does not create containers at Azure"
        hint = (
            "create it in the account of `extensions.cloud3-functions.storageAccount`, and set "
            "`existingBucket: true`"
        )
        yield function_problem(function, why, hint)
    events = trigger.get("events")
    for event in events if isinstance(events, list) else ():
        if not convert_blob_event(str(event)):
            why = f"subscribes to `{event}`, which Azure does not have"
            hint = "use objstore1:ObjectCreated:* or objstore1:ObjectRemoved:*"
            yield function_problem(function, why, hint)


def _find_route_conflicts(functions: Sequence[FunctionDraft]) -> Iterator[Unsupported]:
    taken: dict[tuple[str, tuple[str, ...]], HttpRoute] = {}
    for row in (row for one in functions for row in parse_routes(one.name, one.triggers)):
        first = taken.setdefault((row.method, row.shape), row)
        if first is not row:
            problem = route_conflict_problem(row.function, row.title, first.title, first.function)
            yield Unsupported(row.function, problem, row.number)
