"""The same call for many: as many at a time as an account takes well."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from fabric.providers.cloud1.clients import AT_ONCE
from fabric.providers.side_by_side import each_at_once

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(call: Callable[[T], R], items: Sequence[T]) -> list[R]:
    return each_at_once(call, items, AT_ONCE)
