"""Errors of a decoder, as a path with the expected and the found type."""

import pytest
from msgspec import Struct, ValidationError, convert

from fabric.model.text.validation_message import describe_misfit, prefix_message


class Inner(Struct):
    key: str
    count: int = 0


class Outer(Struct):
    functions: list[Inner]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"functions": [{"key": 3}]}, "functions[0].key: expected text, found a number"),
        (
            {"functions": [{"key": "a", "count": "b"}]},
            "functions[0].count: expected a whole number, found text",
        ),
        ({"functions": {}}, "functions: expected a list, found an object"),
        ({"functions": [{}]}, "functions[0]: `key` is required"),
        ({}, "`functions` is required"),
        ([], "expected an object, found a list"),
        ({"functions": [{"key": None}]}, "functions[0].key: expected text, found nothing"),
    ],
)
def test_a_misfit_names_its_path_and_both_types(document: object, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        convert(document, Outer)
    assert describe_misfit(caught.value) == message


def test_a_message_without_a_path_has_no_colon() -> None:
    assert prefix_message("", "wrong") == "wrong"
    assert prefix_message("a.b", "wrong") == "a.b: wrong"
