"""Records as JSON: they are read as they were written, and damage is found."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.records.record import (
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
