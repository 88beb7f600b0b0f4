"""Settings that Google Cloud or fabric does not support there, found without an API call."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial

from fabric.model.problems import Problem
from fabric.providers.cloud2.event_triggers import (
    EVENT_KINDS,
    TOPIC,
    convert_bucket_event,
)
from fabric.providers.cloud2.events import LONGEST
from fabric.providers.cloud2.images import find_image_problems
from fabric.providers.cloud2.revisions import find_tag_problems, is_reserved
from fabric.providers.cloud2.source import RUNTIMES
from fabric.providers.cloud2.work import Cloud2Settings, build_function_name
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.limits import (
    Trigger,
    find_architecture_problems,
    find_changed_type,
    find_draft_problems,
    find_name_conflicts,
    find_registry_problems,
    find_reserved_variables,
    find_schedule_problems,
    find_trigger_problems,
    function_problem,
    read_reserved_concurrency,
    unsupported_kind_problem,
    unsupported_setting,
)
from fabric.providers.core.serving import SERVER_VARIABLES
from fabric.providers.core.triggers import collect_trigger_kinds, convert_to_five_fields

# By Google's schedule of runtimes: what is there runs on, and can be gone back to.
_ENDED = dict.fromkeys(("nodejs20.x", "nodejs20"), "2026-10-30")
_EXTENSION = ("extensions", "cloud2-functions")
# Whose project stands in it.
_OWNED = re.compile(r"[^@\s]+@([a-z0-9-]+)\.iam\.gserviceaccount\.com")
_ACCOUNT = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def find_setting_problems(own: Cloud2Settings) -> Iterator[Unsupported]:
    """Check the settings of the whole service."""
    if own.service_account and not _ACCOUNT.fullmatch(own.service_account):
        why = f"`{own.service_account}`, which is not a service account address"
        hint = "use an address such as shop@my-project.iam.gserviceaccount.com"
        yield unsupported_setting(_EXTENSION, "serviceAccount", why, hint)
    if own.vpc_egress and not own.vpc_connector:
        why = "set without `vpcConnector`"
        yield unsupported_setting(_EXTENSION, "vpcEgress", why, "set both, or none of them")
    if own.concurrency > 1 and own.cpu < 1:
        why = f"{own.concurrency}, which requires at least one CPU"
        yield unsupported_setting(_EXTENSION, "concurrency", why, "set `cpu: 1` or more")
    for name in filter(is_reserved, sorted(own.secrets)):
        why = f"set for `{name}`, which the runtime reserves"
        yield unsupported_setting(_EXTENSION, "secrets", why, "rename the variable")


def find_unsupported_clocks(
    own: Cloud2Settings, project: str, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    """Check schedules: Cloud Scheduler uses only accounts in the same project."""
    found = _OWNED.fullmatch(own.service_account)
    if found is None or not project or found[1] == project:
        return
    for one in functions:
        kinds = [json.loads(text).get("type") for text in one.triggers]
        if "cron" in kinds:
            why = (
                f"has a schedule, and the scheduler of `{project}` cannot use "
                f"`{own.service_account}`"
            )
            hint = (
                "use a service account of that project, or move scheduled functions to "
                "another service"
            )
            yield Unsupported(one.name, function_problem(one.name, why, hint), kinds.index("cron"))


def find_unsupported(
    address: DeploymentAddress, own: Cloud2Settings, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    of_function = partial(_find_function_problems, address, own)
    yield from find_registry_problems("cloud2-functions", own.registry, functions)
    yield from find_draft_problems(functions, of_function, _find_trigger_problems)
    yield from find_name_conflicts(
        functions, partial(build_function_name, address), "named `{}` at Google Cloud"
    )


def _find_function_problems(
    address: DeploymentAddress, own: Cloud2Settings, one: FunctionDraft
) -> Iterator[Problem]:
    settings = dict(one.settings)
    runtime = settings.get("runtime", "")
    is_image = settings.get("package") == "image"
    yield from find_image_problems(one) if is_image else RUNTIMES.find_problems(one)
    yield from find_changed_type(one, address, "Google Cloud")
    if runtime in _ENDED and not is_image:
        why = (
            f"has the runtime `{runtime}`, which Google Cloud no longer builds since "
            f"{_ENDED[runtime]}"
        )
        yield function_problem(
            one.name,
            why,
            "use nodejs22.x, nodejs24.x, or python3.10 to "
            "python3.14; deployed functions keep running",
        )
    yield from find_architecture_problems(one, "and Google Cloud supports only x86_64")
    yield from _find_instance_problems(own, one)
    yield from find_tag_problems(one.name, one.tags)
    taken = SERVER_VARIABLES if is_image else frozenset[str]()
    yield from find_reserved_variables(one, lambda name: name in taken or is_reserved(name))
    for name in sorted(own.secrets.keys() & {*one.variables}):
        why = f"sets `{name}`, which `{'.'.join(_EXTENSION)}.secrets` sets too"
        yield function_problem(one.name, why, "remove one of them")
    kinds = collect_trigger_kinds(one.triggers)
    if "http" in kinds and kinds & EVENT_KINDS:
        why = "has an http trigger and a trigger for events, so every user could send it events"
        yield function_problem(one.name, why, "use one function for each of them")


def _find_instance_problems(own: Cloud2Settings, one: FunctionDraft) -> Iterator[Problem]:
    reserved, each = read_reserved_concurrency(one), max(own.concurrency, 1)
    most = reserved or own.max_instances
    if reserved == 0:
        why = "sets `reservedConcurrency: 0`, and Google Cloud cannot disable a function"
        hint = "remove its triggers, or remove `reservedConcurrency`"
        yield function_problem(one.name, why, hint)
    if reserved and each > 1:
        why = f"sets `reservedConcurrency`, and an instance serves {each} calls at the same time"
        hint = f"set `maxInstances` below `{'.'.join(_EXTENSION)}` instead"
        yield function_problem(one.name, why, hint)
    elif most and -(-(one.provisioned_concurrency or 0) // each) > most:
        why = f"sets `provisionedConcurrency` to more than its maximum of {most} instances"
        yield function_problem(one.name, why, "use a lower value")


def _find_trigger_problems(one: FunctionDraft, trigger: Trigger) -> Iterator[Problem]:
    of_cron = partial(_find_cron_problems, timeout=dict(one.settings).get("timeout", ""))
    match trigger.get("type"):
        case "pubsub":
            yield from _find_topic_problems(one.name, trigger)
        case "storage":
            yield from _find_bucket_problems(one.name, trigger)
        case "http" | "cron":
            yield from find_trigger_problems(one, trigger, "Google Cloud", of_cron)
        case kind:
            hint = "use http, cron, pubsub or storage"
            yield unsupported_kind_problem(one.name, kind, "Google Cloud", hint)


def _find_topic_problems(function: str, trigger: Trigger) -> Iterator[Problem]:
    topic = str(trigger.get("topic") or "")
    if not TOPIC.fullmatch(topic):
        why = f"has a pubsub trigger with the topic `{topic}`, which is not a valid topic name"
        yield function_problem(function, why, "set `topic` to the name of an existing topic")
    if trigger.get("subscription"):
        why = "sets `subscription`, and Eventarc always creates the subscription"
        yield function_problem(function, why, "remove `subscription`")


def _find_bucket_problems(function: str, trigger: Trigger) -> Iterator[Problem]:
    bucket = trigger.get("bucket")
    if not trigger.get("existingBucket"):
        why = f"watches the bucket `{bucket}`, and fabric does not create buckets at Google Cloud"
        yield function_problem(function, why, "create the bucket, and set `existingBucket: true`")
    events = trigger.get("events")
    for event in events if isinstance(events, list) else ():
        if not convert_bucket_event(str(event)):
            why = f"subscribes to `{event}`, which Google Cloud does not have"
            hint = "use objstore1:ObjectCreated:* or objstore1:ObjectRemoved:*"
            yield function_problem(function, why, hint)


def _find_cron_problems(function: str, trigger: Trigger, timeout: str) -> Iterator[Problem]:
    if timeout.isdigit() and int(timeout) > LONGEST:
        why = (
            f"has a timeout of {timeout} s and a schedule; Cloud Scheduler waits at most "
            f"{LONGEST:,} s"
        )
        yield function_problem(function, why)
        return
    yield from find_schedule_problems(function, trigger, convert_to_five_fields, "Google Cloud")
