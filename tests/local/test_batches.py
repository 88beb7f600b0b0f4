"""What comes back of a queue's batch, and what is done with."""

import pytest

from fabric.local.batches import BatchResult, build_batch, evaluate_batch, retry_batch
from fabric.model.calls.sample_events import sample_event
from fabric.model.outcomes.json_struct import Json

EVENT = build_batch(sample_event("queue", {"queue": "jobs"}), 3)
A, B, C = (f"00000000-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))


def failures(*names: Json) -> Json:
    return {"batchItemFailures": [{"itemIdentifier": name} for name in names]}


REPORTED: dict[str, tuple[Json, BatchResult]] = {
    "none": (failures(), BatchResult((), (A, B, C))),
    "nothing": (None, BatchResult((), (A, B, C))),
    "some": (failures(C, A), BatchResult((A, C), (B,))),
    "all": (failures(A, B, C), BatchResult((A, B, C), ())),
}


@pytest.mark.parametrize(("response", "result"), REPORTED.values(), ids=REPORTED)
def test_messages_that_an_answer_names_come_back(response: Json, result: BatchResult) -> None:
    assert evaluate_batch(EVENT, response, reports=True) == result


@pytest.mark.parametrize(
    "response",
    [
        failures("other"),
        failures(""),
        failures(None),
        failures(A, "other"),
        {"batchItemFailures": 1},
    ],
)
def test_a_wrong_identifier_fails_the_whole_batch(response: Json) -> None:
    found = evaluate_batch(EVENT, response, reports=True)
    assert found
    assert (found.back, found.done) == ((A, B, C), ())
    assert "whole batch" in found.why


def test_response_is_ignored_unless_the_trigger_reports_item_failures() -> None:
    found = evaluate_batch(EVENT, failures(A), reports=False)
    assert found
    assert found.done == (A, B, C)
    assert "functionResponseType" in found.why


def test_all_come_back_when_the_call_failed() -> None:
    assert retry_batch(EVENT) == BatchResult((A, B, C), (), "the invocation failed")


def test_event_without_messages_is_not_a_batch() -> None:
    assert evaluate_batch({"id": 1}, None, reports=True) is None
    assert retry_batch([]) is None
