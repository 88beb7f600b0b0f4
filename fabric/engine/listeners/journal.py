"""Event streams as files: one JSON line an event, written while the run happens."""

import contextlib
import json
import os
import re
from pathlib import Path
from typing import IO

from msgspec.structs import asdict

from fabric.model.problems import FabricError
from fabric.model.report import encode_problem
from fabric.model.runs.events import EVENT_NAMES, Event, ProblemFound, Stamped, TaskEnded
from fabric.system.files.disk import check_no_links, make_folder, write_all, write_problem

_KEPT = 20
_TOGETHER = 200
_RUN_LOG = re.compile(r"\d{8}T\d{6}-\d{6}-[0-9a-f]+\.jsonl")
_TO_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
# json.dumps with options makes a new encoder for each call; there are two events for each task.
_ENCODE = json.JSONEncoder(separators=(",", ":"), default=str).encode
_VERSION_LINE = '{"type":"version","ui":"1.0","tool":"fabric"}\n'


def encode_journal_line(stamped: Stamped) -> str:
    event = stamped.event
    if isinstance(event, ProblemFound):
        fields: dict[str, object] = {
            "task": event.task,
            "severity": event.severity,
            "problem": encode_problem(event.problem),
        }
    else:
        fields = asdict(event)
    head = {
        "type": EVENT_NAMES[type(event)],
        "run": stamped.run,
        "seq": stamped.seq,
        "time": stamped.time,
    }
    return _ENCODE({**head, **fields}) + "\n"


def _is_run_log(path: Path) -> bool:
    """Return whether fabric named the file. Other files are not deleted."""
    return _RUN_LOG.fullmatch(path.name) is not None


def _is_skip(event: Event) -> bool:
    return isinstance(event, TaskEnded) and event.status == "skipped"


class EventFile:
    """An event file that the user requested. It must be writable."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file: IO[str] = path.open("w", encoding="utf-8", buffering=1)
        except OSError as error:
            raise write_problem(path, error) from error
        self._failure: OSError | None = None
        self._put(_VERSION_LINE)

    def hear(self, event: Stamped) -> None:
        self._put(encode_journal_line(event))

    def _put(self, line: str) -> None:
        """Write an event. A failure does not abort the run and is reported at the end."""
        if self._failure:
            return
        try:
            self._file.write(line)
        except OSError as error:
            self._failure = error

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            self._failure = self._failure or error
        if self._failure:
            raise write_problem(self._path, self._failure) from self._failure


class RunJournal:
    """The log of each run; the newest twenty are kept. A failure never fails the run."""

    def __init__(self, folder: Path, run_id: str) -> None:
        self._folder = folder
        self._lines = [_VERSION_LINE]
        self._file: int | None = None
        with contextlib.suppress(OSError, FabricError):
            make_folder(folder, 0o700)
            self._file = os.open(folder / f"{run_id}.jsonl", _TO_WRITE, 0o600)

    def hear(self, event: Stamped) -> None:
        self._lines.append(encode_journal_line(event))
        # A run that is killed has told of all that it began. What was up to date may wait: there
        # are thousands of these, and they come in a moment.
        if len(self._lines) >= _TOGETHER or not _is_skip(event.event):
            self._write()

    def close(self) -> None:
        self._write()
        self._give_up()
        self._sweep()

    def _write(self) -> None:
        lines, self._lines = self._lines, []
        if self._file is None or not lines:
            return
        try:
            write_all(self._file, "".join(lines).encode())
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                os.close(file)

    def _sweep(self) -> None:
        # Journals are talk: whatever is wrong with them, the run went as it went.
        with contextlib.suppress(OSError, FabricError):
            check_no_links(self._folder)
            own = filter(_is_run_log, self._folder.glob("*.jsonl"))
            for path in sorted(own)[:-_KEPT]:
                path.unlink(missing_ok=True)
