"""Event sources of functions other than HTTP: rules, schedules, queues and buckets. No effects."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fabric.config.schema.triggers import BROKER_ACCESS, BUCKET_HINT, BUCKET_NAME, SCHEDULER_OPTIONS
from fabric.model.hashing import hash_fields
from fabric.model.late_values import find_late_names
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.cron_expressions import convert_cron_expression, is_bound_to
from fabric.providers.cloud1.core.permissions import parse_arn_home
from fabric.providers.cloud1.events.wires import (
    AT_TIMESTAMP,
    BrokerWire,
    BucketWire,
    MappingWire,
    QueueWire,
    RuleWire,
    ScheduleWire,
    ServiceWires,
    StreamWire,
    TopicWire,
    Wire,
    format_wire,
    read_options,
    strip_settings,
)
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.triggers import format_resource_name, shorten_name

_DIGEST = 12
_LONG_NAME = 64 - _DIGEST - 1
_SHORTENED_BY = 9
_OWNER_DIGEST = 8
_OURS, _THEIRS = "objstore1:", "s3:"


def plan_wires(
    address: DeploymentAddress, functions: Sequence[LiveFunction], role: str
) -> ServiceWires:
    """Plan all event sources. `role` is the role that schedules assume. Raises for unsupported
    ones."""
    problems: list[Problem] = []
    found: dict[str, tuple[Wire, ...]] = {}
    numbers: dict[tuple[str, Wire], int] = {}
    for one in functions:
        numbered = _number_wires(address, one, role)
        numbers |= {(one.name, wire): number for wire, number in numbered.items()}
        found[one.name] = tuple(numbered)
        problems += _find_conflicts(one.name, found[one.name])
    if problems:
        raise FabricError(*problems)
    return ServiceWires(build_owner_prefix(address), found, numbers)


def list_function_wires(address: DeploymentAddress, one: LiveFunction) -> tuple[Wire, ...]:
    """List the event sources of a function, without the role of schedules."""
    return tuple(_number_wires(address, one, ""))


def _number_wires(address: DeploymentAddress, one: LiveFunction, role: str) -> dict[Wire, int]:
    """Return each event source once, with the number of its first trigger."""
    found: dict[Wire, int] = {}
    for number, text in enumerate(one.triggers):
        for wire in _build_wires(address, one, text):
            is_timed = isinstance(wire, ScheduleWire)
            found.setdefault(replace(wire, role=role) if is_timed else wire, number)
    return found


def find_wire_problems(address: DeploymentAddress, one: LiveFunction) -> tuple[Problem, ...]:
    """List triggers that AWS cannot create, independent of existing resources."""
    try:
        return tuple(_find_conflicts(one.name, list_function_wires(address, one)))
    except FabricError as error:
        return error.problems


def build_owner_prefix(address: DeploymentAddress) -> str:
    """Return the owner hash of a service: hyphenated names can collide, hashes do not."""
    ident = hash_fields((address.service, address.stage))[:_OWNER_DIGEST]
    return f"fabric-{address.service}-{address.stage}-{ident}-"


def name_prefix(address: DeploymentAddress) -> str:
    """Return the name prefix of all rules and schedules of a service."""
    return format_resource_name(address, "")[: _LONG_NAME - _SHORTENED_BY]


class _NamedTrigger(Struct, frozen=True):
    """A trigger of a function, with the names of its resources."""

    function: LiveFunction
    keys: Mapping[str, Any]
    # Of a rule or schedule.
    name: str
    # Of an entry in a shared document.
    entry: str


def _build_wires(address: DeploymentAddress, one: LiveFunction, text: str) -> Iterator[Wire]:
    ident = hash_fields((address.service, address.stage, one.name, text))[:_DIGEST]
    name = f"{shorten_name(format_resource_name(address, one.name), _LONG_NAME)}-{ident}"
    named = _NamedTrigger(one, json.loads(text), name, build_owner_prefix(address) + ident)
    if named.keys["type"] in _BUILDERS:
        yield _BUILDERS[named.keys["type"]](named)
    if named.keys["type"] == "storage" and named.keys.get("viaEventBus"):
        pattern = json.dumps(build_bucket_pattern(named.keys), sort_keys=True)
        yield RuleWire("default", name, pattern=pattern)


def _build_rule(named: _NamedTrigger) -> Wire:
    trigger = named.keys
    pattern = json.dumps(trigger.get("pattern", {}), sort_keys=True)
    bus = read_last_part(trigger.get("bus", "default"))
    return RuleWire(bus, named.name, pattern=pattern, options=_encode_options(trigger))


def _build_stream(named: _NamedTrigger) -> Wire:
    trigger = named.keys
    position, options = trigger.get("startingPosition", "LATEST"), _encode_options(trigger)
    if "stream" in trigger:
        return StreamWire(trigger["stream"], position, options)
    source = trigger.get("cluster") or ",".join(sorted(trigger.get("brokers", ())))
    return BrokerWire(source, trigger["topic"], position, options)


def _build_broker_queue(named: _NamedTrigger) -> Wire:
    trigger = named.keys
    return BrokerWire(trigger["broker"], trigger["queue"], options=_encode_options(trigger))


def _build_topic(named: _NamedTrigger) -> Wire:
    """Use the ARN of the topic, if the function is deployed. A name and its ARN are the same."""
    topic, arn = named.keys["topic"], named.function.resource_id
    if arn.startswith("arn:") and not topic.startswith("arn:"):
        topic = parse_arn_home(arn).of("sns", topic)
    return TopicWire(topic, _encode_options(named.keys))


def _build_timed_wire(named: _NamedTrigger) -> Wire:
    name, trigger = named.name, named.keys
    said, zone = trigger["schedule"], trigger.get("timezone", "")
    try:
        schedule = convert_cron_expression(said)
    except ValueError as error:
        raise FabricError(_schedule_problem(named.function.name, said, str(error))) from error
    options = _encode_options(trigger)
    if is_bound_to(zone, schedule) or _needs_scheduler(trigger):
        group = trigger.get("group", "")
        return ScheduleWire(name, schedule, zone, options=options, group=group)
    return RuleWire("default", name, schedule, options=options)


def _needs_scheduler(trigger: Mapping[str, Any]) -> bool:
    """Return whether only EventBridge Scheduler can run it, or the config chooses it."""
    is_once = trigger["schedule"].startswith("at(")
    is_chosen = trigger.get("method") == "scheduler"
    return is_once or is_chosen or not _SCHEDULER_ONLY.isdisjoint(trigger)


_SCHEDULER_ONLY = frozenset(one.name for one in SCHEDULER_OPTIONS)


def _schedule_problem(function: str, said: str, why: str) -> Problem:
    message = f"function `{function}` has the schedule `{said}`, which AWS does not support: {why}"
    return Problem("config/unfit", message, "use two triggers instead")


def _queue(named: _NamedTrigger) -> Wire:
    trigger = named.keys
    return QueueWire(
        queue=read_last_part(trigger["queue"]),
        batch_size=trigger.get("batchSize", 10),
        window=trigger.get("maximumBatchingWindowSeconds", 0),
        response=trigger.get("functionResponseType", ""),
        is_enabled=trigger.get("enabled", True),
        arn=trigger["queue"] if trigger["queue"].startswith("arn:") else "",
        options=_encode_options(trigger),
    )


# Keys that the wires have as fields.
_FIELDS = frozenset(
    (
        *("type", "schedule", "timezone", "pattern", "bus", "stream", "startingPosition", "topic"),
        *("queue", "cluster", "brokers", "broker", "group", "method"),
    )
)
_QUEUE_FIELDS = frozenset(
    ("batchSize", "maximumBatchingWindowSeconds", "functionResponseType", "enabled")
)


def _encode_options(trigger: Mapping[str, Any]) -> str:
    known = _FIELDS | (_QUEUE_FIELDS if trigger["type"] == "queue" else frozenset())
    rest = {key: value for key, value in trigger.items() if key not in known}
    return json.dumps(rest, sort_keys=True) if rest else ""


def _build_bucket_wire(named: _NamedTrigger) -> Wire:
    trigger = named.keys
    events = (event.replace(_OURS, _THEIRS, 1) for event in trigger["events"])
    return BucketWire(
        bucket=read_last_part(trigger["bucket"]),
        name=named.entry,
        events=tuple(sorted(events)),
        prefix=trigger.get("prefix", ""),
        suffix=trigger.get("suffix", ""),
        is_existing=trigger.get("existingBucket", False),
        is_via_bus=trigger.get("viaEventBus", False),
    )


_BUILDERS: Mapping[str, Callable[[_NamedTrigger], Wire]] = {
    "cron": _build_timed_wire,
    "eventbus": _build_rule,
    "queue": _queue,
    "logstream": _build_stream,
    "amqp": _build_broker_queue,
    "pubsub": _build_topic,
    "storage": _build_bucket_wire,
}
# The detail types of EventBridge for the events of a bucket.
BUS_EVENTS = {
    "ObjectCreated:*": ("Object Created",),
    "ObjectRemoved:*": ("Object Deleted",),
    "ObjectRestore:*": (
        "Object Restore Completed",
        "Object Restore Expired",
        "Object Restore Initiated",
    ),
    "ObjectTagging:*": ("Object Tags Added", "Object Tags Deleted"),
    "ObjectAcl:Put": ("Object ACL Updated",),
}


def build_bucket_pattern(trigger: Mapping[str, Any]) -> dict[str, object]:
    """Build the pattern of the events that EventBridge receives from a bucket."""
    kinds = [one.partition(":")[2] for one in trigger["events"]]
    types = sorted({name for kind in kinds for name in BUS_EVENTS.get(kind, ())})
    prefix, suffix = trigger.get("prefix", ""), trigger.get("suffix", "")
    detail: dict[str, object] = {"bucket": {"name": [read_last_part(trigger["bucket"])]}}
    if prefix and suffix:
        # Two rules of one key are alternatives.
        ends = (re.sub(r"([*\\])", r"\\\1", one) for one in (prefix, suffix))
        detail["object"] = {"key": [{"wildcard": "*".join(ends)}]}
    elif prefix or suffix:
        rule = {"prefix": prefix} if prefix else {"suffix": suffix}
        detail["object"] = {"key": [rule]}
    return {"source": ["aws.s3"], "detail-type": types, "detail": detail}


def read_last_part(text: str) -> str:
    """Return the name at the end of an ARN or URL. A plain name is unchanged, as is a value that is
    known later."""
    return text if _is_late(text) else text.rpartition("/")[2].rpartition(":")[2]


def _find_conflicts(function: str, wires: tuple[Wire, ...]) -> Iterator[Problem]:
    seen: set[Wire] = set()
    for wire in wires:
        if isinstance(wire, MappingWire) and strip_settings(wire) in seen:
            message = f"function `{function}` has two triggers for the {format_wire(wire)}"
            hint = "remove one: AWS allows one per source and function"
            yield Problem("config/unfit", message, hint)
        seen.add(strip_settings(wire))
        for why, hint in _find_wire_faults(wire):
            yield Problem("config/unfit", f"function `{function}` {why}", hint)


def _find_wire_faults(wire: Wire) -> Iterator[tuple[str, str]]:
    """Find what AWS rejects of one event source, each with a hint."""
    match wire:
        case StreamWire(stream=stream) if not _STREAM.fullmatch(stream) and not _is_late(stream):
            yield f"has the stream `{stream}`", "use the ARN of a Kinesis or DynamoDB stream"
        case StreamWire() | BrokerWire() if wire.position not in (*_POSITIONS, ""):
            yield f"has the starting position `{wire.position}`", f"use {', '.join(_POSITIONS)}"
        case BucketWire(bucket=name) if not BUCKET_NAME.fullmatch(name) and not _is_late(name):
            yield f"has the bucket `{name}`, which is not a valid name", BUCKET_HINT
        case StreamWire():
            yield from _find_position_faults(wire)
        case BrokerWire():
            yield from _find_position_faults(wire)
            yield from _find_broker_faults(wire)
        case RuleWire() if len(_INPUTS & read_options(wire).keys()) > 1:
            yield "sets more than one of `input`, `inputPath` and `inputTransformer`", "keep one"
        case _:
            return


def _find_position_faults(wire: StreamWire | BrokerWire) -> Iterator[tuple[str, str]]:
    """Find what AWS rejects of a time to read from, with a hint."""
    key = "startingPositionTimestamp"
    is_timed, has_time = wire.position == AT_TIMESTAMP, key in read_options(wire)
    if is_timed and isinstance(wire, StreamWire) and ":dynamodb:" in wire.stream:
        yield (
            f"has the starting position `{wire.position}` for a DynamoDB stream",
            "use LATEST or TRIM_HORIZON",
        )
    elif is_timed and not has_time:
        yield f"has the starting position `{wire.position}` without a time", f"set `{key}`"
    elif has_time and not is_timed:
        yield f"sets `{key}` for the {format_wire(wire)}", f"set `startingPosition: {AT_TIMESTAMP}`"


def _is_late(text: str) -> bool:
    """Return whether the value is known only during the run."""
    return bool(find_late_names(text))


_STREAM = re.compile(r"arn:[a-z-]+:(?:kinesis:.*:stream/.+|dynamodb:.*:table/.+/stream/.+)")
_INPUTS = frozenset(("input", "inputPath", "inputTransformer"))
_POSITIONS = ("LATEST", "TRIM_HORIZON", AT_TIMESTAMP)
# Keys of streams that Kafka does not have.
_STREAM_ONLY = (
    *("parallelizationFactor", "bisectOnError", "maximumRetryAttempts", "maximumRecordAge"),
    *("tumblingWindowSeconds", "functionResponseType"),
)
_MOST_POLLERS = 200
_TOPIC = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{1,248}")


def _find_broker_faults(wire: BrokerWire) -> Iterator[tuple[str, str]]:
    """Find what AWS rejects of a trigger of Kafka or Amazon MQ, each with a hint."""
    options, shown = read_options(wire), format_wire(wire)
    # A queue has no position.
    if wire.position and not _TOPIC.fullmatch(wire.channel) and not _is_late(wire.channel):
        yield (
            f"has the topic `{wire.channel}`",
            "use two or more of: letters, digits, `.`, `_`, `-`",
        )
    for key in sorted(options.keys() & set(_STREAM_ONLY)):
        yield f"sets `{key}` for the {shown}", "remove it: only `stream` has it"
    for row in options.get("access", ()):
        needed = BROKER_ACCESS[row["type"]]
        if row.keys() != {"type", needed}:
            yield f"has an `access` of type `{row['type']}`", f"set only `{needed}` beside it"
    pollers = options.get("pollers", {})
    if pollers.get("min", 1) > pollers.get("max", _MOST_POLLERS):
        yield f"has more minimum than maximum `pollers` for the {shown}", "increase `max`"
