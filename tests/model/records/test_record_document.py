"""The stored form of records: each version of a function once."""

import pytest
from msgspec import convert
from msgspec.structs import replace

from fabric.model.records.endings import take_snapshot
from fabric.model.records.record import LayerRecord, Mode, Origin, PreviewStage
from fabric.model.records.record_document import (
    RecordDocument,
    compute_version_hash,
    encode_function_record,
    encode_record,
    record_read,
)
from tests.support.records import function, record

OLD = function(key="old")


ORIGIN = Origin("1" * 40, "main", "me@here")


def test_the_history_names_functions_by_their_version() -> None:
    past = replace(take_snapshot(record()), functions=(OLD, function()))
    document = encode_record(record(history=(past,)))
    assert document["history"][0]["functions"] == [
        compute_version_hash(OLD),
        compute_version_hash(function()),
    ]


def test_only_versions_that_are_no_longer_deployed_are_stored_apart() -> None:
    past = replace(take_snapshot(record()), functions=(OLD, function()))
    document = encode_record(record(history=(past, past)))
    assert document["versions"] == {compute_version_hash(OLD): encode_function_record(OLD)}


def test_a_record_is_read_as_it_was_stored() -> None:
    past = replace(take_snapshot(record()), functions=(OLD,), origin=ORIGIN)
    layer = LayerRecord("x", "k", "arn", "content", "sha", 5, retain=True)
    stored = record(history=(past,), kept=(("api", "a"),), mode=Mode.REAL, layers=(layer,))
    stored = replace(stored, origin=ORIGIN, preview=PreviewStage("2026-01-02T00:00:00.000Z"))
    assert record_read(convert(encode_record(stored), RecordDocument)) == stored


def test_a_version_that_is_missing_is_an_error() -> None:
    past = replace(take_snapshot(record()), functions=(OLD,))
    document = encode_record(record(history=(past,))) | {"versions": {}}
    with pytest.raises(LookupError):
        record_read(convert(document, RecordDocument))


def test_values_that_are_not_set_have_no_key() -> None:
    document = encode_record(record())
    assert {"kept", "layers", "origin", "preview"}.isdisjoint(document)
    assert "origin" not in document["history"][0]
    assert "sealedValues" not in encode_function_record(function())
    assert encode_function_record(function(sealed_values="1.a.b"))["sealedValues"] == "1.a.b"


def test_a_version_does_not_depend_on_its_encrypted_values() -> None:
    one = function(sealed_values="1.ab.cd")
    assert compute_version_hash(one) == compute_version_hash(function())
    assert compute_version_hash(replace(one, key="other")) != compute_version_hash(function())
