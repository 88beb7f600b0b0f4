"""Open event streams. Each uses a server thread, so their number is limited."""

import threading
from collections.abc import Callable, Generator

from fabric.daemon.runs.event_lines import StreamItem
from fabric.model.problems import FabricError, Problem

MOST_STREAMS = 32


class StreamPlaces:
    """An allowance. Thread-safe."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self.taken = 0

    def take(self) -> None:
        with self._lock:
            if self.taken >= self._most:
                message = f"too many open event streams (maximum {self._most})"
                hint = "close a stream, or try again later"
                raise FabricError(Problem("daemon/streams-full", message, hint=hint))
            self.taken += 1

    def give_back(self) -> None:
        with self._lock:
            self.taken -= 1


class RunStream:
    """The event stream of one follower. Its slot is freed once, at the end or when closed."""

    def __init__(self, items: Generator[StreamItem, None, None], places: StreamPlaces) -> None:
        places.take()
        self._items = items
        self._give_back: Callable[[], None] | None = places.give_back

    def __iter__(self) -> "RunStream":
        return self

    def __next__(self) -> StreamItem:
        try:
            return next(self._items)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            self._items.close()
            give_back()
