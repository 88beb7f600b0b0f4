"""What tasks looked at and gave, newest first, kept in the memo under the task's own name."""

import threading
from collections.abc import Sequence
from typing import Any

from fabric.engine.memo import Records
from fabric.graph.traces import ListingTrace, Trace
from fabric.model.names import Digest, TaskId
from fabric.model.task import Entry, Output, OutputFile

# Enough for a few stages and branches; the oldest falls out.
_KEPT = 16
_BATCH = 500


class Ledger:
    """Recall is immediate, remembering is batched: one transaction for many tasks."""

    def __init__(self, memo: Records, project: str) -> None:
        self._memo = memo
        self._prefix = f"t:{project}:"
        self._fresh: dict[TaskId, list[Trace]] = {}
        self._recalled: dict[TaskId, tuple[Trace, ...]] = {}
        self._lock = threading.Lock()
        self.writable = True

    def traces(self, task_id: TaskId) -> Sequence[Trace]:
        with self._lock:
            fresh = tuple(self._fresh.get(task_id, ()))
            recalled = self._recalled.get(task_id)
        if recalled is None:
            recalled = decode_traces(self._memo.get(self._prefix + task_id))
            with self._lock:
                self._recalled[task_id] = recalled
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

    def flush(self) -> None:
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        if not fresh:
            return
        records = {}
        for task_id, traces in fresh.items():
            older = self._memo.get(self._prefix + task_id)
            kept = [encode_trace(trace) for trace in traces]
            same = {one["key"] for one in kept}
            older = [one for one in older or () if one.get("key") not in same]
            records[self._prefix + task_id] = (kept + older)[:_KEPT]
        self.writable = self._memo.put_all(records) and self.writable
        with self._lock:
            for task_id in fresh:
                self._recalled.pop(task_id, None)


def encode_trace(trace: Trace) -> dict[str, Any]:
    output = trace.output
    return {
        "static": trace.static,
        "entries": trace.entries,
        "files": trace.files,
        "absent": trace.absent,
        "listings": [(one.folder, one.pattern, one.digest) for one in trace.listings],
        "upstream": trace.upstream,
        "key": trace.key,
        "ms": trace.ms,
        "digest": output.digest,
        "view": output.view,
        "whole": output.whole_folder,
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
    made = tuple(
        OutputFile(path, digest, size, executable=executable)
        for path, digest, size, executable in one["made"]
    )
    facts = tuple((name, value) for name, value in one["facts"])
    return Trace(
        static=Digest(one["static"]),
        entries=tuple(Entry(*entry) for entry in one["entries"]),
        files=tuple((path, digest) for path, digest in one["files"]),
        absent=tuple(one["absent"]),
        listings=tuple(ListingTrace(*listing) for listing in one["listings"]),
        upstream=tuple((name, digest) for name, digest in one["upstream"]),
        key=Digest(one["key"]),
        output=Output(Digest(one["digest"]), made, facts, one["view"], one["whole"]),
        ms=one["ms"],
    )
