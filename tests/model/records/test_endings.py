"""The final record of a run."""

from msgspec.structs import replace

from fabric.model.records.endings import (
    HISTORY,
    end_deployed,
    end_failed,
    end_rolled_back,
    remove_addresses,
    restore_base,
    take_snapshot,
)
from fabric.model.records.record import (
    FunctionRecord,
    Intent,
    Lifecycle,
    Operation,
    Record,
    RecordRef,
)

REF = RecordRef("api", "dev", "cloud1-lambda")
ONE, TWO = FunctionRecord("one", "k1", "a1"), FunctionRecord("two", "k2", "a2")


def base(**fields: object) -> Record:
    found = Record(REF, "cloud1-lambda", "line", "salt", serial=3, fence=2, functions=(ONE,))
    live = replace(
        found, lifecycle=Lifecycle.DEPLOYED, deployment_id="first", updated_at="then",
        outputs=(("url", "u"),),
    )  # fmt: skip
    return replace(live, history=(take_snapshot(live),), **fields)


def running(was: Record, **fields: object) -> Record:
    pending = (Intent("deploy:api/two", Operation.DEPLOY),)
    begun = replace(was, serial=9, fence=5, lifecycle=Lifecycle.DEPLOYING, pending=pending)
    return replace(begun, **fields)


def test_successful_deployment_becomes_newest_in_history() -> None:
    ended = end_deployed(base(), running(base(), functions=(ONE, TWO)), "second", "now")
    assert [one.deployment_id for one in ended.history] == ["second", "first"]
    assert (ended.lifecycle, ended.pending, ended.updated_at) == (Lifecycle.DEPLOYED, (), "now")


def test_run_without_changes_leaves_the_deployment_unchanged() -> None:
    for end in (end_deployed, end_failed):
        ended = end(base(), running(base()), "second", "now")
        assert ended == base(serial=9, fence=5)


def test_history_has_an_end() -> None:
    record = base()
    for number in range(HISTORY + 5):
        changed = replace(ONE, key=str(number))
        record = end_deployed(record, running(record, functions=(changed,)), str(number), "now")
    assert len(record.history) == HISTORY
    assert record.history[0].deployment_id == str(HISTORY + 4)


def test_failed_deployment_is_not_a_rollback_target() -> None:
    ended = end_failed(base(), running(base(), functions=(TWO,)), "second", "now")
    assert (ended.lifecycle, ended.deployment_id) == (Lifecycle.FAILED, "second")
    assert [one.deployment_id for one in ended.history] == ["first"]


def test_rolled_back_record_differs_only_in_serial_and_fence() -> None:
    assert restore_base(base(), running(base())) == base(serial=9, fence=5)


def test_function_changed_during_rollback_is_recorded_as_deployed() -> None:
    given = replace(ONE, key="another", upstream=(("release:auth@local", "moved"),))
    back = restore_base(base(), running(base(), functions=(given,)))
    assert back == base(serial=9, fence=5, functions=(given,))


def test_going_back_puts_an_old_deployment_first_again() -> None:
    record = end_deployed(base(), running(base(), functions=(TWO,)), "second", "now")
    back = end_rolled_back(
        replace(running(record), functions=(ONE,)), record.history[1], "new", "later"
    )
    assert [one.deployment_id for one in back.history] == ["first", "second"]
    assert (back.deployment_id, back.pending) == ("first", ())


def test_rollback_does_not_revert_stored_values() -> None:
    kept = (("version:one", "2"),)
    assert restore_base(base(), running(base(), kept=kept)).kept == kept


def test_going_back_to_changed_functions_is_a_new_deployment() -> None:
    record = end_deployed(base(), running(base(), functions=(TWO,)), "second", "now")
    given = replace(ONE, key="another")
    now = replace(running(record), functions=(given,), release_key="key")
    back = end_rolled_back(now, record.history[1], "third", "later")
    assert [one.deployment_id for one in back.history] == ["third", "second", "first"]
    assert (back.deployment_id, back.functions) == ("third", (given,))


def test_a_changed_deployment_without_a_release_gets_its_own_id() -> None:
    record = end_deployed(base(), running(base(), functions=(TWO,)), "second", "now")
    given = replace(ONE, key="another")
    now = replace(running(record), functions=(given,), release_key="")
    back = end_rolled_back(now, record.history[1], "third", "later")
    assert [one.deployment_id for one in back.history] == ["third", "second", "first"]
    assert back.deployment_id == "third"


def test_addresses_of_deleted_functions_are_removed() -> None:
    outputs = (("url", "u"), ("url_one", "1"), ("arn_one", "1"), ("url_two", "2"), ("arn_two", "2"))
    left = remove_addresses(base(outputs=outputs, release_key="key"))
    assert left.outputs == (("url", "u"), ("url_one", "1"), ("arn_one", "1"))
    assert left.release_key == ""
