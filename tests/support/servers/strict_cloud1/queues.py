"""Messages of queues, brought to the functions that are mapped to them."""

import contextlib
import threading
from typing import Any

from moto.sqs.exceptions import ReceiptHandleIsInvalid
from moto.sqs.models import Message, Queue, sqs_backends

from tests.support.servers.strict_cloud1.accounts import EventSourceMapping, Region
from tests.support.servers.strict_cloud1.cloud import Cloud
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.invocations import Called
from tests.support.servers.strict_cloud1.mapping_calls import hidden_for, queue_of
from tests.support.servers.strict_cloud1.refusals import RefusalError

# For messages that become visible again by themselves; new ones are brought at once.
_LOOKS_EVERY_SECONDS = 0.5
_OF_ONE_RECEIPT = 10


class Carrier:
    """A thread that is woken by new messages and new mappings."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._woken = threading.Event()
        self._is_over = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        self._woken.set()

    def close(self) -> None:
        self._is_over = True
        self.wake()

    def _work(self) -> None:
        while not self._is_over:
            self._woken.wait(_LOOKS_EVERY_SECONDS if self._mappings() else None)
            self._woken.clear()
            for region, ident in self._mappings():
                self._bring(region, ident)

    def _mappings(self) -> list[tuple[Region, str]]:
        with self._cloud.turn:
            return [
                (region, ident)
                for account in self._cloud.accounts.by_key.values()
                for region in account.regions.values()
                for ident in region.mappings
            ]

    def _bring(self, region: Region, ident: str) -> None:
        while batch := self._received(region, ident):
            queue, mapping, messages = batch
            done = self._handled(region, mapping, messages)
            # Somebody may have emptied the queue meanwhile.
            with self._cloud.turn, contextlib.suppress(ReceiptHandleIsInvalid):
                for one in messages:
                    if one.id in done:
                        queue.delete_message(str(one.receipt_handle))

    def _received(
        self, region: Region, ident: str
    ) -> tuple[Queue, EventSourceMapping, list[Message]] | None:
        with self._cloud.turn:
            mapping = region.mappings.get(ident)
            source = mapping.shown["EventSourceArn"] if mapping else ""
            queue = queue_of(region, source) if source else None
            if not mapping or not queue or not mapping.is_enabled or not _exists(region, mapping):
                return None
            messages = _receive(region, queue, mapping.shown["BatchSize"])
            return (queue, mapping, messages) if messages else None

    def _handled(
        self, region: Region, mapping: EventSourceMapping, messages: list[Message]
    ) -> set[str]:
        """The messages that are done with; the others become visible again in their time."""
        arn = mapping.shown["FunctionArn"]
        records = [_record(mapping.shown["EventSourceArn"], region, one) for one in messages]
        every = {str(one.id) for one in messages}
        try:
            called = self._cloud.call_by_role(region, arn, {"Records": records})
        except RefusalError:
            return set()
        if called.error:
            return set()
        if "ReportBatchItemFailures" in mapping.shown["FunctionResponseTypes"]:
            return _without_failures(called, every)
        return every


def _exists(region: Region, mapping: EventSourceMapping) -> bool:
    return mapping.shown["FunctionArn"].split(":")[6] in region.functions


def _receive(region: Region, queue: Queue, size: int) -> list[Message]:
    backend = sqs_backends[region.account.number][region.name]
    found: list[Message] = []
    while len(found) < size:
        count = min(_OF_ONE_RECEIPT, size - len(found))
        some = backend.receive_message(queue.name, count, 0, hidden_for(queue))
        if not some:
            break
        found += some
    return found


def _without_failures(called: Called, every: set[str]) -> set[str]:
    """A list that names what is not in the batch means that all of it failed."""
    result: Any = called.result
    try:
        failed = {one["itemIdentifier"] for one in (result or {}).get("batchItemFailures") or ()}
    except (AttributeError, TypeError, KeyError):
        return set()
    return every - failed if failed <= every else set()


def _record(source: str, region: Region, message: Message) -> Fields:
    return {
        "messageId": message.id,
        "receiptHandle": message.receipt_handle,
        "body": message.body,
        "attributes": {
            "ApproximateReceiveCount": str(message.approximate_receive_count),
            "SentTimestamp": str(message.sent_timestamp),
        },
        "messageAttributes": {},
        "md5OfBody": message.body_md5,
        "eventSource": "aws:sqs",
        "eventSourceARN": source,
        "awsRegion": region.name,
    }
