"""Nodes of a YAML document: meaning of scalars, and lookups."""

import pytest

from fabric.config.yaml.nodes import (
    KeyValue,
    Mapping,
    NumberTooLongError,
    Scalar,
    Sequence,
    convert_to_plain,
    find,
    find_child,
    format_leaf,
    has_leading_zero,
    interpret_scalar,
    is_unfilled,
    place_of,
    remove_keys,
    with_entry,
)
from fabric.model.problems import Place


def leaf(text: str, *, bound: bool = False, secret: bool = False) -> Scalar:
    return Scalar(interpret_scalar(text), text, 1, 2, bound=bound, secret=secret)


def mapping(**entries: Scalar | Sequence | Mapping) -> Mapping:
    return Mapping(tuple(KeyValue(key, 3, 4, value) for key, value in entries.items()), 1, 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("~", None), ("null", None), ("Null", None), ("nULL", "nULL"),
        ("true", True), ("FALSE", False), ("yes", "yes"), ("on", "on"),
        ("0", 0), ("-7", -7), ("+7", 7), ("010", "010"), ("0o17", 15), ("0x1F", 31),
        ("1_000", "1_000"), ("1.5", 1.5), (".5", 0.5), ("1.", 1.0), ("1e3", 1000.0),
        ("-1.5e-2", -0.015), ("1e999", "1e999"), (".inf", ".inf"), (".", "."), ("1.2.3", "1.2.3"),
        ("2026-01-01", "2026-01-01"), ("12:30", "12:30"),
    ],
)  # fmt: skip
def test_an_unquoted_scalar_has_its_meaning_in_the_core_schema(text: str, value: object) -> None:
    found = interpret_scalar(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", ["1" * 65, "0x" + "f" * 64, "1." + "0" * 64])
def test_a_number_with_too_many_digits_is_refused(text: str) -> None:
    with pytest.raises(NumberTooLongError):
        interpret_scalar(text)


@pytest.mark.parametrize(
    ("text", "is_odd"), [("010", True), ("-00", True), ("0", False), ("0.1", False), ("10", False)]
)
def test_parsers_disagree_on_leading_zeros(text: str, *, is_odd: bool) -> None:
    assert has_leading_zero(text) == is_odd


TREE = mapping(a=mapping(b=leaf("5"), c=Sequence((leaf("x"), leaf("true")), 1, 1)))


def test_values_are_found_by_a_path_of_keys() -> None:
    assert find_child(TREE, "a", "b") == leaf("5")
    assert find_child(TREE) is TREE
    assert find_child(TREE, "a", "b", "c") is None
    assert find_child(None, "a") is None
    assert find(TREE, "other") is None


def test_a_tree_is_converted_to_plain_values() -> None:
    assert convert_to_plain(TREE) == {"a": {"b": 5, "c": ["x", True]}}


def test_an_entry_replaces_the_one_of_its_key_in_place() -> None:
    node = mapping(a=leaf("1"), b=leaf("2"))
    replaced = with_entry(node, KeyValue("a", 9, 9, leaf("3")))
    assert convert_to_plain(replaced) == {"a": 3, "b": 2}
    assert [one.key for one in replaced.entries] == ["a", "b"]
    added = with_entry(node, KeyValue("c", 9, 9, leaf("3")))
    assert [one.key for one in added.entries] == ["a", "b", "c"]
    assert [one.key for one in remove_keys(added, "a", "b").entries] == ["c"]


def test_a_secret_is_hidden_in_messages() -> None:
    assert format_leaf(leaf("hush", secret=True)) != "hush"
    assert format_leaf(leaf("open")) == "open"
    assert place_of(leaf("open")) == Place("", 1, 2)


@pytest.mark.parametrize(
    ("text", "bound", "is_open"),
    [
        ("${env:A}", False, True),
        ("${env:A}", True, False),
        ("a", False, False),
        ("5", False, False),
    ],
)
def test_only_a_written_binding_is_unfilled(text: str, *, bound: bool, is_open: bool) -> None:
    assert is_unfilled(leaf(text, bound=bound)) == is_open
