"""Settings that AWS or fabric does not support there, found without an API call."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from fabric.config.schema.triggers import BROKER_ACCESS, SCHEDULER_OPTIONS
from fabric.model.calls.concurrency import format_settings, parse_concurrency
from fabric.model.calls.cors import Cors
from fabric.model.calls.mapped_events import INTEGRATION
from fabric.model.catalog import FUNCTION_NAME, find_provider_facts
from fabric.model.late_values import find_late_names
from fabric.model.problems import Problem
from fabric.model.task import Pairs
from fabric.model.text.spelling import suggest_spelling
from fabric.providers.cloud1.core.function_settings import STANDARD_STORAGE
from fabric.providers.cloud1.core.permissions import Arn
from fabric.providers.cloud1.core.policies import (
    LONGEST_POLICY,
    build_policies,
    list_statement_faults,
)
from fabric.providers.cloud1.core.versions import (
    RUNTIMES,
    OwnSettings,
    build_function_name,
    find_rename_problem,
)
from fabric.providers.cloud1.events.buckets import find_bucket_overlaps
from fabric.providers.cloud1.events.events import BUS_EVENTS, find_wire_problems
from fabric.providers.cloud1.functions.layers import LAYER_VERSION
from fabric.providers.cloud1.functions.scaling import SCALING, build_actions
from fabric.providers.cloud1.http.gateway_plan import parse_trigger_cors
from fabric.providers.cloud1.http.http_limits import (
    RETENTION_DAYS,
    find_http_problems,
    find_trigger_problems,
    is_default_known,
)
from fabric.providers.cloud1.http.rest_limits import find_rest_problems
from fabric.providers.core.contract import (
    DeploymentAddress,
    FunctionDraft,
    LiveFunction,
    Unsupported,
)
from fabric.providers.core.limits import (
    find_changed_type,
    find_name_conflicts,
    function_problem,
    unsupported_setting,
)

_MOST_ROUTES = 300
_ANY_PLACE = Arn("aws", "eu-central-1", "1" * 12)
# Pairs a family with its first version that can start from a snapshot.
_SNAPSHOTS = {"java": 11, "python3.": 12, "dotnet": 8}
_MOST_LAYERS = 5
_INTERPRETED = re.compile(r"nodejs(18|20|22|24)\.x|python3\.(9|1[0-4])")
# Also empty, or a reference that was not read.
_ARN_OR_UNREAD = re.compile(r"arn:|\$\{|$")
_SOURCE = re.compile(r"arn:[a-z-]+:(?:sqs|events):([a-z0-9-]+):.*")
_ORIGIN = re.compile(r"\*|null|\$\{.*|[a-z][a-z0-9+.-]*://[^\s/*'\"$#\\]+")
_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]+")
# Those that the runtime sets itself, and takes from nobody.
_RESERVED = frozenset(
    """
    _HANDLER _X_AMZN_TRACE_ID AWS_DEFAULT_REGION AWS_REGION AWS_EXECUTION_ENV
    AWS_LAMBDA_FUNCTION_NAME AWS_LAMBDA_FUNCTION_MEMORY_SIZE AWS_LAMBDA_FUNCTION_VERSION
    AWS_LAMBDA_INITIALIZATION_TYPE AWS_LAMBDA_LOG_GROUP_NAME AWS_LAMBDA_LOG_STREAM_NAME
    AWS_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
    AWS_LAMBDA_RUNTIME_API LAMBDA_TASK_ROOT LAMBDA_RUNTIME_DIR
    """.split()
)


def find_unsupported(
    own: OwnSettings, address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    for one in functions:
        yield from (
            Unsupported(one.name, problem) for problem in _find_function_problems(one, address)
        )
        for number, text in enumerate(one.triggers):
            for problem in _find_trigger_problems(one.name, json.loads(text), own, address.region):
                yield Unsupported(one.name, problem, number)
        yield from _find_wire_problems(address, one)
        yield from _find_setting_problems(one)
    yield from _find_boundary_problems(own.iam.boundary)
    yield from find_http_problems(own.http, [one.name for one in functions], address.region)
    named = replace(address, function_names=_list_function_names(functions), previous=None)
    form = "named `{}` at AWS"
    yield from find_name_conflicts(functions, partial(build_function_name, named), form)
    yield from find_bucket_overlaps(functions)
    yield from _find_cors_conflicts(functions)
    yield from find_rest_problems(own.http, address, functions)
    if own.http.is_rest:
        yield from _find_origin_conflicts(functions)
    else:
        yield from _find_excess_routes(functions)


def _find_boundary_problems(boundary: str) -> Iterator[Unsupported]:
    if not _ARN_OR_UNREAD.match(boundary) and not find_late_names(boundary):
        why = f"`{boundary}`, which is not an ARN"
        keys = ("extensions", "cloud1-lambda", "iam")
        yield unsupported_setting(keys, "boundary", why, "use the ARN of a managed policy")


def _list_function_names(functions: Sequence[FunctionDraft]) -> Pairs:
    return tuple((one.name, dict(one.settings).get(FUNCTION_NAME, "")) for one in functions)


def _has_runtime(address: DeploymentAddress, runtime: str) -> bool:
    facts = find_provider_facts(address.provider_id)
    commands = facts.platform.command_runtimes if facts else ()
    return runtime in commands or _INTERPRETED.fullmatch(runtime) is not None


def _find_function_problems(one: FunctionDraft, address: DeploymentAddress) -> Iterator[Problem]:
    settings = dict(one.settings)
    runtime, is_image = settings.get("runtime", ""), settings.get("package") == "image"
    yield from _find_image_problems(one, address, is_image=is_image)
    if not is_image and not _has_runtime(address, RUNTIMES.get(runtime, runtime)):
        yield function_problem(
            one.name, f"has the runtime `{runtime}`, which AWS Lambda does not support"
        )
    for name in sorted(one.variables):
        why = _explain_bad_variable(name)
        if why:
            yield function_problem(one.name, f"sets `{name}`, {why}", "rename the variable")
    reserved, provisioned = _parse_counts(dict(one.settings))
    if provisioned and reserved is not None and provisioned > reserved:
        why = (
            f"has `provisionedConcurrency: {provisioned}`, which exceeds its "
            f"`reservedConcurrency: {reserved}`"
        )
        yield function_problem(one.name, why, "increase `reservedConcurrency`")
    renamed = find_rename_problem(address, one.name, settings)
    if renamed is not None:
        yield renamed
    yield from _find_layer_problems(one, address)
    yield from _find_durable_problems(one, address)


def _find_durable_problems(one: FunctionDraft, address: DeploymentAddress) -> Iterator[Problem]:
    """AWS enables durable executions only when a function is created."""
    record = address.previous.function(one.name) if address.previous else None
    if record is None or not record.resource_id:
        return
    is_durable = "durable" in dict(one.settings)
    if is_durable != ("durable" in dict(record.settings)):
        verb = "adds" if is_durable else "removes"
        why = f"{verb} `durable`, which AWS allows only for a new function"
        yield function_problem(one.name, why, "deploy it under another name")


def _find_image_problems(
    one: FunctionDraft, address: DeploymentAddress, *, is_image: bool
) -> Iterator[Problem]:
    yield from find_changed_type(one, address, "AWS Lambda")
    if is_image and (one.layers or one.own_layers):
        why, hint = "is an image and has `layers`", "copy their files into the image"
        yield function_problem(one.name, why, hint)


def _find_layer_problems(one: FunctionDraft, address: DeploymentAddress) -> Iterator[Problem]:
    count = len(one.layers) + len(one.own_layers)
    if count > _MOST_LAYERS:
        why = f"has {count} layers; the maximum of AWS Lambda is {_MOST_LAYERS}"
        yield function_problem(one.name, why, "join layers")
    for layer in one.layers:
        found = LAYER_VERSION.fullmatch(layer)
        if found is None and not find_late_names(layer):
            yield function_problem(
                one.name, f"has the layer `{layer}`, which is not the ARN of a layer version"
            )
        elif found and address.region and found[2] != address.region:
            why = f"is deployed to {address.region}, and its layer `{layer}` is in another region"
            yield function_problem(one.name, why, "use a layer in the region of the function")


def _parse_counts(settings: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Parse the reserved and the provisioned concurrency."""
    return parse_concurrency(dict(format_settings(tuple(settings.items()))).get("concurrency", ""))


def _explain_bad_variable(variable: str) -> str:
    if variable in _RESERVED:
        return "which AWS Lambda reserves"
    if not _VARIABLE.fullmatch(variable):
        return (
            "which is not a valid name: names start with a letter and have at least two characters"
        )
    return ""


def _find_trigger_problems(
    function: str, trigger: dict[str, Any], own: OwnSettings, region: str
) -> Iterator[Problem]:
    is_defined = trigger.get("authorizer") or is_default_known(own.http)
    if trigger.get("type") == "http" and is_defined:
        yield from find_trigger_problems(own.http, own.http.authorizers, function, trigger)
    source = str(trigger.get("queue") or trigger.get("bus") or "")
    found = _SOURCE.fullmatch(source)
    if found and region and found[1] != region:
        why = (
            f"is deployed to {region}, and the source `{source}` of its trigger is in "
            "another region"
        )
        yield function_problem(function, why, "use a queue or bus in the region of the function")
    yield from (function_problem(function, why, hint) for why, hint in find_event_faults(trigger))
    if source.endswith(".fifo") and trigger.get("maximumBatchingWindowSeconds"):
        why = f"has a batching window for the FIFO queue `{source}`, which AWS does not support"
        yield function_problem(function, why, "remove `maximumBatchingWindowSeconds`")


def find_event_faults(trigger: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Find options of event sources that AWS rejects or cannot combine, each with a hint."""
    queues = {key: str(trigger.get(key) or "") for key in ("deadLetter", "onFailure")}
    for key, queue in queues.items():
        if not (_ARN_OR_UNREAD.match(queue) or find_late_names(queue)):
            why = f"has a trigger with the {key} `{queue}`, which is not an ARN"
            yield why, "use the ARN of a queue, or an output that contains it"
    key, service = _SERVICES.get(str(trigger.get("type")), ("", ""))
    source = str(trigger.get(key) or "")
    if source.startswith("arn:") and source.split(":")[2] != service:
        why = f"has a trigger with the {key} `{source}`, which is not an ARN of `{service}`"
        yield why, f"use an ARN such as `arn:aws:{service}:...`"
    for one in trigger.get("filters") or ():
        if not _is_filter(one):
            why = f"has the filter `{json.dumps(one)}`, which is not a map with lists of values"
            yield why, "use a filter such as `{body: {kind: [order]}}`"
    yield from _find_source_faults(trigger)


def _is_filter(node: object) -> bool:
    """Return whether all values of a filter are in lists."""
    if isinstance(node, str) and find_late_names(node):
        return True
    return isinstance(node, dict) and all(
        isinstance(value, list) or _is_filter(value) for value in node.values()
    )


def _find_source_faults(trigger: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if trigger.get("type") == "logstream":
        sources = [key for key in ("stream", "cluster", "brokers") if trigger.get(key)]
        if len(sources) > 1:
            yield f"sets both `{sources[0]}` and `{sources[1]}` in a trigger", "remove one of them"
        yield from _find_broker_faults(trigger)
    if trigger.get("type") == "storage" and trigger.get("viaEventBus"):
        for event in trigger["events"]:
            if event.partition(":")[2] not in BUS_EVENTS:
                why = f"subscribes to `{event}`, which EventBridge does not distinguish"
                known = ", ".join(f"`objstore1:{one}`" for one in BUS_EVENTS)
                yield why, f"use one of {known}, or remove `viaEventBus`"
    if trigger.get("type") == "cron":
        yield from _find_schedule_faults(trigger)


def _find_broker_faults(trigger: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for broker in trigger.get("brokers") or ():
        if not _WITH_PORT.fullmatch(broker) and not find_late_names(broker):
            why = f"has the broker `{broker}`, which is not an address with a port"
            yield why, f"use an address such as `{broker.partition(':')[0]}:9092`"
    for one in trigger.get("access") or ():
        secret = one.get("secret", "")
        is_used = BROKER_ACCESS[one["type"]] == "secret" and secret
        if is_used and not secret.startswith("arn:") and not find_late_names(secret):
            why = f"has an `access` with the secret `{secret}`, which is not an ARN"
            yield why, "use the ARN of the secret in Secrets Manager"


def _find_schedule_faults(trigger: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    asked = sorted({one.name for one in SCHEDULER_OPTIONS} & trigger.keys())
    asked += ["at(...)"] if str(trigger.get("schedule", "")).startswith("at(") else []
    if trigger.get("method") == "rule" and asked:
        why = f"has a schedule with `{asked[0]}`, which a rule does not support"
        yield why, "remove it, or use `method: scheduler`"
    start, end = trigger.get("start"), trigger.get("end")
    if start and end and datetime.fromisoformat(start) >= datetime.fromisoformat(end):
        yield "has a schedule that ends before it starts", "correct `start` or `end`"


def _find_wire_problems(address: DeploymentAddress, one: FunctionDraft) -> Iterator[Unsupported]:
    """Check each trigger separately, and then together with the earlier ones."""
    fitting: tuple[str, ...] = ()
    for number, text in enumerate(one.triggers):
        for triggers in ((text,), (*fitting, text)):
            function = LiveFunction(one.name, "", "", triggers=triggers)
            problems = find_wire_problems(address, function)
            if problems:
                yield from (Unsupported(one.name, problem, number) for problem in problems)
                break
        else:
            fitting = (*fitting, text)


def _list_cors(functions: Sequence[FunctionDraft]) -> list[tuple[str, int, Cors]]:
    return [
        (one.name, number, cors)
        for one in functions
        for number, text in enumerate(one.triggers)
        if (trigger := json.loads(text)).get("type") == "http"
        and (cors := parse_trigger_cors(trigger))
    ]


def _find_origin_conflicts(functions: Sequence[FunctionDraft]) -> Iterator[Unsupported]:
    """Check the origins of a REST API, which templates compare, or which responses contain."""
    triggers = {one.name: [json.loads(text) for text in one.triggers] for one in functions}
    all_cors = _list_cors(functions)
    origins: dict[str, set[str]] = {}
    for name, number, cors in all_cors:
        origins.setdefault(str(triggers[name][number].get("path")), set()).update(cors.origins)
    for name, number, cors in all_cors:
        trigger = triggers[name][number]
        several = origins[str(trigger.get("path"))]
        bad = next((one for one in cors.origins if not _is_origin(one)), "")
        if bad:
            why = f"allows the origin `{bad}` (CORS), which is not a scheme and a host"
            hint = "use an origin such as https://shop.example, or `*` for all"
            yield Unsupported(name, function_problem(name, why, hint), number)
        elif trigger.get("integration") == INTEGRATION and len(several - {"*"}) > 1:
            why = "allows several origins (CORS), and `integration: lambda` responds with one"
            hint = "allow one origin or all, or use the integration `proxy`"
            yield Unsupported(name, function_problem(name, why, hint), number)


def _is_origin(text: str) -> bool:
    return _ORIGIN.fullmatch(text) is not None or bool(find_late_names(text))


def _find_cors_conflicts(functions: Sequence[FunctionDraft]) -> Iterator[Unsupported]:
    """Check the CORS settings of routes, which share one configuration per API."""
    allowed = _list_cors(functions)
    if any(cors.credentials for *_, cors in allowed):
        for name, number, cors in allowed:
            if "*" in cors.origins:
                why = "allows credentials from all origins (CORS)"
                hint = "list the origins: AWS and browsers reject `*` with credentials"
                yield Unsupported(name, function_problem(name, why, hint), number)


def _find_excess_routes(functions: Sequence[FunctionDraft]) -> Iterator[Unsupported]:
    routes = [
        (one.name, number)
        for one in functions
        for number, text in enumerate(one.triggers)
        if json.loads(text).get("type") == "http"
    ]
    if len(routes) > _MOST_ROUTES:
        name, number = routes[_MOST_ROUTES]
        why = (
            f"has route {_MOST_ROUTES + 1:,} of {len(routes):,}; the maximum is "
            f"{_MOST_ROUTES} per HTTP API"
        )
        yield Unsupported(name, function_problem(name, why, "split the service in two"), number)


def _find_setting_problems(one: FunctionDraft) -> Iterator[Unsupported]:
    """Find settings that AWS rejects together."""
    settings = dict(one.settings)
    for key, why, hint in _find_conflicts(settings):
        yield Unsupported(one.name, function_problem(one.name, why, hint), keys=(key,))


def _find_conflicts(settings: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    if "permissions" in settings:
        yield from _find_permission_conflicts(settings)
    logs = json.loads(settings.get("logs", "{}"))
    days = logs.get("retentionDays")
    if isinstance(days, int) and days and days not in RETENTION_DAYS:
        near = min(RETENTION_DAYS, key=lambda one: abs(one - days))
        why = f"keeps logs for {days} days, which AWS does not support"
        yield "logs", why, f"use {near}"
    if logs.get("format", "text") != "json" and {"level", "systemLevel"} & logs.keys():
        yield (
            "logs",
            "sets a log level, which requires JSON logs",
            "set `format: json` below `logs`",
        )
    yield from _find_malformed_names(settings)
    if "fileSystem" in settings and "vpc" not in settings:
        yield "fileSystem", "has a file system, which requires `vpc`", "add `vpc`"
    yield from _find_scaling_conflicts(settings)
    if "durable" in settings and not _can_be_durable(settings):
        why = f"sets `durable`, which AWS does not support for `{settings.get('runtime', '')}`"
        yield "durable", why, "use Node.js 22, Python 3.13, or a later version"
    if "snapStart" in settings:
        if _parse_counts(settings)[1]:
            why = "sets `snapStart`, which AWS does not support with `provisionedConcurrency`"
            yield "snapStart", why, "remove one of them"
        yield from _find_snapshot_conflicts(settings)


def _find_malformed_names(settings: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Find ARNs and ids that belong to other resources, and an age that AWS does not store."""
    role, vpc = settings.get("role", ""), json.loads(settings.get("vpc", "{}")) or {}
    rows = [("role", role, _ROLE, "the ARN of an IAM role")] if role else []
    rows += [("vpc", one, _SUBNET, "the ID of a subnet") for one in vpc.get("subnetIds", ())]
    rows += [
        ("vpc", one, _GROUP, "the ID of a security group")
        for one in vpc.get("securityGroupIds", ())
    ]
    for key, text, form, noun in rows:
        if not form.match(text) and not find_late_names(text):
            yield key, f"has `{key}` with `{text}`, which is not {noun}", ""
    url = settings.get("url", "")
    cors = json.loads(url).get("cors") if url.startswith("{") else None
    age = cors.get("maxAge") if isinstance(cors, dict) else None
    if isinstance(age, int) and age > _LONGEST_AGE:
        why = f"has a `url` with `maxAge: {age}` (CORS); the maximum is {_LONGEST_AGE}"
        yield "url", why, f"use {_LONGEST_AGE} or less"


def _find_scaling_conflicts(settings: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    scaling = json.loads(settings.get(SCALING, "{}"))
    rows = (scaling, *scaling.get("schedules", ()))
    # A schedule that changes one limit keeps the other one, which also schedules can have set.
    widest = {
        key: choose(one[key] for one in rows if key in one)
        for key, choose in (("min", min), ("max", max))
        if any(key in one for one in rows)
    }
    for one in rows:
        both = {**widest, **one}
        if "min" in both and "max" in both and both["min"] > both["max"]:
            why = f"has a `{SCALING}` with `min: {both['min']}` over `max: {both['max']}`"
            yield SCALING, why, "increase `max`"
    reserved, _ = _parse_counts(settings)
    if reserved is not None and scaling.get("max", 0) > reserved >= scaling["min"]:
        why = f"scales to {scaling['max']} instances, above its `reservedConcurrency: {reserved}`"
        yield SCALING, why, "increase `reservedConcurrency`"
    for one in scaling.get("schedules", ()):
        if not {"min", "max"} & one.keys():
            why = f"has a schedule of `{SCALING}` without a number"
            yield SCALING, why, "set `min` or `max`"
        yield from _find_zone_faults(str(one.get("timezone", "UTC")))
    try:
        list(build_actions(scaling))
    except ValueError as error:
        yield SCALING, f"has an invalid schedule of `{SCALING}`: {error}", ""


def _find_zone_faults(zone: str) -> Iterator[tuple[str, str, str]]:
    from fabric.model.time.time_zones import TIME_ZONES  # few configs name one

    if zone not in TIME_ZONES:
        why = f"has a schedule of `{SCALING}` with the unknown time zone `{zone}`"
        hint = suggest_spelling(zone, TIME_ZONES) or "use a name such as Europe/Berlin"
        yield SCALING, why, hint


def _can_be_durable(settings: Mapping[str, str]) -> bool:
    if settings.get("package") == "image":
        return True
    runtime = settings.get("runtime", "")
    found = _DURABLE.fullmatch(RUNTIMES.get(runtime, runtime))
    return found is not None and int(found[1] or found[2]) >= (22 if found[1] else 13)


# The service of the ARN of a source, by the type of the trigger.
_SERVICES = {"queue": ("queue", "sqs"), "pubsub": ("topic", "sns")}
# Also a reference that was not read.
_ROLE = re.compile(r"arn:[a-z-]+:iam::\d*:role/|\$\{")
_SUBNET = re.compile(r"subnet-|\$\{")
_GROUP = re.compile(r"sg-|\$\{")
# Seconds.
_LONGEST_AGE = 86_400
_WITH_PORT = re.compile(r"\S+:\d{1,5}")
_DURABLE = re.compile(r"nodejs(\d+)\.x|python3\.(\d+)")


def _find_permission_conflicts(settings: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    if "role" in settings:
        why = "has both `permissions`, for which fabric creates a role, and `role`"
        yield "role", why, "remove one of them"
    for fault in list_statement_faults(settings["permissions"]):
        yield "permissions", f"has invalid permissions: {fault}", ""
    length = len(build_policies(settings, (), _ANY_PLACE).document)
    if length > LONGEST_POLICY:
        why = (
            f"has permissions of {length:,} characters; the maximum of one role is "
            f"{LONGEST_POLICY:,}"
        )
        yield "permissions", why, "use managed policies, or fewer statements with wildcards"


def _find_snapshot_conflicts(settings: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    runtime = settings.get("runtime", "")
    if not _can_start_from_snapshot(runtime):
        why = f"sets `snapStart`, which AWS does not support for the runtime `{runtime}`"
        yield "snapStart", why, "use Java 11, Python 3.12 or .NET 8, or a later version"
    if "fileSystem" in settings or int(settings.get("ephemeralStorage", "0")) > STANDARD_STORAGE:
        why = "sets `snapStart`, which AWS does not support with a file system or a larger /tmp"
        yield "snapStart", why, "remove `snapStart`, or the other setting"
    if settings.get("package") == "image":
        why = "sets `snapStart`, which AWS does not support for images"
        yield "snapStart", why, "remove `snapStart`, or deploy an archive"


def _can_start_from_snapshot(runtime: str) -> bool:
    for family, first in _SNAPSHOTS.items():
        version = runtime.removeprefix(family)
        if runtime.startswith(family) and version.isdecimal():
            return int(version) >= first
    return runtime == "python"
