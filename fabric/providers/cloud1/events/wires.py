"""Event sources of functions at AWS, as values: their identity, their text and their form in
state."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec import json as typed_json
from msgspec.structs import replace

from fabric.model.hashing import hash_fields


class RuleWire(Struct, frozen=True, tag="rule", omit_defaults=True):
    """A rule on an event bus: a UTC schedule, or a pattern as JSON."""

    bus: str
    name: str
    schedule: str = ""
    pattern: str = ""
    # JSON of the trigger's other keys, as in other event sources.
    options: str = ""


class ScheduleWire(Struct, frozen=True, tag="schedule", omit_defaults=True):
    """A schedule of EventBridge Scheduler, by its name and group."""

    name: str
    schedule: str = ""
    zone: str = ""
    role: str = ""
    options: str = ""
    group: str = ""


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


class BrokerWire(Struct, frozen=True, tag="broker", omit_defaults=True):
    """A topic of Kafka or a queue of Amazon MQ. `source` is the ARN of the cluster or broker, or
    the addresses of own Kafka brokers with commas."""

    source: str
    channel: str
    position: str = ""
    options: str = ""

    @property
    def is_queue(self) -> bool:
        return ":mq:" in self.source

    @property
    def noun(self) -> str:
        return "Amazon MQ queue" if self.is_queue else "Kafka topic"

    @property
    def is_own(self) -> bool:
        return not self.source.startswith("arn:")


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
    # Whether EventBridge delivers its events: a rule receives them, and the bucket has no entry.
    is_via_bus: bool = False


MappingWire: TypeAlias = QueueWire | StreamWire | BrokerWire
Wire: TypeAlias = RuleWire | ScheduleWire | MappingWire | TopicWire | BucketWire


# The starting position of a stream or topic with a time.
AT_TIMESTAMP = "AT_TIMESTAMP"


class Wired(Struct, frozen=True, omit_defaults=True):
    """The event sources that a release has created for a function: their names and a hash of their
    settings."""

    digest: str
    wires: tuple[Wire, ...]
    # The hash of each, if there are several. Older versions of fabric stored none.
    each: tuple[str, ...] = ()


class ServiceWires(Struct, frozen=True):
    """All event sources of a service."""

    # The prefix of its entries in shared documents.
    owner: str
    functions: Mapping[str, tuple[Wire, ...]]
    # The config triggers of the event sources.
    numbers: Mapping[tuple[str, Wire], int] = {}


def read_options(wire: Wire) -> dict[str, Any]:
    """Read the keys of the trigger that only this provider supports."""
    said: dict[str, Any] = json.loads(getattr(wire, "options", "") or "{}")
    return said


# The fields that identify an event source at AWS, and its name in messages.
_IDENTITIES: Mapping[type[Wire], tuple[str, ...]] = {
    RuleWire: ("bus", "name"),
    ScheduleWire: ("name", "group"),
    QueueWire: ("queue",),
    StreamWire: ("stream",),
    BrokerWire: ("source", "channel"),
    TopicWire: ("topic",),
    BucketWire: ("bucket", "is_via_bus"),
}
_NAMES: Mapping[type[Wire], str] = {
    RuleWire: "rule `{0.name}`",
    ScheduleWire: "schedule `{0.name}`",
    QueueWire: "queue `{0.queue}`",
    StreamWire: "stream `{0.stream}`",
    BrokerWire: "{0.noun} `{0.channel}`",
    TopicWire: "topic `{0.topic}`",
    BucketWire: "bucket `{0.bucket}`",
}


def strip_settings(wire: Wire) -> Wire:
    """Return the identity of an event source, without its settings."""
    kind = type(wire)
    return kind(**{name: getattr(wire, name) for name in _IDENTITIES[kind]})


def is_named_by_hash(wire: Wire) -> bool:
    """Return whether any change gives a new name, because the name is a hash of all settings.

    Notifications of a bucket are compared with the whole bucket instead.
    """
    return isinstance(wire, RuleWire | BucketWire)


def format_wire(wire: Wire) -> str:
    return _NAMES[type(wire)].format(wire)


def encode_wires(wires: tuple[Wire, ...], alias: str, salt: str) -> str:
    """Encode the event sources for state, with hashes, because patterns can contain secrets."""
    places = tuple(dict.fromkeys(map(strip_settings, wires)))
    parts = [tuple(one for one in wires if strip_settings(one) == place) for place in places]
    each = tuple(_hash_wires(part, alias, salt) for part in parts) if len(places) > 1 else ()
    return typed_json.encode(Wired(_hash_wires(wires, alias, salt), places, each)).decode()


def _hash_wires(wires: tuple[Wire, ...], alias: str, salt: str) -> str:
    return hash_fields((salt, alias, typed_json.encode(wires).decode()))


def decode_wires(text: str) -> tuple[Wire, ...]:
    return _decode(text).wires


def has_same_wires(one: str, other: str) -> bool:
    """Return whether two encoded texts have the same event sources with the same settings."""
    return replace(_decode(one), each=()) == replace(_decode(other), each=())


def find_same_wires(one: str, other: str) -> frozenset[Wire]:
    """Return the identities of the event sources whose settings are equal in two encoded texts."""
    return frozenset(wire for wire, _ in _list_hashes(one) & _list_hashes(other))


def _list_hashes(text: str) -> set[tuple[Wire, str]]:
    """List the event sources with their hashes. The only one of a function has that of all."""
    wired = _decode(text)
    each = (wired.digest,) if len(wired.wires) == 1 else wired.each
    return {*zip(wired.wires, each, strict=False)}


def _decode(text: str) -> Wired:
    return typed_json.decode(text, type=Wired) if text else Wired("", ())
