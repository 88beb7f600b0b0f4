"""The same call for many: cloud4 takes a hundred a second of an account."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from fabric.providers.side_by_side import each_at_once

T = TypeVar("T")
R = TypeVar("R")
AT_ONCE = 8


def side_by_side(call: Callable[[T], R], items: Sequence[T]) -> list[R]:
    return each_at_once(call, items, AT_ONCE)
