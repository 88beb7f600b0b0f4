"""Records on disk: the same comes back, damage is seen; how a run ends is a pure fold."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.records.changes import (
    FunctionGone,
    apply_change,
    mark_intents_unknown,
    record_failed_release,
)
from fabric.model.records.endings import (
    HISTORY,
    end_deployed,
    end_failed,
    end_rolled_back,
    restore_base,
    take_snapshot,
)
from fabric.model.records.record import (
    RELEASE_UNCERTAIN,
    Deployment,
    FunctionRecord,
    Intent,
    Lifecycle,
    Mode,
    Operation,
    Record,
    RecordRef,
)
from fabric.model.records.record_document import compute_version_hash
from fabric.model.records.record_json import compute_checksum, decode, decode_record, encode
from tests.support.documents import mutations
from tests.support.old_files import old_file

# What JSON, UTF-8 and digests could trip over; drawn letter by letter it would take minutes.
TEXTS = st.sampled_from(["", "a", "b", "ü\n", '"\\', "\u2028", "\x00", "\U0001f40d", "1"])
PAIRS = st.dictionaries(TEXTS, TEXTS, max_size=3).map(lambda found: tuple(found.items()))
WHOLE = st.integers(0, 2**40)
TRIGGER = st.dictionaries(TEXTS, TEXTS | st.integers() | st.booleans(), max_size=2)
FUNCTIONS = st.builds(
    FunctionRecord,
    name=TEXTS, key=TEXTS, artifact_sha256=TEXTS, resource_name=TEXTS, resource_id=TEXTS,
    endpoint=TEXTS, handler=TEXTS, layers=st.tuples(TEXTS), settings=PAIRS, environment=PAIRS,
    triggers=st.tuples(TRIGGER.map(lambda one: json.dumps(one, sort_keys=True))),
    environment_sha256=TEXTS, upstream=PAIRS, updated_at=TEXTS,
)  # fmt: skip
DEPLOYMENTS = st.builds(
    Deployment, TEXTS, st.sampled_from(Mode), TEXTS, PAIRS, TEXTS,
    st.lists(FUNCTIONS, max_size=2).map(tuple), TEXTS,
)  # fmt: skip
RECORDS = st.builds(
    Record, st.builds(RecordRef, TEXTS, TEXTS, TEXTS), TEXTS, TEXTS, TEXTS, WHOLE, WHOLE, TEXTS,
    st.sampled_from(Mode), st.sampled_from(Lifecycle), TEXTS, TEXTS, PAIRS, TEXTS,
    st.lists(FUNCTIONS, max_size=2).map(tuple),
    st.lists(
        st.builds(Intent, TEXTS, st.sampled_from(Operation), TEXTS, TEXTS, TEXTS), max_size=2
    ).map(tuple),
    st.lists(DEPLOYMENTS, max_size=2).map(tuple), TEXTS, PAIRS,
)  # fmt: skip


@given(record=RECORDS)
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    assert decode(encode(record), "here") == record
    assert encode(decode(encode(record), "here")) == encode(record)


@given(record=RECORDS)
def test_seals_name_no_version(record: Record) -> None:
    """History that was written before there were any finds what is sealed by now."""
    closed = tuple(replace(one, sealed_values="1.ab.cd") for one in record.functions)
    assert [compute_version_hash(one) for one in closed] == [
        compute_version_hash(one) for one in record.functions
    ]
    found = decode(encode(replace(record, functions=closed)), "here")
    assert found.functions == closed


def test_history_entries_drop_sealed_values_of_live_functions() -> None:
    then = FunctionRecord("one", "a", "b", sealed_values="1.ab.then")
    now = FunctionRecord("one", "c", "d", sealed_values="1.ab.now")
    old = Deployment("first", Mode.SIMULATED, "", (), "", (then,), "")
    record = Record(RecordRef("a", "b", "c"), "p", "l", "s", functions=(now,), history=(old,))
    assert decode(encode(record), "here") == record


@given(record=RECORDS, share=st.floats(0, 1, exclude_max=True), bits=st.integers(1, 255))
def test_a_changed_byte_is_seen_or_changes_nothing(record: Record, share: float, bits: int) -> None:
    content = bytearray(encode(record))
    content[int(share * len(content))] ^= bits
    try:
        found = decode(bytes(content), "here")
    except FabricError as error:
        assert error.first.code in ("state/corrupt", "state/newer-version")  # noqa: PT017
    else:
        # Another space between two words of JSON.
        assert found == record


@given(record=RECORDS, share=st.floats(0, 1, exclude_max=True))
def test_a_state_that_was_cut_off_is_damaged(record: Record, share: float) -> None:
    content = encode(record).rstrip()
    with pytest.raises(FabricError) as caught:
        decode(content[: int(share * len(content))], "here")
    assert caught.value.first.code == "state/corrupt"


SOUND: dict[str, Any] = json.loads(old_file("state-odd.json"))


def redone(document: Any) -> Any:
    """Under a checksum that fits: somebody meant it."""
    return (
        document | {"checksum": compute_checksum(document)}
        if isinstance(document, dict)
        else document
    )


@given(mutations(SOUND))
def test_a_changed_document_is_a_record_or_a_problem(document: Any) -> None:
    try:
        found = decode_record(redone(document), "here")
    except FabricError as error:
        assert error.first.code in ("state/corrupt", "state/newer-version")  # noqa: PT017
    else:
        assert decode(encode(found), "here") == found


MISFITS = {
    "functions[0].key: expected text, found a number": ("functions", 0, "key", 1),
    "functions[1].settings: expected an object, found a list": ("functions", 1, "settings", []),
    "functions[0].layers[0]: expected text, found nothing": ("functions", 0, "layers", [None]),
    "outputs[...]: expected text, found true or false": ("outputs", "z", True),
    "serial: expected a whole number, found true or false": ("serial", True),
    "serial: expected a whole number >= 0": ("serial", -1),
    "mode: invalid enum value 'magic'": ("mode", "magic"),
    "version: invalid enum value 0": ("version", 0),
    "pending[0].operation: invalid enum value 'x'": ("pending", 0, "operation", "x"),
    "its history refers to a missing version": ("history", 0, "functions", ["none"]),
}


@pytest.mark.parametrize(("words", "change"), MISFITS.items(), ids=MISFITS)
def test_invalid_record_field_is_reported_with_its_path(
    words: str, change: tuple[Any, ...]
) -> None:
    document = json.loads(old_file("state-odd.json"))
    *path, last, value = change
    spot = document
    for step in path:
        spot = spot[step]
    spot[last] = value
    with pytest.raises(FabricError) as caught:
        decode_record(redone(document), "here")
    assert caught.value.first.code == "state/corrupt"
    assert words in caught.value.first.message


def test_a_field_that_is_missing_is_named() -> None:
    document = json.loads(old_file("state-odd.json"))
    del document["functions"][0]["handler"]
    with pytest.raises(FabricError, match=r"functions\[0\]: `handler` is required"):
        decode_record(redone(document), "here")


# How a run ends.

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


def test_removed_function_drops_its_stored_values() -> None:
    kept = (("api", "a"), ("version:one", "1"), ("version:two", "2"))
    left = apply_change(base(kept=kept), FunctionGone("remove", "one"))
    assert left.kept == (("api", "a"), ("version:two", "2"))


def test_failed_release_marks_stored_values_uncertain() -> None:
    record = base(kept=(("api", "a"),), release_key="key")
    once = apply_change(record, record_failed_release("release", record))
    assert (once.kept, once.release_key) == ((("api", "a"), RELEASE_UNCERTAIN), "")
    assert apply_change(once, record_failed_release("release", once)) == once


def test_died_run_marks_stored_values_uncertain_in_real_mode_only() -> None:
    intent = Intent("release:shop", Operation.RELEASE)
    for mode, doubt in ((Mode.REAL, (RELEASE_UNCERTAIN,)), (Mode.COMMAND, ())):
        assert mark_intents_unknown(base(mode=mode, pending=(intent,))).kept == doubt


def test_rollback_does_not_revert_stored_values() -> None:
    kept = (("version:one", "2"),)
    assert restore_base(base(), running(base(), kept=kept)).kept == kept
