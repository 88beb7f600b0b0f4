"""Event sources of functions other than HTTP: rules, schedules, queues and buckets. No effects."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec import json as typed_json
from msgspec.structs import replace

from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.permissions import parse_arn_home
from fabric.providers.cloud1.versions import OwnSettings
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.triggers import format_resource_name, shorten_name

_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_WEEK = len(_DAYS)
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_ANY, _OPEN = "*", "?"
# By these names the day begins when it does for a rule.
_UTC = frozenset(
    "UTC UCT GMT GMT0 GMT+0 GMT-0 Greenwich Universal Zulu Etc/UTC Etc/UCT Etc/GMT Etc/GMT0"
    " Etc/GMT+0 Etc/GMT-0 Etc/Greenwich Etc/Universal Etc/Zulu".split()
)


def convert_cron_expression(schedule: str) -> str:
    """Convert five cron fields to the six of AWS. Raises a ValueError if AWS cannot express
    them."""
    if schedule.startswith(("rate(", "cron(")):
        return schedule
    minute, hour, day, month, weekday = schedule.upper().split()
    if _ANY not in (day, weekday):
        raise ValueError("a day of the month and a day of the week cannot be combined")
    days = _OPEN if weekday != _ANY else day
    weekdays = _OPEN if weekday == _ANY else _name_weekdays(weekday)
    fields = (
        _expand_steps(minute),
        _expand_steps(hour),
        _expand_steps(days),
        _expand_steps(_number_months(month)),
    )
    return f"cron({' '.join(fields)} {weekdays} *)"


def is_bound_to(zone: str, schedule: str) -> bool:
    """Return whether the time zone affects the schedule."""
    return bool(zone) and zone not in _UTC and not schedule.startswith("rate(")


def _name_weekdays(field: str) -> str:
    """Replace weekday numbers by names, because AWS counts from another day."""
    found = {day % _WEEK for item in field.split(",") for day in _expand_days(item)}
    return ",".join(_DAYS[day] for day in sorted(found))


def _expand_days(item: str) -> Iterator[int]:
    span, slash, step = item.partition("/")
    if span == _ANY:
        low, high = 0, _WEEK - 1
    else:
        first, dash, last = span.partition("-")
        low = _parse_day(first)
        high = _parse_day(last) if dash else (_WEEK - 1 if slash else low)
    high += _WEEK if high < low else 0
    yield from range(low, high + 1, int(step or 1))


def _parse_day(text: str) -> int:
    return _DAYS.index(text) if text in _DAYS else int(text)


def _number_months(months: str) -> str:
    for number, name in enumerate(_MONTHS, 1):
        months = months.replace(name, str(number))
    return months


def _expand_steps(field: str) -> str:
    """Write a range with steps as a list."""
    return ",".join(part for item in field.split(",") for part in _list_parts(item))


def _list_parts(item: str) -> Iterator[str]:
    span, slash, step = item.partition("/")
    low, dash, high = span.partition("-")
    if slash and dash:
        yield from map(str, range(int(low), int(high) + 1, int(step)))
    else:
        yield item


_DIGEST = 12
_LONG_NAME = 64 - _DIGEST - 1
_SHORTENED_BY = 9
_OWNER_DIGEST = 8
_OURS, _THEIRS = "objstore1:", "s3:"


class RuleWire(Struct, frozen=True, tag="rule", omit_defaults=True):
    """A rule on an event bus: a UTC schedule, or a pattern as JSON."""

    bus: str
    name: str
    schedule: str = ""
    pattern: str = ""
    # JSON of the trigger's other keys, as in other event sources.
    options: str = ""


class ScheduleWire(Struct, frozen=True, tag="schedule", omit_defaults=True):
    """A schedule with a time zone."""

    name: str
    schedule: str = ""
    zone: str = ""
    role: str = ""
    options: str = ""


class QueueWire(Struct, frozen=True, tag="queue", omit_defaults=True):
    """A queue trigger."""

    queue: str
    batch_size: int = 0
    window: int = 0
    response: str = ""
    is_enabled: bool = True
    # Set if the config contains one.
    arn: str = ""
    options: str = ""


class StreamWire(Struct, frozen=True, tag="stream", omit_defaults=True):
    """A Kinesis or DynamoDB stream, by its ARN."""

    stream: str
    position: str = ""
    options: str = ""


class TopicWire(Struct, frozen=True, tag="topic", omit_defaults=True):
    """A subscription to an SNS topic, by its name or ARN."""

    topic: str
    options: str = ""


class BucketWire(Struct, frozen=True, tag="bucket", omit_defaults=True):
    bucket: str
    name: str = ""
    events: tuple[str, ...] = ()
    prefix: str = ""
    suffix: str = ""
    is_existing: bool = False


Wire: TypeAlias = RuleWire | ScheduleWire | QueueWire | StreamWire | TopicWire | BucketWire


class Wired(Struct, frozen=True):
    """The event sources that a release has created for a function: their names and a hash of their
    settings."""

    digest: str
    wires: tuple[Wire, ...]


class ServiceWires(Struct, frozen=True):
    """All event sources of a service."""

    # The prefix of its entries in shared documents.
    owner: str
    functions: Mapping[str, tuple[Wire, ...]]
    # The config triggers of the event sources.
    numbers: Mapping[tuple[str, Wire], int] = {}


def plan_wires(
    address: DeploymentAddress, functions: Sequence[LiveFunction], own: OwnSettings
) -> ServiceWires:
    """Plan all event sources. Raises for unsupported ones."""
    problems: list[Problem] = []
    found: dict[str, tuple[Wire, ...]] = {}
    numbers: dict[tuple[str, Wire], int] = {}
    for one in functions:
        numbered = _number_wires(address, one, own.scheduler_role_arn)
        numbers |= {(one.name, wire): number for wire, number in numbered.items()}
        found[one.name] = tuple(numbered)
        problems += _find_conflicts(one.name, found[one.name])
    if problems:
        raise FabricError(*problems)
    return ServiceWires(build_owner_prefix(address), found, numbers)


def list_function_wires(
    address: DeploymentAddress, one: LiveFunction, role: str = ""
) -> tuple[Wire, ...]:
    """List the event sources of a function. `role` is the role that schedules assume."""
    return tuple(_number_wires(address, one, role))


def _number_wires(address: DeploymentAddress, one: LiveFunction, role: str) -> dict[Wire, int]:
    """Return each event source once, with the number of its first trigger."""
    found: dict[Wire, int] = {}
    for number, text in enumerate(one.triggers):
        for wire in _build_wires(address, one, text):
            is_timed = isinstance(wire, ScheduleWire)
            found.setdefault(replace(wire, role=role) if is_timed else wire, number)
    return found


def find_wire_problems(
    address: DeploymentAddress, one: LiveFunction, role: str
) -> tuple[Problem, ...]:
    """List triggers that AWS cannot create, independent of existing resources."""
    try:
        return tuple(_find_conflicts(one.name, list_function_wires(address, one, role)))
    except FabricError as error:
        return error.problems


def build_owner_prefix(address: DeploymentAddress) -> str:
    """Return the owner hash of a service: hyphenated names can collide, hashes do not."""
    ident = hash_fields((address.service, address.stage))[:_OWNER_DIGEST]
    return f"fabric-{address.service}-{address.stage}-{ident}-"


def name_prefix(address: DeploymentAddress) -> str:
    """Return the name prefix of all rules and schedules of a service."""
    return format_resource_name(address, "")[: _LONG_NAME - _SHORTENED_BY]


def _build_wires(address: DeploymentAddress, one: LiveFunction, text: str) -> Iterator[Wire]:
    trigger = json.loads(text)
    ident = hash_fields((address.service, address.stage, one.name, text))[:_DIGEST]
    name = f"{shorten_name(format_resource_name(address, one.name), _LONG_NAME)}-{ident}"
    match trigger["type"]:
        case "cron":
            yield _build_timed_wire(name, one.name, trigger)
        case "eventbus":
            pattern = json.dumps(trigger.get("pattern", {}), sort_keys=True)
            bus = read_last_part(trigger.get("bus", "default"))
            yield RuleWire(bus, name, pattern=pattern, options=_encode_options(trigger))
        case "queue":
            yield _queue(trigger)
        case "logstream":
            position = trigger.get("startingPosition", "LATEST")
            yield StreamWire(trigger["stream"], position, _encode_options(trigger))
        case "pubsub":
            yield TopicWire(_expand_topic(one, trigger["topic"]), _encode_options(trigger))
        case "storage":
            yield _build_bucket_wire(build_owner_prefix(address) + ident, trigger)
        case _:
            return


def _expand_topic(one: LiveFunction, topic: str) -> str:
    """Return the ARN of a topic, if the function is deployed. A name and its ARN are the same."""
    if topic.startswith("arn:") or not one.resource_id.startswith("arn:"):
        return topic
    return parse_arn_home(one.resource_id).of("sns", topic)


def _build_timed_wire(name: str, function: str, trigger: Mapping[str, Any]) -> Wire:
    said, zone = trigger["schedule"], trigger.get("timezone", "")
    try:
        schedule = convert_cron_expression(said)
    except ValueError as error:
        raise FabricError(_schedule_problem(function, said, str(error))) from error
    if is_bound_to(zone, schedule):
        return ScheduleWire(name, schedule, zone, options=_encode_options(trigger))
    return RuleWire("default", name, schedule, options=_encode_options(trigger))


def _schedule_problem(function: str, said: str, why: str) -> Problem:
    message = f"function `{function}` has the schedule `{said}`, which AWS does not support: {why}"
    return Problem("config/unfit", message, "use two triggers instead")


def _queue(trigger: Mapping[str, Any]) -> QueueWire:
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
        "queue",
    )
)
_QUEUE_FIELDS = frozenset(
    ("batchSize", "maximumBatchingWindowSeconds", "functionResponseType", "enabled")
)


def _encode_options(trigger: Mapping[str, Any]) -> str:
    known = _FIELDS | (_QUEUE_FIELDS if trigger["type"] == "queue" else frozenset())
    rest = {key: value for key, value in trigger.items() if key not in known}
    return json.dumps(rest, sort_keys=True) if rest else ""


def read_options(wire: "Wire") -> dict[str, Any]:
    """Read the keys of the trigger that only this provider supports."""
    said: dict[str, Any] = json.loads(getattr(wire, "options", "") or "{}")
    return said


def _build_bucket_wire(name: str, trigger: Mapping[str, Any]) -> BucketWire:
    events = (event.replace(_OURS, _THEIRS, 1) for event in trigger["events"])
    return BucketWire(
        bucket=read_last_part(trigger["bucket"]),
        name=name,
        events=tuple(sorted(events)),
        prefix=trigger.get("prefix", ""),
        suffix=trigger.get("suffix", ""),
        is_existing=trigger.get("existingBucket", False),
    )


def read_last_part(text: str) -> str:
    """Return the name at the end of an ARN or URL; a plain name is unchanged."""
    return text.rpartition("/")[2].rpartition(":")[2]


def _find_conflicts(function: str, wires: tuple[Wire, ...]) -> Iterator[Problem]:
    queues: set[str] = set()
    for wire in wires:
        match wire:
            case ScheduleWire(zone=zone, role=""):
                yield _missing_role_problem(function, zone)
            case QueueWire(queue=queue) if queue in queues:
                message = f"function `{function}` has two triggers for the queue `{queue}`"
                yield Problem(
                    "config/unfit", message, "remove one: AWS allows one per queue and function"
                )
            case QueueWire(queue=queue):
                queues.add(queue)
            case StreamWire(stream=stream) if not _STREAM.fullmatch(stream):
                why = f"has the stream `{stream}`"
                hint = "use the ARN of a Kinesis or DynamoDB stream"
                yield Problem("config/unfit", f"function `{function}` {why}", hint)
            case StreamWire(position=position) if position not in _POSITIONS:
                why = f"has the starting position `{position}`"
                hint = f"use {' or '.join(_POSITIONS)}"
                yield Problem("config/unfit", f"function `{function}` {why}", hint)
            case RuleWire() if len(_INPUTS & read_options(wire).keys()) > 1:
                why = "sets more than one of `input`, `inputPath` and `inputTransformer`"
                yield Problem("config/unfit", f"function `{function}` {why}", "keep one")
            case _:
                continue


_STREAM = re.compile(r"arn:[a-z-]+:(?:kinesis:.*:stream/.+|dynamodb:.*:table/.+/stream/.+)")
_INPUTS = frozenset(("input", "inputPath", "inputTransformer"))
_POSITIONS = ("LATEST", "TRIM_HORIZON")


def _missing_role_problem(function: str, zone: str) -> Problem:
    message = (
        f"function `{function}` has a schedule in the time zone `{zone}`, which requires a "
        "scheduler role"
    )
    hint = (
        "set `schedulerRoleArn` below `extensions.cloud1-lambda` to a role that "
        "scheduler.amazonaws.com can assume and that can invoke the function, or use UTC"
    )
    return Problem("config/unfit", message, hint)


def strip_settings(wire: Wire) -> Wire:
    """Return the identity of an event source, without its settings."""
    match wire:
        case RuleWire(bus=bus, name=name):
            return RuleWire(bus, name)
        case ScheduleWire(name=name):
            return ScheduleWire(name)
        case QueueWire(queue=queue):
            return QueueWire(queue)
        case StreamWire(stream=stream):
            return StreamWire(stream)
        case TopicWire(topic=topic):
            return TopicWire(topic)
        case BucketWire(bucket=bucket):
            return BucketWire(bucket)


def is_named_by_hash(wire: Wire) -> bool:
    """Return whether any change gives a new name, because the name is a hash of all settings.

    Notifications of a bucket are compared with the whole bucket instead.
    """
    return isinstance(wire, RuleWire | BucketWire)


def format_wire(wire: Wire) -> str:
    match wire:
        case RuleWire(name=name):
            return f"rule `{name}`"
        case ScheduleWire(name=name):
            return f"schedule `{name}`"
        case QueueWire(queue=queue):
            return f"queue `{queue}`"
        case StreamWire(stream=stream):
            return f"stream `{stream}`"
        case TopicWire(topic=topic):
            return f"topic `{topic}`"
        case BucketWire(bucket=bucket):
            return f"bucket `{bucket}`"


def encode_wires(wires: tuple[Wire, ...], alias: str, salt: str) -> str:
    """Encode the event sources for state, with a hash, because patterns can contain secrets."""
    said = typed_json.encode(wires).decode()
    places = tuple(dict.fromkeys(map(strip_settings, wires)))
    return typed_json.encode(Wired(hash_fields((salt, alias, said)), places)).decode()


def decode_wires(text: str) -> tuple[Wire, ...]:
    return typed_json.decode(text, type=Wired).wires if text else ()
