"""What a change refuses under the lock of a record."""

from msgspec.structs import replace

from fabric.app.deploy.change_records import refuse_deployed_since
from fabric.model.records.record import Mode, PreviewStage, Record
from fabric.state.records.transaction import Claim
from tests.support.records import record

CHOSEN = record()
CLAIM = Claim(CHOSEN.ref, "remove", Mode.SIMULATED, "cloud1-lambda", "", (), lambda _: None)


def refused(chosen: Record | None, found: Record | None) -> str:
    problem = refuse_deployed_since(CLAIM, chosen).refuse(found)
    return problem.code if problem else ""


def test_a_removal_refuses_a_record_that_was_deployed_after_it_was_chosen() -> None:
    later = replace(CHOSEN, updated_at="2999-01-01T00:00:00.000Z")
    assert refused(CHOSEN, later) == "state/changed"
    assert refused(CHOSEN, replace(CHOSEN, preview=PreviewStage("2999"))) == "state/changed"


def test_other_records_are_not_refused() -> None:
    later = replace(CHOSEN, updated_at="2999-01-01T00:00:00.000Z")
    assert [refused(CHOSEN, CHOSEN), refused(CHOSEN, None), refused(None, later)] == [""] * 3
