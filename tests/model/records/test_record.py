"""The state of a service as a value."""

import pytest

from fabric.model.records.record import (
    FunctionRecord,
    Intent,
    Lifecycle,
    Operation,
    Record,
    RecordRef,
)
from tests.support.records import function, record

REF = RecordRef("shop", "dev", "cloud1-lambda")
STUB = Record(REF, "cloud1-lambda", "line", "salt")


def test_a_record_is_named_by_service_stage_and_provider() -> None:
    assert REF.path == "shop/dev/cloud1-lambda"
    assert REF.title == "`shop` (dev, cloud1-lambda)"


def test_records_are_ordered_by_service_first() -> None:
    refs = [RecordRef("b", "a", "a"), RecordRef("a", "c", "a"), RecordRef("a", "b", "z")]
    assert [one.path for one in sorted(refs)] == ["a/b/z", "a/c/a", "b/a/a"]


def test_a_function_without_an_archive_was_only_attempted() -> None:
    assert function().was_made
    assert not FunctionRecord("hello", "", "").was_made


def test_a_function_is_found_by_its_name() -> None:
    assert record().function("hello") == function()
    assert record().function("world") is None


@pytest.mark.parametrize(
    "known",
    [
        {"functions": (function(),)},
        {"pending": (Intent("deploy:shop", Operation.DEPLOY),)},
        {"history": record().history},
        {"deployment_id": "first"},
        {"lifecycle": Lifecycle.FAILED},
    ],
    ids=lambda known: next(iter(known)),
)
def test_a_record_that_knows_something_is_more_than_a_stub(known: dict[str, object]) -> None:
    assert STUB.is_stub
    assert not Record(REF, "cloud1-lambda", "line", "salt", **known).is_stub  # type: ignore[arg-type]
