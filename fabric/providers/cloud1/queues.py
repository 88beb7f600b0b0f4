"""Queues that trigger functions: an event source mapping connects a queue to a function's alias."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.answers import CONFLICT, GONE, MISSING_QUEUE, unless
from fabric.providers.cloud1.permissions import home_of
from fabric.providers.cloud1.versions import Cloud1Work, patiently
from fabric.providers.cloud1.wires import QueueWire, last_part
from fabric.providers.waiting import until
from fabric.system.cloud1_account import code_of

_OF_QUEUES = ":sqs:"


class QueueFound(Struct, frozen=True):
    """An existing queue. `hidden_for` is its visibility timeout in seconds."""

    arn: str
    hidden_for: int


def found_queue(work: Cloud1Work, queue: str) -> QueueFound | None:
    from botocore.exceptions import ClientError

    queues = work.clients.of("sqs")
    try:
        url = queues.get_queue_url(QueueName=queue)["QueueUrl"]
        names = ["QueueArn", "VisibilityTimeout"]
        found = queues.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    except ClientError as error:
        if code_of(error) in MISSING_QUEUE:
            return None
        raise
    return QueueFound(found["QueueArn"], int(found["VisibilityTimeout"]))


def set_queue(work: Cloud1Work, wire: QueueWire, alias: str) -> None:
    """Create or update the mapping. A mapping in deletion is waited for."""
    source, asked = _arn(wire, alias), _asked(wire)

    def put() -> bool | None:
        there = next((one for one in mappings_of(work, alias) if _source(one) == source), None)
        done = False
        # One that is on its way out is in the way, and then it is gone.
        with unless(CONFLICT, GONE):
            if there is None:
                patiently(work, lambda: _created(work, alias, source, asked))
            elif there["State"] != "Deleting" and _differs(there, asked):
                patiently(work, lambda: _updated(work, there, asked))
            done = there is None or there["State"] != "Deleting"
        return done or None

    if until(put, work.waiting, work.watch) is None:
        message = f"the event source mapping of the queue `{wire.queue}` is still being deleted"
        raise FabricError(Problem("provider/not-ready", message, "deploy again in a minute"))


def _asked(wire: QueueWire) -> dict[str, object]:
    return {
        "BatchSize": wire.batch_size,
        "MaximumBatchingWindowInSeconds": wire.window,
        "FunctionResponseTypes": [wire.response] if wire.response else [],
        "Enabled": wire.is_enabled,
    }


def _created(
    work: Cloud1Work, alias: str, source: str, asked: Mapping[str, object]
) -> Mapping[str, Any]:
    made: Mapping[str, Any] = work.functions.create_event_source_mapping(
        FunctionName=alias, EventSourceArn=source, **asked
    )
    return made


def _updated(
    work: Cloud1Work, there: Mapping[str, Any], asked: Mapping[str, object]
) -> Mapping[str, Any]:
    made: Mapping[str, Any] = work.functions.update_event_source_mapping(
        UUID=there["UUID"], **asked
    )
    return made


def _differs(there: Mapping[str, Any], asked: Mapping[str, object]) -> bool:
    shown = {**there, "Enabled": there["State"] not in ("Disabled", "Disabling")}
    return any((shown.get(name) or type(value)()) != value for name, value in asked.items())


def drop_queue(work: Cloud1Work, wire: QueueWire, alias: str) -> None:
    """Delete the mapping only; messages stay in the queue."""
    source = _arn(wire, alias)
    for one in mappings_of(work, alias):
        if _source(one) == source and one["State"] != "Deleting":
            _dropped(work, one["UUID"])


def _dropped(work: Cloud1Work, uuid: str) -> None:
    with unless(GONE):
        patiently(work, lambda: _deleted(work, uuid))


def _deleted(work: Cloud1Work, uuid: str) -> Mapping[str, Any]:
    made: Mapping[str, Any] = work.functions.delete_event_source_mapping(UUID=uuid)
    return made


def mappings_of(work: Cloud1Work, alias: str = "") -> list[Mapping[str, Any]]:
    """List the queue mappings of an alias, or of the whole account."""
    which = {"FunctionName": alias} if alias else {}
    found: list[Mapping[str, Any]] = []
    with unless(GONE):
        found += (one for one in _listed(work, which) if _OF_QUEUES in _source(one))
    return found


def _listed(work: Cloud1Work, which: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    for page in work.functions.get_paginator("list_event_source_mappings").paginate(**which):
        yield from page["EventSourceMappings"]


def queue_in(mapping: Mapping[str, Any]) -> QueueWire:
    return QueueWire(last_part(_source(mapping)))


def _source(mapping: Mapping[str, Any]) -> str:
    return str(mapping.get("EventSourceArn", ""))


def _arn(wire: QueueWire, alias: str) -> str:
    return home_of(alias).of("sqs", wire.queue)
