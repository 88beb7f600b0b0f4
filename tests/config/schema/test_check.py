"""Differences between a tree and a shape, for the shapes with alternatives."""

import pytest

from fabric.config.schema.check import check
from fabric.config.schema.shapes import (
    Either,
    Field,
    Fields,
    Flag,
    Integer,
    Kinds,
    Many,
    Number,
    OneOf,
    Shape,
    Table,
    Text,
)
from fabric.config.yaml.reader import read

FORM = Fields((Field("type", Text(), "The type.", "a"), Field("size", Integer(1), "Size.", 1)))
KINDS = Kinds((("small", FORM), ("large", FORM)), "a size", "test/size")
EITHER = Either((Flag(), Many(Integer(1)), Table(Flag())))
WORD = OneOf(("red", "blue"), "a color")
OPEN = OneOf(("red",), "a color", accepts=lambda word: word.startswith("x-"))


def messages(shape: Shape, text: str) -> list[str]:
    root = read("a.yml", text.encode()).root
    return [one.problem.message for one in check(shape, root, ("key",))]


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (EITHER, "true"),
        (EITHER, "[1, 2]"),
        (EITHER, "{prod: false}"),
        (WORD, "blue"),
        (WORD, "${env:COLOR}"),
        (OPEN, "x-mine"),
        (Integer(1, 5), "2.0"),
        (Number(0.5, 2), "1"),
        (Number(0.5, 2), "${env:N}"),
        (KINDS, "{type: small, size: 1}"),
    ],
)
def test_value_of_any_accepted_form_has_no_finding(shape: Shape, text: str) -> None:
    assert messages(shape, text) == []


@pytest.mark.parametrize(
    ("shape", "text", "message"),
    [
        (EITHER, "5", "`key` must be true or false, not `5`"),
        (EITHER, "[a]", "`key[0]` must be a whole number, not `a`"),
        (EITHER, "{prod: 1}", "`key.prod` must be true or false, not `1`"),
        (WORD, "blu", "`key` must be a color (red, blue), not `blu`"),
        (WORD, "[red]", "`key` must be a color (red, blue), not a list"),
        (WORD, "5", "`key` must be a color (red, blue), not `5`"),
        (OPEN, "y-mine", "`key` must be a color (red), not `y-mine`"),
        (Integer(1), "0", "`key` must be a whole number of at least 1, not `0`"),
        (Integer(1, 5), "6", "`key` must be a whole number from 1 to 5, not `6`"),
        (Integer(1, 5, "a time"), "6", "`key` must be a time from 1 to 5, not `6`"),
        (Integer(1, 5, "a time"), "noon", "`key` must be a time, not `noon`"),
        (Integer(1), "1.5", "`key` must be a whole number, not `1.5`"),
        (Number(0.5, 2), "2.5", "`key` must be a number from 0.5 to 2, not `2.5`"),
        (Number(0.5, 2), "true", "`key` must be a number from 0.5 to 2, not `true`"),
        (KINDS, "[a]", "`key` must be a map, not a list"),
        (KINDS, "{size: 1}", "`key.type` is required"),
        (KINDS, "{type: smal}", "`key.type` must be a size (small, large), not `smal`"),
        (KINDS, "{type: [small]}", "`key.type` must be a size (small, large), not a list"),
        (KINDS, "{type: small, size: x}", "`key.size` must be a whole number, not `x`"),
    ],
)  # fmt: skip
def test_difference_is_reported_for_the_form_that_fits_best(
    shape: Shape, text: str, message: str
) -> None:
    assert messages(shape, text) == [message]


@pytest.mark.parametrize(
    ("shape", "text", "hint"),
    [
        (WORD, "blu", "did you mean `blue`?"),
        (KINDS, "{type: smal}", "did you mean `small`?"),
        (Text(), "5", "put the value in quotes"),
        (Integer(1), "'5'", "write it without quotes"),
        (Flag(), "'true'", "write it without quotes"),
        (Flag(), "[a]", ""),
    ],
)
def test_hint_is_the_likely_correction(shape: Shape, text: str, hint: str) -> None:
    root = read("a.yml", text.encode()).root
    (found,) = check(shape, root)
    assert found.problem.hint == hint
