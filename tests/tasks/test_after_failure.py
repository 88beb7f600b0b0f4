"""What a failed call leaves in a record."""

import pytest

from fabric.model.problems import FabricError, Problem, UntouchedError
from fabric.model.records.changes import FunctionUnsure
from fabric.model.records.record import Mode
from fabric.tasks.after_failure import list_doubts, record_doubt_on_failure
from tests.support.records import record
from tests.tasks.tools import HeldRecord

PROBLEM = Problem("provider/failed", "the call failed")
DOUBTS = list_doubts("deploy:shop/hello", Mode.REAL, ["hello"])


def test_a_failed_call_leaves_its_function_without_a_valid_key() -> None:
    held = HeldRecord(record())
    with pytest.raises(FabricError), record_doubt_on_failure(held, *DOUBTS):
        raise FabricError(PROBLEM)
    assert [one.key for one in held.record.functions] == [""]


def test_a_request_that_was_not_sent_changes_nothing() -> None:
    held = HeldRecord(record())
    with pytest.raises(UntouchedError), record_doubt_on_failure(held, *DOUBTS):
        raise UntouchedError(PROBLEM)
    assert held.record == record()


def test_a_call_that_succeeds_leaves_no_doubt() -> None:
    held = HeldRecord(record())
    with record_doubt_on_failure(held, *DOUBTS):
        pass
    assert held.changes == []


def test_simulated_calls_never_fail_halfway() -> None:
    assert list_doubts("deploy:shop/hello", Mode.SIMULATED, ["hello"]) == ()
    assert (FunctionUnsure("deploy:shop/hello", "hello"),) == DOUBTS
