"""Batches of queue and storage events, one record at a time."""

import json
from collections.abc import Iterator
from typing import Any


def messages(event: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The id and the JSON body of every queue message."""
    for record in event.get("Records", []):
        yield record["messageId"], json.loads(record["body"])


def object_keys(event: dict[str, Any]) -> list[str]:
    """The keys of all objects that a storage event tells of."""
    return [record["objstore1"]["object"]["key"] for record in event.get("Records", [])]
