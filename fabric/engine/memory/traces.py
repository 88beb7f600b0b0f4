"""What tasks looked at and gave, newest first, kept in the memo under the task's own name."""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

from fabric.engine.memory.durations import Durations
from fabric.engine.memory.memo import Memo
from fabric.graph.traces import ListingTrace, Trace
from fabric.model.hashing import is_digest
from fabric.model.names import Digest
from fabric.model.task import InputEntry, Output, OutputFile, Pairs
from fabric.model.task_id import TaskId
from fabric.system.source.names import is_plain_name

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
        self._raw: dict[str, bytes] | None = None
        self._lock = threading.Lock()
        self.durations = Durations(memo, project)

    def expect(self, count: int) -> None:
        """So many tasks will be asked about: fetch their records together if that is cheaper."""
        if count >= _MANY:
            self._raw = self._memo.get_range(self._prefix)

    def preset(self, task_id: TaskId, traces: tuple[Trace, ...]) -> None:
        """What is remembered of a task, known from elsewhere: no need to look it up."""
        self._recalled[task_id] = traces

    def traces(self, task_id: TaskId) -> Sequence[Trace]:
        recalled = self._recalled.get(task_id)
        if recalled is None:
            recalled = decode_traces(self._record(self._prefix + task_id))
            self._recalled[task_id] = recalled
        fresh = self._fresh.get(task_id)
        return (*fresh, *recalled) if fresh else recalled

    def remember(self, task_id: TaskId, trace: Trace) -> None:
        with self._lock:
            self._fresh.setdefault(task_id, []).insert(0, trace)
            full = len(self._fresh) >= _BATCH
        if full:
            self.flush()

    def forget(self, task_id: TaskId) -> None:
        with self._lock:
            self._fresh.pop(task_id, None)
            self._recalled[task_id] = ()
        self._memo.drop(self._prefix + task_id)

    def last_ms(self, task_id: TaskId) -> int | None:
        """How long the task took when it last ran, if that is remembered."""
        last = next(iter(self.traces(task_id)), None)
        return self.durations.ms(task_id) if last is None else last.ms

    def flush(self) -> None:
        """Write what is new; records that another process wrote meanwhile stay behind it."""
        rows = {**self._trace_rows(), **self.durations.rows()}
        if rows:
            self._memo.put_all(rows)

    def _trace_rows(self) -> dict[str, bytes]:
        with self._lock:
            fresh, self._fresh = self._fresh, {}
            first = {task_id for task_id in fresh if self._recalled.get(task_id) == ()}
            for task_id, traces in fresh.items():
                recalled = self._recalled.get(task_id, ())
                self._recalled[task_id] = (*traces, *recalled)[:_KEPT]
        if not fresh:
            return {}
        self._before_flush()
        rows = {}
        for task_id, traces in fresh.items():
            kept = [encode_trace(trace) for trace in traces]
            same = {one["key"] for one in kept}
            # What was not there when the run began is not asked for again.
            stored = [] if task_id in first else self._stored(task_id)
            older = [one for one in stored if one.get("key") not in same]
            record = (kept + older)[:_KEPT]
            rows[self._prefix + task_id] = json.dumps(record, separators=(",", ":")).encode()
        return rows

    def _stored(self, task_id: TaskId) -> list[Any]:
        record = parsed(self._memo.get_bytes(self._prefix + task_id))
        return record if isinstance(record, list) else []

    def _record(self, key: str) -> Any:
        raw = self._memo.get_bytes(key) if self._raw is None else self._raw.get(key)
        return parsed(raw)


def parsed(raw: bytes | None) -> Any:
    """A record as JSON; whatever is not JSON is a miss."""
    try:
        return None if raw is None else json.loads(raw)
    except ValueError:
        return None


def encode_trace(trace: Trace) -> dict[str, Any]:
    output = trace.output
    return {
        "static": trace.static,
        # Kinds are words of an enum: plain text is what JSON and marshal both take.
        "entries": [(str(kind), name, value) for kind, name, value in trace.entries],
        "files": trace.files,
        "absent": trace.absent,
        "listings": [(one.folder, one.pattern, one.ignore, one.digest) for one in trace.listings],
        "upstream": trace.upstream,
        "links": trace.links,
        "key": trace.key,
        "ms": trace.ms,
        "digest": output.digest,
        "facts": output.facts,
        "made": [(one.path, one.digest, one.size, one.executable) for one in output.files],
    }


def decode_traces(record: Any) -> tuple[Trace, ...]:
    """Traces out of a memo record; whatever is not of this form is a miss."""
    try:
        return tuple(_decode(one) for one in record or ())
    except (KeyError, TypeError, ValueError):
        return ()


def _decode(one: Any) -> Trace:
    return Trace(
        static=Digest(_text(one["static"])),
        entries=tuple(InputEntry(*map(_text, entry)) for entry in one["entries"]),
        files=_pairs(one["files"]),
        absent=tuple(map(_text, one["absent"])),
        listings=tuple(
            ListingTrace(_text(folder), _text(pattern), tuple(map(_text, ignore)), _text(digest))
            for folder, pattern, ignore, digest in one["listings"]
        ),
        links=_pairs(one["links"]),
        upstream=_pairs(one["upstream"]),
        key=Digest(_text(one["key"])),
        output=Output(
            Digest(_text(one["digest"])), tuple(map(_made, one["made"])), _pairs(one["facts"])
        ),
        ms=int(one["ms"]),
    )


def _made(row: Any) -> OutputFile:
    """What names a place outside of a task's own folder, or a content by no digest, is a miss."""
    path, digest, size, executable = row
    if not is_plain_name(_text(path)) or not is_digest(_text(digest)):
        raise ValueError(f"not the name of an output: {path}")
    return OutputFile(path, Digest(digest), int(size), executable=executable is True)


def _pairs(rows: Any) -> Pairs:
    return tuple((_text(name), _text(value)) for name, value in rows)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"not a text: {value!r}")
    return value
