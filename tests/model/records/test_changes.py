"""The changes of a run to a record, applied one after the other."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import ValidationError

from fabric.model.records.changes import (
    FunctionDone,
    FunctionGone,
    FunctionUnsure,
    LayerDone,
    LayersGone,
    RecordChange,
    ReleaseDone,
    UnitDone,
    apply_change,
    decode_entry,
    encode_entry,
    list_intent_functions,
    mark_intents_unknown,
    record_failed_release,
    settle_intent,
)
from fabric.model.records.record import (
    RELEASE_UNCERTAIN,
    Intent,
    LayerRecord,
    Mode,
    Operation,
)
from fabric.state.records.wal import read_log
from tests.support.documents import mutations
from tests.support.old_files import FOLDER
from tests.support.records import function, record

TASK = "deploy:shop/hello@cloud1-lambda"
CHANGES = [
    FunctionDone(TASK, function(triggers=('{"type": "http"}',), layers=("a",))),
    FunctionGone(TASK, "hello"),
    FunctionUnsure(TASK, "hello"),
    FunctionUnsure(TASK, "new"),
    UnitDone(TASK, (("url", "u"),)),
    ReleaseDone(TASK, "https://shop.test", (("url", "u"),), "key"),
    ReleaseDone(TASK, "", (), "", (("api", "a"),)),
    LayerDone("layer:shop/x@cloud1-lambda", LayerRecord("x", "k", "arn:1", "c", "s")),
    LayersGone("release:shop@cloud1-lambda", ("arn:1", "arn:2")),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: type(one).__name__)
def test_a_change_is_stored_and_read_as_it_was(change: RecordChange) -> None:
    assert decode_entry(encode_entry(change)) == change


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: type(one).__name__)
def test_a_change_applied_twice_changes_nothing_more(change: RecordChange) -> None:
    once = apply_change(record(), change)
    assert apply_change(once, change) == once


@pytest.mark.parametrize("document", [{}, {"kind": "other"}, {"kind": "gone", "task": 1}, []])
def test_an_unknown_change_is_an_error(document: object) -> None:
    with pytest.raises(ValidationError):
        decode_entry(document)


def test_a_deployed_function_replaces_the_one_of_its_name_in_order() -> None:
    was = record(functions=(function("b"), function("d")))
    now = apply_change(was, FunctionDone(TASK, function("d", key="new")))
    now = apply_change(now, FunctionDone(TASK, function("c")))
    assert [(one.name, one.key) for one in now.functions] == [("b", "k"), ("c", "k"), ("d", "new")]


def test_an_uncertain_function_keeps_its_facts_without_a_key() -> None:
    now = apply_change(record(release_key="key"), FunctionUnsure(TASK, "hello"))
    assert now.functions == (function(key=""),)
    assert now.release_key == ""


def test_an_uncertain_new_function_is_recorded_so_that_it_can_be_deleted() -> None:
    now = apply_change(record(), FunctionUnsure(TASK, "new"))
    found = now.function("new")
    assert found
    assert not found.was_made


def test_a_release_replaces_address_outputs_and_stored_values() -> None:
    was = record(kept=(("api", "old"),))
    now = apply_change(was, ReleaseDone("release", "https://new.test", (), "key", (("api", "b"),)))
    assert (now.endpoint, now.outputs, now.release_key) == ("https://new.test", (), "key")
    assert now.kept == (("api", "b"),)


def test_removed_function_drops_its_stored_values() -> None:
    kept = (("api", "a"), ("version:hello", "1"), ("version:two", "2"))
    left = apply_change(record(kept=kept), FunctionGone("remove", "hello"))
    assert left.kept == (("api", "a"), ("version:two", "2"))


def test_failed_release_marks_stored_values_uncertain() -> None:
    was = record(kept=(("api", "a"),), release_key="key")
    once = apply_change(was, record_failed_release("release", was))
    assert (once.kept, once.release_key) == ((("api", "a"), RELEASE_UNCERTAIN), "")
    assert apply_change(once, record_failed_release("release", once)) == once


def test_died_run_marks_stored_values_uncertain_in_real_mode_only() -> None:
    intent = Intent("release:shop", Operation.RELEASE)
    for mode, doubt in ((Mode.REAL, (RELEASE_UNCERTAIN,)), (Mode.COMMAND, ())):
        assert mark_intents_unknown(record(mode=mode, pending=(intent,))).kept == doubt


def test_functions_of_a_died_run_have_no_valid_key() -> None:
    functions = (function("a"), function("b"), function("c"))
    intent = Intent(TASK, Operation.DEPLOY, "a,b")
    died = record(mode=Mode.COMMAND, functions=functions, pending=(intent,), release_key="key")
    now = mark_intents_unknown(died)
    assert [one.key for one in now.functions] == ["", "", "k"]
    assert now.release_key == ""


def test_a_simulated_run_that_died_leaves_no_doubt() -> None:
    died = record(pending=(Intent(TASK, Operation.DEPLOY),), release_key="key")
    assert mark_intents_unknown(died) == died


def test_without_a_planned_call_nothing_is_in_doubt() -> None:
    ended = record(mode=Mode.REAL, release_key="key")
    assert mark_intents_unknown(ended) == ended


@pytest.mark.parametrize(
    ("intent", "names"),
    [
        (Intent(TASK, Operation.DEPLOY, "a,b"), ["a", "b"]),
        (Intent(TASK, Operation.DEPLOY), ["hello"]),
        (Intent(TASK, Operation.REMOVE), ["hello"]),
        (Intent(TASK, Operation.RELEASE), []),
        (Intent(TASK, Operation.LAYER), []),
    ],
)
def test_a_planned_call_without_names_means_all_functions(intent: Intent, names: list[str]) -> None:
    assert list_intent_functions(record(), intent) == names


def test_a_settled_call_is_no_longer_planned() -> None:
    other = Intent("release", Operation.RELEASE)
    was = record(pending=(Intent(TASK, Operation.DEPLOY), other))
    assert settle_intent(was, TASK).pending == (other,)


LOG = read_log(FOLDER / "wal.log")
ENTRIES = [encode_entry(one) for one in LOG.entries] if LOG else []


@pytest.mark.parametrize("document", ENTRIES, ids=lambda one: str(one["kind"]))
def test_an_entry_comes_back_as_it_was(document: dict[str, Any]) -> None:
    assert encode_entry(decode_entry(json.loads(json.dumps(document)))) == document


@given(st.sampled_from(ENTRIES).flatmap(mutations))
def test_a_damaged_entry_is_an_entry_or_a_value_error(document: Any) -> None:
    try:
        decode_entry(document)
    except ValueError:
        return


def test_the_last_published_version_is_the_current_one() -> None:
    one, two = (LayerRecord("x", name, name, name, name) for name in ("one", "two"))
    now = record()
    for row in (one, two, one):
        now = apply_change(now, LayerDone(TASK, row))
    assert now.layers == (two, one)
    assert now.layer("x") == one
    assert apply_change(now, LayersGone(TASK, ("one",))).layer("x") == two
    assert now.layer("other") is None
