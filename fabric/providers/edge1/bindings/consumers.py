"""Consumers of queues: the settings of queue triggers in the API, without an API call."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.edge1.bindings.bindings import Resource, ResourceKind, read_map


class QueueConsumer(Struct, frozen=True):
    """The queue of a trigger, the queue for its failed messages, and the settings of its consumer
    in the API."""

    queue: Resource
    dead: Resource | None
    settings: JsonObject


_CONSUMER_KEYS = ("max_retries", "max_concurrency", "retry_delay")
_BATCH, _WAIT_MS, _RETRIES = 10, 5_000, 3


def list_consumer_queues(section: JsonObject) -> Iterator[Resource]:
    """List the queues that functions read, and those for messages that failed."""
    for row in list_consumer_rows(section).values():
        yield _build_queue(row, row["queue"])
        if row.get("dead_letter_queue"):
            yield _build_dead_queue(row)


def list_consumer_rows(section: JsonObject) -> dict[str, Mapping[str, Any]]:
    rows = read_map(section, "queues").get("consumers") or ()
    return {row["queue"]: row for row in rows}


def _build_queue(row: Mapping[str, Any], name: str) -> Resource:
    return Resource(
        ResourceKind.QUEUE,
        name,
        create=bool(row.get("create")),
        is_deleted=row.get("onRemove") == "delete",
    )


def _build_dead_queue(row: Mapping[str, Any]) -> Resource:
    """Build the queue for messages that failed. It can belong to several services, so that no
    removal deletes it."""
    return Resource(ResourceKind.QUEUE, row["dead_letter_queue"], create=bool(row.get("create")))


def plan_consumers(
    section: JsonObject, triggers: Sequence[Mapping[str, Any]]
) -> tuple[QueueConsumer, ...]:
    """Plan the consumers of a function. All values are sent: tools have other defaults."""
    rows = list_consumer_rows(section)
    found = []
    for one in triggers:
        if one.get("type") != "queue":
            continue
        queue = str(one["queue"])
        row = rows.get(queue, {"queue": queue})
        own = {key: row[key] for key in _CONSUMER_KEYS if key in row}
        window = one.get("maximumBatchingWindowSeconds")
        settings: JsonObject = {
            "batch_size": one.get("batchSize") or _BATCH,
            "max_wait_time_ms": _WAIT_MS if window is None else int(window) * 1000,
            "max_retries": _RETRIES,
            **own,
        }
        dead = row.get("dead_letter_queue")
        there = _build_dead_queue(row) if dead else None
        found.append(QueueConsumer(_build_queue(row, queue), there, settings))
    return tuple(sorted(found, key=lambda one: one.queue.name))
