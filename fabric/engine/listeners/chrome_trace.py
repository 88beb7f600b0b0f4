"""A run as a Chrome trace: one row for each parallel task."""

import json
from pathlib import Path

from fabric.model.runs.events import Stamped, TaskEnded, TaskStarted
from fabric.system.files.new_files import write_named


class Profile:
    """Collects task starts and ends, and writes the trace at the end of the run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begun: dict[str, tuple[float, int]] = {}
        self._free: list[int] = []
        self._rows = 0
        self._spans: list[dict[str, object]] = []

    def hear(self, event: Stamped) -> None:
        match event.event:
            case TaskStarted(task, _):
                self._begun[task] = (event.elapsed, self._choose_row())
            case TaskEnded(task, status, reason, _) if task in self._begun:
                begin, row = self._begun.pop(task)
                self._free.append(row)
                self._spans.append(
                    {
                        "name": task,
                        "cat": status,
                        "ph": "X",
                        "ts": round(begin * 1e6),
                        "dur": round((event.elapsed - begin) * 1e6),
                        "pid": 1,
                        "tid": row,
                        "args": {"reason": reason},
                    }
                )
            case _:
                return

    def close(self) -> None:
        write_named(self._path, json.dumps({"traceEvents": self._spans}).encode())

    def _choose_row(self) -> int:
        if self._free:
            return self._free.pop()
        self._rows += 1
        return self._rows
