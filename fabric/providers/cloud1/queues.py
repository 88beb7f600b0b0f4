"""Queues that trigger functions: an event source mapping connects a queue to a function's alias."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.answers import CONFLICT, GONE, MISSING_QUEUE, ignore_codes
from fabric.providers.cloud1.event_sources import QueueWire, read_last_part
from fabric.providers.cloud1.permissions import parse_arn_home
from fabric.providers.cloud1.versions import Cloud1Work, retry_on_conflict
from fabric.providers.core.retry import poll_until
from fabric.system.cloud1_account import read_error_code

_OF_QUEUES = ":sqs:"


class FoundQueue(Struct, frozen=True):
    """An existing queue."""

    arn: str
    # Its visibility timeout in seconds.
    hidden_for: int


def find_queue(work: Cloud1Work, queue: str) -> FoundQueue | None:
    from botocore.exceptions import ClientError

    queues = work.clients.of("sqs")
    try:
        url = queues.get_queue_url(QueueName=queue)["QueueUrl"]
        names = ["QueueArn", "VisibilityTimeout"]
        found = queues.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    except ClientError as error:
        if read_error_code(error) in MISSING_QUEUE:
            return None
        raise
    return FoundQueue(found["QueueArn"], int(found["VisibilityTimeout"]))


def set_queue(work: Cloud1Work, wire: QueueWire, alias: str) -> None:
    """Create or update the mapping. A mapping in deletion is waited for."""
    source, asked = _build_queue_arn(wire, alias), _build_mapping_settings(wire)

    def put() -> bool | None:
        there = next(
            (one for one in list_mappings(work, alias) if _read_source_arn(one) == source), None
        )
        done = False
        # One that is on its way out is in the way, and then it is gone.
        with ignore_codes(CONFLICT, GONE):
            if there is None:
                retry_on_conflict(work, lambda: _create_mapping(work, alias, source, asked))
            elif there["State"] != "Deleting" and _is_different(there, asked):
                retry_on_conflict(work, lambda: _update_mapping(work, there, asked))
            done = there is None or there["State"] != "Deleting"
        return done or None

    if poll_until(put, work.waiting, work.watch) is None:
        message = f"the event source mapping of the queue `{wire.queue}` is still being deleted"
        raise FabricError(Problem("provider/not-ready", message, "deploy again in a minute"))


def _build_mapping_settings(wire: QueueWire) -> dict[str, object]:
    return {
        "BatchSize": wire.batch_size,
        "MaximumBatchingWindowInSeconds": wire.window,
        "FunctionResponseTypes": [wire.response] if wire.response else [],
        "Enabled": wire.is_enabled,
    }


def _create_mapping(
    work: Cloud1Work, alias: str, source: str, asked: Mapping[str, object]
) -> Mapping[str, Any]:
    made: Mapping[str, Any] = work.functions.create_event_source_mapping(
        FunctionName=alias, EventSourceArn=source, **asked
    )
    return made


def _update_mapping(
    work: Cloud1Work, there: Mapping[str, Any], asked: Mapping[str, object]
) -> Mapping[str, Any]:
    made: Mapping[str, Any] = work.functions.update_event_source_mapping(
        UUID=there["UUID"], **asked
    )
    return made


def _is_different(there: Mapping[str, Any], asked: Mapping[str, object]) -> bool:
    shown = {**there, "Enabled": there["State"] not in ("Disabled", "Disabling")}
    return any((shown.get(name) or type(value)()) != value for name, value in asked.items())


def drop_queue(work: Cloud1Work, wire: QueueWire, alias: str) -> None:
    """Delete the mapping only; messages stay in the queue."""
    source = _build_queue_arn(wire, alias)
    for one in list_mappings(work, alias):
        if _read_source_arn(one) == source and one["State"] != "Deleting":
            _drop_mapping(work, one["UUID"])


def _drop_mapping(work: Cloud1Work, uuid: str) -> None:
    with ignore_codes(GONE):
        retry_on_conflict(work, lambda: _delete_mapping(work, uuid))


def _delete_mapping(work: Cloud1Work, uuid: str) -> Mapping[str, Any]:
    made: Mapping[str, Any] = work.functions.delete_event_source_mapping(UUID=uuid)
    return made


def list_mappings(work: Cloud1Work, alias: str = "") -> list[Mapping[str, Any]]:
    """List the queue mappings of an alias, or of the whole account."""
    which = {"FunctionName": alias} if alias else {}
    found: list[Mapping[str, Any]] = []
    with ignore_codes(GONE):
        found += (
            one for one in _fetch_mappings(work, which) if _OF_QUEUES in _read_source_arn(one)
        )
    return found


def _fetch_mappings(work: Cloud1Work, which: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    for page in work.functions.get_paginator("list_event_source_mappings").paginate(**which):
        yield from page["EventSourceMappings"]


def queue_in(mapping: Mapping[str, Any]) -> QueueWire:
    return QueueWire(read_last_part(_read_source_arn(mapping)))


def _read_source_arn(mapping: Mapping[str, Any]) -> str:
    return str(mapping.get("EventSourceArn", ""))


def _build_queue_arn(wire: QueueWire, alias: str) -> str:
    return parse_arn_home(alias).of("sqs", wire.queue)
