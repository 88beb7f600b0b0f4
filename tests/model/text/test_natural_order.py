"""Names in the order in which people count."""

import pytest

from fabric.model.text.natural_order import make_natural_key


@pytest.mark.parametrize(
    "names",
    [
        ["f2", "f10", "f100"],
        ["2", "10", "a"],
        ["a1b2", "a1b10", "a2b1"],
        ["", "a", "a1", "b"],
        ["part09-more", "part9-end", "part10"],
    ],
)
def test_numbers_inside_names_are_compared_as_numbers(names: list[str]) -> None:
    shuffled = [*names[1:], names[0]]
    assert sorted(shuffled, key=make_natural_key) == names


def test_different_names_have_different_keys() -> None:
    assert make_natural_key("f01") != make_natural_key("f1")
