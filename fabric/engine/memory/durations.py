"""Durations of tasks without traces, such as deploys. Used as estimates only."""

import json
import threading
from typing import TYPE_CHECKING

from msgspec import convert

from fabric.engine.memory.memo import Memo
from fabric.model.task_id import TaskId

if TYPE_CHECKING:
    from collections.abc import Mapping

# What was not run for longest is forgotten first.
_KEPT = 50_000


class Durations:
    """The durations of a project in one record, read on first use."""

    def __init__(self, memo: Memo, project: str) -> None:
        self._memo = memo
        self._key = f"d:{project}"
        self._fresh: dict[str, int] = {}
        self._stored: Mapping[str, int] | None = None
        self._lock = threading.Lock()

    def ms(self, task_id: TaskId) -> int | None:
        with self._lock:
            if self._stored is None:
                self._stored = self._read()
            return self._fresh.get(task_id, self._stored.get(task_id))

    def note(self, task_id: TaskId, ms: int) -> None:
        with self._lock:
            self._fresh[task_id] = ms

    def rows(self) -> dict[str, bytes]:
        """Return the record to write; nothing if no duration was added."""
        with self._lock:
            if not self._fresh:
                return {}
            older = {name: ms for name, ms in self._read().items() if name not in self._fresh}
            both = [*older.items(), *self._fresh.items()][-_KEPT:]
            self._stored, self._fresh = dict(both), {}
        return {self._key: json.dumps(dict(both), separators=(",", ":")).encode()}

    def _read(self) -> dict[str, int]:
        try:
            found = json.loads(self._memo.get_bytes(self._key) or b"{}")
            return convert(found, dict[str, int])
        except (ValueError, RecursionError):
            return {}
