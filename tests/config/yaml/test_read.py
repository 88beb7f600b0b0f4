"""Typed values of a tree; other types give the default."""

from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, Scalar
from fabric.config.yaml.reader import read as read_document

TEXT = b"""\
text: a
number: 7
whole: 2.0
flag: true
nothing:
list: [a, 5, {b: c}]
map: {a: x, b: 5, c: [d]}
"""


def tree() -> Node:
    return read_document("a.yml", TEXT).root


def test_texts_are_read_as_written() -> None:
    keys = ("text", "number", "flag", "nothing", "list", "none")
    assert [read.read_text(tree(), key, "-") for key in keys] == ["a", "7", "true", "-", "-", "-"]
    assert (read.find_text(tree(), "none"), read.find_text(None, "text")) == (None, None)


def test_numbers_and_flags_are_read_only_from_their_types() -> None:
    keys = ("number", "whole", "flag", "text", "none")
    assert [read.read_integer(tree(), key, 9) for key in keys] == [7, 2, 9, 9, 9]
    assert [read.read_flag(tree(), key) for key in keys] == [False, False, True, False, False]
    assert read.read_flag(tree(), "none", default=True)
    assert read.read_optional_flag(tree(), "number") is None


def test_missing_list_or_map_differs_from_an_empty_one() -> None:
    assert read.read_texts(tree(), "list") == ("a", "5")
    assert (read.find_texts(tree(), "none"), read.find_texts(tree(), "text")) == (None, ())
    assert read.find_pairs(tree(), "map") == (("a", "x"), ("b", "5"))
    assert (read.find_pairs(tree(), "none"), read.find_pairs(tree(), "text")) == (None, ())


def test_bound_text_can_be_a_number_or_a_flag() -> None:
    values = [read.read_as(Scalar(one, one, 1, 1, bound=True)) for one in ("5", "true", "x")]
    assert values == [5, True, "x"]
    long = "9" * 70
    assert read.read_as(Scalar(long, long, 1, 1, bound=True)) == long
    assert read.read_as(Scalar("5", "5", 1, 1)) == "5"


def test_equal_values_have_one_canonical_text() -> None:
    first, second = (
        read_document("a.yml", one).root for one in (b"{b: 1, a: [x]}", b"{a: [x], b: 1}")
    )
    assert read.encode_node(first) == read.encode_node(second) == '{"a":["x"],"b":1}'
    assert read.encode_node(None, "-") == "-"
    assert isinstance(first, Mapping)
