"""Rows that are created when read, because most answers show few of them."""

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class WhenRead(Sequence[T]):
    """A sequence that creates all rows on first access."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make = make
        self._rows: Sequence[T] | None = None

    def _get_rows(self) -> Sequence[T]:
        if self._rows is None:
            self._rows = self._make()
        return self._rows

    def __len__(self) -> int:
        return len(self._get_rows())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._get_rows()[index]
