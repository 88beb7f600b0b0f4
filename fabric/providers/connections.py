"""Connections to provider accounts, shared by all deployers of one run and closed at its end."""

import threading
from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar, cast


class Closable(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=Closable)


class Connections:
    """A thread-safe pool of connections. The `key` identifies a connection."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._made: dict[Hashable, Closable] = {}

    def find_or_make(self, key: Hashable, make: Callable[[], T]) -> T:
        with self._guard:
            if key not in self._made:
                self._made[key] = make()
            return cast("T", self._made[key])

    def close(self) -> None:
        with self._guard:
            for one in self._made.values():
                one.close()
            self._made.clear()
