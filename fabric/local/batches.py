"""What becomes of a queue's batch once its function has answered: as the platform treats it."""

import json
from collections.abc import Sequence

from msgspec import Struct

from fabric.model.outcomes.json_struct import Json, JsonObject


class BatchResult(Struct, frozen=True):
    """The identifiers of messages that come back, and of those that are done with; `why` says more
    where it is not what the function meant."""

    back: tuple[str, ...]
    done: tuple[str, ...]
    why: str = ""


def of_batch(event: Json, response: Json, *, reports: bool) -> BatchResult | None:
    """None where the event is no batch. With `reports` the trigger's answers name failures."""
    names = _identifiers(event)
    if not names:
        return None
    failures = response.get("batchItemFailures") if isinstance(response, dict) else None
    if not reports:
        why = "failures in the response are ignored: the trigger has no functionResponseType"
        return BatchResult((), names, why if failures else "")
    if failures is None:
        return BatchResult((), names)
    return _reported(names, failures)


def failed_batch(event: Json) -> BatchResult | None:
    """The function threw: all of them come back."""
    names = _identifiers(event)
    return BatchResult(names, (), "the invocation failed") if names else None


def _identifiers(event: Json) -> tuple[str, ...]:
    records = event.get("Records") if isinstance(event, dict) else None
    if not isinstance(records, list | tuple):
        return ()
    found = (one.get("messageId") for one in records if isinstance(one, dict))
    return tuple(str(one) for one in found if one)


def _reported(names: tuple[str, ...], failures: Json) -> BatchResult:
    if not isinstance(failures, list):
        return BatchResult(names, (), "batchItemFailures is not a list: the whole batch fails")
    said = [one.get("itemIdentifier") if isinstance(one, dict) else None for one in failures]
    unknown = [one for one in said if one not in names]
    if unknown:
        why = f"{json.dumps(unknown[0])} is not a message of this batch: the whole batch fails"
        return BatchResult(names, (), why)
    return BatchResult(
        tuple(one for one in names if one in said), tuple(one for one in names if one not in said)
    )


def batch_of(event: JsonObject, count: int) -> JsonObject:
    """The sample of a queue with so many messages, each with an identifier of its own."""
    records = event.get("Records")
    if not isinstance(records, Sequence) or not records or not isinstance(records[0], dict):
        return event
    first = records[0]
    name = str(first.get("messageId", ""))
    return {
        **event,
        "Records": [{**first, "messageId": f"{name[:-1]}{n}"} for n in range(1, count + 1)],
    }
