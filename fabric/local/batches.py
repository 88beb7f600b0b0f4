"""The fate of a queue batch after its function has answered, as on the real platform."""

import json
from collections.abc import Sequence

from msgspec import Struct

from fabric.model.outcomes.json_struct import Json, JsonObject


class BatchResult(Struct, frozen=True):
    """The ids of messages to retry and of processed messages."""

    back: tuple[str, ...]
    done: tuple[str, ...]
    # Explains a result that the function did not intend.
    why: str = ""


def evaluate_batch(event: Json, response: Json, *, reports: bool) -> BatchResult | None:
    """Evaluate the response; None if the event is not a batch. With `reports`, the response lists
    failed messages."""
    names = _list_message_ids(event)
    if not names:
        return None
    failures = response.get("batchItemFailures") if isinstance(response, dict) else None
    if not reports:
        why = "failures in the response are ignored: the trigger has no functionResponseType"
        return BatchResult((), names, why if failures else "")
    if failures is None:
        return BatchResult((), names)
    return _evaluate_failures(names, failures)


def retry_batch(event: Json) -> BatchResult | None:
    """Return a result that retries all messages, because the function threw."""
    names = _list_message_ids(event)
    return BatchResult(names, (), "the invocation failed") if names else None


def _list_message_ids(event: Json) -> tuple[str, ...]:
    records = event.get("Records") if isinstance(event, dict) else None
    if not isinstance(records, list | tuple):
        return ()
    found = (one.get("messageId") for one in records if isinstance(one, dict))
    return tuple(str(one) for one in found if one)


def _evaluate_failures(names: tuple[str, ...], failures: Json) -> BatchResult:
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


def build_batch(event: JsonObject, count: int) -> JsonObject:
    """Build a sample queue event with this number of messages, each with a separate id."""
    records = event.get("Records")
    if not isinstance(records, Sequence) or not records or not isinstance(records[0], dict):
        return event
    first = records[0]
    name = str(first.get("messageId", ""))
    return {
        **event,
        "Records": [{**first, "messageId": f"{name[:-1]}{n}"} for n in range(1, count + 1)],
    }
