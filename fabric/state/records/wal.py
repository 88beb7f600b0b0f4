"""The write-ahead log of one record: results are on local disk before a task ends.

The first line names the record state that the log extends. Without that state the log is void.
"""

import contextlib
import json
import threading
from pathlib import Path

from msgspec import Struct, convert

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.records.changes import (
    RecordChange,
    apply_change,
    decode_entry,
    encode_entry,
    settle_intent,
)
from fabric.model.records.record import Record, RecordRef
from fabric.system.files.append_log import AppendLog, read_lines
from fabric.system.files.disk import check_no_links, remove_empty_folders


def build_wal_folder(home: Path, ref: RecordRef) -> Path:
    return home / "wal" / ref.path


def build_wal_path(home: Path, ref: RecordRef, fence: int) -> Path:
    """Build the log path. Each holder has its own file, so that a paused holder damages no other
    log."""
    return build_wal_folder(home, ref) / f"{fence}.log"


class Log(Struct, frozen=True):
    """The entries of one holder of the lock: its lineage and fence."""

    lineage: str
    fence: int
    entries: tuple[RecordChange, ...]


class _Header(Struct, frozen=True):
    lineage: str
    fence: int


class Wal:
    """Thread-safe. The log of a record that is being written to."""

    def __init__(self, path: Path, lineage: str, fence: int) -> None:
        self._journal = AppendLog(path)
        self._header: str | None = json.dumps({"lineage": lineage, "fence": fence})
        self._heading = threading.Lock()

    def begin(self) -> None:
        """Make the log before the first task needs it: its name is on the disk then."""
        with self._heading:
            if self._header is not None:
                self._journal.open(self._header)
                self._header = None

    def append(self, *entries: RecordChange, durable: bool = True) -> None:
        """Append results. Results of one call share a single disk sync."""
        lines = [json.dumps(encode_entry(one), separators=(",", ":")) for one in entries]
        # Tasks end at the same time: a second header, or an entry before it, would void the log.
        with self._heading:
            if self._header is not None:
                self._journal.append(self._header, *lines, durable=durable)
                self._header = None
                return
        self._journal.append(*lines, durable=durable)

    def close(self) -> None:
        self._journal.close()


def read_log(path: Path) -> Log | None:
    """Read the log of a run. Returns None if it is missing or makes no sense.

    A read error raises, because results would be lost otherwise.
    """
    try:
        lines = read_lines(path)
    except OSError as error:
        raise FabricError(_unreadable_log_problem(path, error)) from error
    if not lines:
        return None
    try:
        header = convert(json.loads(lines[0]), _Header)
        # After a failure the header may have been written again.
        entries = tuple(decode_entry(json.loads(line)) for line in lines[1:] if line != lines[0])
    except (ValueError, RecursionError):
        return None
    return Log(header.lineage, header.fence, entries)


def _unreadable_log_problem(path: Path, error: OSError) -> Problem:
    return Problem(
        "state/unreadable",
        f"cannot read `{path}`: {(error.strerror or str(error)).lower()}",
        hint="check the disk, then run the command again: the file is the log of an earlier run",
        where=Place(str(path)),
    )


def replay_log(record: Record, log: Log | None) -> Record:
    """Apply the log to the record, unless another holder took its lock since the log began."""
    if log is None or (log.lineage, log.fence) != (record.lineage, record.fence):
        return record
    for entry in log.entries:
        record = settle_intent(apply_change(record, entry), entry.task)
    return record


def discard_logs(home: Path, ref: RecordRef, up_to: int) -> None:
    """Delete the logs of holders up to this fence, because they are in the backend or void.

    A later holder's log stays, because that holder can be running.
    """
    folder = build_wal_folder(home, ref)
    # A log that stays is harmless: to replay it changes nothing, and the next holder voids it.
    with contextlib.suppress(OSError):
        check_no_links(folder)
        for path in folder.glob("*.log"):
            if not path.stem.isdecimal() or int(path.stem) <= up_to:
                path.unlink(missing_ok=True)
        remove_empty_folders(folder, home)
