"""The events of an active run: numbered, stored and streamed to followers."""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from msgspec.structs import replace

from fabric.daemon.runs.event_lines import (
    Beat,
    EventLine,
    StreamItem,
    encode_stamped_event,
    read_events,
)
from fabric.model.runs.events import RunEnded, Stamped, TaskEnded
from fabric.system.files.disk import write_all

BEAT_SECONDS = 10.0
# So many events of a run are kept in memory, and so much of them; those before are read from its
# file.
_KEPT, _KEPT_CHARACTERS = 1000, 1 << 20
# What was up to date is told in a moment, thousands of times: it is written together.
_TOGETHER = 200
_TO_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW


class RunEvents:
    """A listener of the run, for any number of followers. Thread-safe.

    The end event of the tasks is delayed until all is done, so that it is the last event. Events
    that could not be written stay in memory.
    """

    def __init__(self, path: Path, kept: int = _KEPT) -> None:
        self._path = path
        self._kept = kept
        self._changed = threading.Condition()
        self._lines: deque[EventLine] = deque()
        self._pending: list[EventLine] = []
        self._characters = 0
        self._count = 0
        self._written = 0
        self._is_over = False
        self._file: int | None = None
        self.told_end: RunEnded | None = None
        with contextlib.suppress(OSError):
            self._file = os.open(path, _TO_WRITE, 0o600)

    def hear(self, event: Stamped) -> None:
        if isinstance(event.event, RunEnded):
            self.told_end = event.event
        else:
            self._add(event)

    def close(self) -> None:
        """Handle the end of the tasks. The run itself continues."""

    def end(self, event: Stamped) -> None:
        """Send the last event. Followers then disconnect."""
        self._add(event, is_last=True)

    def leave(self) -> None:
        """Send nothing more, although the run has not ended."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def follow(self, number: int, beat: float = BEAT_SECONDS) -> Generator[StreamItem, None, None]:
        """Yield all events after this number, without gaps or repeats, as they arrive.

        A heartbeat is sent immediately if there is no event yet, and after each quiet period.
        """
        at, patience = min(number, self._count), 0.0
        while True:
            lines, is_over = self._wait_for_events(at, patience)
            if lines:
                yield from self._read_between(at, lines[0].number)
                yield from lines
                at = lines[-1].number
            elif is_over:
                return
            else:
                yield Beat()
            patience = beat

    def _add(self, event: Stamped, *, is_last: bool = False) -> None:
        with self._changed:
            if self._is_over:
                return
            self._count += 1
            line = encode_stamped_event(replace(event, seq=self._count))
            self._lines.append(line)
            self._characters += len(line.text)
            self._pending.append(line)
            if is_last or len(self._pending) >= _TOGETHER or not _is_skip(event):
                self._write()
            self._forget()
            self._is_over = is_last
            if is_last:
                self._give_up()
            self._changed.notify_all()

    def _write(self) -> None:
        lines, self._pending = self._pending, []
        if self._file is None:
            return
        try:
            write_all(self._file, "".join(f"{one.text}\n" for one in lines).encode())
            self._written = lines[-1].number
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                os.close(file)

    def _forget(self) -> None:
        while self._has_too_many() and self._lines[0].number <= self._written:
            self._characters -= len(self._lines.popleft().text)

    def _has_too_many(self) -> bool:
        count = len(self._lines)
        return count > self._kept or (count > 1 and self._characters > _KEPT_CHARACTERS)

    def _wait_for_events(self, at: int, patience: float) -> tuple[Sequence[EventLine], bool]:
        """Wait for events in memory after this one. Returns them, and whether the run is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._count > at or self._is_over, patience)
            newest = takewhile(lambda one: one.number > at, reversed(self._lines))
            return tuple(newest)[::-1], self._is_over

    def _read_between(self, at: int, first: int) -> Iterator[EventLine]:
        """Read the events that are no longer in memory from the file."""
        if at + 1 < first:
            found = takewhile(lambda one: one.number < first, read_events(self._path))
            yield from (one for one in found if one.number > at)


def _is_skip(stamped: Stamped) -> bool:
    event = stamped.event
    return isinstance(event, TaskEnded) and event.status == "skipped"
