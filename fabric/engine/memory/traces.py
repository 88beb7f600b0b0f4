"""Task traces, newest first, stored in the memo under the stable task name; and durations."""

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, convert, field
from msgspec.structs import replace

from fabric.engine.memory.memo import Memo
from fabric.engine.memory.trace_rows import encode_traces, read_traces
from fabric.graph.traces import Trace
from fabric.model.task_id import TaskId, remove_target_suffix

# Enough for a few stages and branches; the oldest falls out.
_KEPT = 16
_BATCH = 500
# From here on one query for all records beats one for each.
_MANY = 64


class TraceStore:
    """Recall is immediate, remembering is batched: one transaction for many tasks."""

    def __init__(self, memo: Memo, project: str, before_flush: Callable[[], None]) -> None:
        self._memo = memo
        self._prefix = f"t:{project}:"
        self._before_flush = before_flush
        self._fresh: dict[TaskId, list[Trace]] = {}
        self._recalled: dict[TaskId, tuple[Trace, ...]] = {}
        self._learned: dict[TaskId, tuple[Trace, ...]] = {}
        self._raw: dict[str, bytes] | None = None
        self._lock = threading.Lock()
        self.durations = Durations(memo, project)

    def expect(self, count: int) -> None:
        """Prefetch the traces of N tasks together if that is cheaper."""
        if count >= _MANY:
            self._raw = self._memo.get_range(self._prefix)

    def preset(self, task_id: TaskId, traces: tuple[Trace, ...]) -> None:
        """Set the traces of a task from another source, without a lookup."""
        self._recalled[remove_target_suffix(task_id)] = traces

    def traces(self, task_id: TaskId) -> Sequence[Trace]:
        task_id = remove_target_suffix(task_id)
        recalled = self._recalled.get(task_id)
        if recalled is None:
            recalled = self._read_traces(task_id)
            self._recalled[task_id] = recalled
        fresh, learned = self._fresh.get(task_id), self._learned.get(task_id)
        if fresh or learned:
            return (*(fresh or ()), *recalled, *(learned or ()))
        return recalled

    def learn(self, task_id: TaskId, traces: tuple[Trace, ...]) -> None:
        """Add traces of other machines, after the local ones."""
        task_id = remove_target_suffix(task_id)
        known = {one.key for one in self.traces(task_id)}
        fresh = tuple(one for one in traces if one.key not in known)
        if fresh:
            self._learned[task_id] = (*self._learned.get(task_id, ()), *fresh)

    def is_learned(self, task_id: TaskId, trace: Trace) -> bool:
        """Whether only other machines remember it, by now."""
        return trace in self._learned.get(remove_target_suffix(task_id), ())

    def take_over(self, task_id: TaskId, trace: Trace, *, is_far: bool) -> None:
        """Store a verified trace of another machine as a local one."""
        task_id = remove_target_suffix(task_id)
        with self._lock:
            learned = self._learned.get(task_id, ())
            self._learned[task_id] = tuple(one for one in learned if one != trace)
        if trace in learned:
            self.remember(task_id, replace(trace, is_far=is_far))

    def remember(self, task_id: TaskId, trace: Trace) -> None:
        with self._lock:
            fresh = self._fresh.get(remove_target_suffix(task_id), [])
            self._fresh[remove_target_suffix(task_id)] = _drop_duplicates((trace, *fresh))
            full = len(self._fresh) >= _BATCH
        if full:
            self.flush()

    def forget(self, task_id: TaskId) -> None:
        task_id = remove_target_suffix(task_id)
        with self._lock:
            self._fresh.pop(task_id, None)
            self._recalled[task_id] = ()
        self._memo.drop(self._prefix + task_id)

    def last_ms(self, task_id: TaskId) -> int | None:
        """Return the duration of the task's last run, if known."""
        last = next(iter(self.traces(task_id)), None)
        return self.durations.ms(task_id) if last is None else last.ms

    def flush(self) -> None:
        """Write new traces, before those that another process wrote meanwhile."""
        rows = {**self._trace_rows(), **self.durations.rows()}
        if rows:
            self._memo.put_all(rows)

    def _trace_rows(self) -> dict[str, bytes]:
        with self._lock:
            fresh, self._fresh = self._fresh, {}
            first = {task_id for task_id in fresh if self._recalled.get(task_id) == ()}
            for task_id, traces in fresh.items():
                recalled = self._recalled.get(task_id, ())
                self._recalled[task_id] = tuple(_drop_duplicates((*traces, *recalled))[:_KEPT])
        if not fresh:
            return {}
        self._before_flush()
        return {
            # What was not there when the run began is not asked for again.
            self._prefix + task_id: self._encode_row(task_id, traces, is_first=task_id in first)
            for task_id, traces in fresh.items()
        }

    def _encode_row(self, task_id: TaskId, fresh: Sequence[Trace], *, is_first: bool) -> bytes:
        """Encode new traces, before those that another process wrote meanwhile."""
        stored = () if is_first else read_traces(self._memo.get_bytes(self._prefix + task_id))
        return encode_traces(_drop_duplicates((*fresh, *stored))[:_KEPT])

    def _read_traces(self, task_id: TaskId) -> tuple[Trace, ...]:
        key = self._prefix + task_id
        return read_traces(self._memo.get_bytes(key) if self._raw is None else self._raw.get(key))


def _drop_duplicates(traces: Iterable[Trace]) -> list[Trace]:
    """Drop older traces with an identical result."""
    found: dict[str, Trace] = {}
    for one in traces:
        found.setdefault(one.key, one)
    return list(found.values())


Traces: TypeAlias = tuple[Trace, ...]


class RemoteResults(Struct, frozen=True):
    """The output of a `trusted` run is not fetched, because its function is deployed and up to
    date."""

    # Runs without a local trace.
    traces: Mapping[TaskId, Traces] = field(default_factory=dict)
    trusted: frozenset[TaskId] = frozenset()

    def without(self, taken: frozenset[TaskId]) -> "RemoteResults":
        return RemoteResults(self.traces, self.trusted - taken)


NOTHING = RemoteResults()


# The tasks that did not run for the longest time are dropped first.
_KEPT_DURATIONS = 50_000


class Durations:
    """Durations of tasks without traces, such as deploys: estimates only.

    They are one record for a project, read on first use.
    """

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
            both = [*older.items(), *self._fresh.items()][-_KEPT_DURATIONS:]
            self._stored, self._fresh = dict(both), {}
        return {self._key: json.dumps(dict(both), separators=(",", ":")).encode()}

    def _read(self) -> dict[str, int]:
        try:
            found = json.loads(self._memo.get_bytes(self._key) or b"{}")
            return convert(found, dict[str, int])
        except (ValueError, RecursionError):
            return {}
