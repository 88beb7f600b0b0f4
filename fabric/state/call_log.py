"""A log of local invocations with handler output, one file per service and stage.

Files are readable by their owner only and limited to a few megabytes.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from fabric.model.problems import FabricError, Place, Problem
from fabric.system.files.disk import read_bytes
from fabric.system.files.rotating_log import RotatingLog, build_numbered_path

_FILES = 3
# Of one call: who says more than that is cut short, and the log says so.
_MOST_TEXT = 256 * 1024
# No call lasts longer than a day: whatever says so is damaged.
_LONGEST_MS = 86_400_000


class CallEntry(Struct, frozen=True, omit_defaults=True):
    """One call."""

    # Its start in nanoseconds.
    at: int
    function: str
    request: str
    ms: int
    # Its label.
    provider: str = ""
    # Explains a missing response.
    error: str = ""
    lines: Sequence[str] = ()


class FoundCalls(Struct, frozen=True):
    """Calls read from the log."""

    entries: tuple[CallEntry, ...]
    # The number of invalid lines.
    damaged: int = 0


def call_log_path(home: Path, stage: str, service: str) -> Path:
    return home / "logs" / stage / f"{service}.jsonl"


class CallLog:
    """The call log, opened with the first call. Write failures are ignored, so that no call
    fails."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log: RotatingLog | None = None

    def note(self, entry: CallEntry) -> None:
        with contextlib.suppress(FabricError):
            self._log = self._log or RotatingLog(self._path, files=_FILES)
            self._log.write(msgspec.json.encode(_truncate_call(entry)).decode())

    def close(self) -> None:
        if self._log is not None:
            self._log.close()


def read_calls(path: Path, since: int = 0) -> FoundCalls:
    """Read the calls that began at this time or later, oldest first."""
    entries: list[CallEntry] = []
    damaged = 0
    for number in reversed(range(_FILES)):
        for found in _parse_calls(build_numbered_path(path, number)):
            if found is None:
                damaged += 1
            elif found.at >= since:
                entries.append(found)
    return FoundCalls(tuple(entries), damaged)


def _parse_calls(path: Path) -> Iterator[CallEntry | None]:
    try:
        content = read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        message = f"cannot read the log of local calls: {why}"
        raise FabricError(
            Problem("observe/unreadable-log", message, where=Place(str(path)))
        ) from error
    # A line without its end is still being written.
    for line in content.split(b"\n")[:-1]:
        try:
            found = msgspec.json.decode(line, type=CallEntry)
        except (msgspec.DecodeError, UnicodeDecodeError):
            yield None
        else:
            yield found if found.at >= 0 and 0 <= found.ms <= _LONGEST_MS else None


def _truncate_call(one: CallEntry) -> CallEntry:
    left, kept = _MOST_TEXT, []
    for number, line in enumerate(one.lines):
        if len(line) > left:
            kept.append(f"{line[:left]}… ({len(one.lines) - number} lines truncated)")
            break
        kept.append(line)
        left -= len(line)
    return msgspec.structs.replace(one, lines=tuple(kept))
