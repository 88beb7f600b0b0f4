"""A row of values that are made when they are read, and looks like any other row."""

import pytest

from fabric.engine.shortcuts.packing import LazySequence


def test_lazy_sequence_behaves_like_a_list() -> None:
    row, plain = LazySequence(5, lambda number: number * 10), [0, 10, 20, 30, 40]
    assert (len(row), list(row), list(reversed(row))) == (5, plain, plain[::-1])
    assert (row[-1], list(row[1:4:2]), list(row[3:])) == (40, plain[1:4:2], plain[3:])


@pytest.mark.parametrize("index", [5, -6])
def test_beyond_its_ends_there_is_nothing(index: int) -> None:
    with pytest.raises(IndexError):
        _ = LazySequence(5, lambda number: number)[index]


def test_items_are_created_only_when_read() -> None:
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return number

    row = LazySequence(5, make)
    assert (row[3], row[1]) == (3, 1)
    assert made == [3, 1]
