"""Tools of a task for tests: nothing is stopped, and what is said is kept."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fabric.model.records.changes import RecordChange, apply_change
from fabric.model.records.record import Intent, Record
from fabric.model.task import OutputFile
from fabric.model.task_id import TaskId


@dataclass
class QuietTools:
    workspace: Path = Path("/nowhere")
    said: list[str] = field(default_factory=list)
    waits: int = 0

    def content(self, owner: TaskId, file: OutputFile) -> bytes:
        raise AssertionError(f"{owner} is not asked for {file.path}")

    def go_on(self) -> None:
        return

    def is_interrupted(self) -> bool:
        return False

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        self.waits += 1
        yield

    def say(self, owner: TaskId, text: str) -> None:
        self.said.append(f"{owner}: {text}")


@dataclass
class HeldRecord:
    """A record as if it were locked."""

    record: Record
    changes: list[RecordChange] = field(default_factory=list)
    unsettled: tuple[Intent, ...] = ()

    def __post_init__(self) -> None:
        self.base = self.record

    def require_lock(self) -> None:
        return

    def add(self, *entries: RecordChange, durable: bool = True) -> None:
        del durable
        for entry in entries:
            self.changes.append(entry)
            self.record = apply_change(self.record, entry)
