"""What a run learned of one record, on this machine's disk before any task says that it is done.

The first line names the record's state that the rest stands on; without that state it is void.
"""

import contextlib
import json
import threading
from pathlib import Path

from msgspec import Struct, convert

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.records.changes import RecordChange, applied, entry_document, entry_from, settled
from fabric.model.records.record import Record, RecordRef
from fabric.system.append_log import AppendLog, read_lines
from fabric.system.disk import check_no_links, remove_empty_folders


def wal_folder(home: Path, ref: RecordRef) -> Path:
    return home / "wal" / ref.path


def wal_path(home: Path, ref: RecordRef, fence: int) -> Path:
    """Each holder has a file of its own: one that was paused and goes on spoils nobody's."""
    return wal_folder(home, ref) / f"{fence}.log"


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
        """What is learned together waits for the disk once."""
        lines = [json.dumps(entry_document(one), separators=(",", ":")) for one in entries]
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
    """What a run left behind; None when there is nothing, or nothing that makes sense.

    A log that the disk does not give is not taken for none: its results would be lost.
    """
    try:
        lines = read_lines(path)
    except OSError as error:
        raise FabricError(_unreadable(path, error)) from error
    if not lines:
        return None
    try:
        header = convert(json.loads(lines[0]), _Header)
        # After a failure the header may have been written again.
        entries = tuple(entry_from(json.loads(line)) for line in lines[1:] if line != lines[0])
    except (ValueError, RecursionError):
        return None
    return Log(header.lineage, header.fence, entries)


def _unreadable(path: Path, error: OSError) -> Problem:
    return Problem(
        "state/unreadable",
        f"cannot read `{path}`: {(error.strerror or str(error)).lower()}",
        hint="check the disk, then run the command again: the file is the log of an earlier run",
        where=Place(str(path)),
    )


def replayed(record: Record, log: Log | None) -> Record:
    """The record with a log on top, if nobody has held its lock since that log was begun."""
    if log is None or (log.lineage, log.fence) != (record.lineage, record.fence):
        return record
    for entry in log.entries:
        record = settled(applied(record, entry), entry.task)
    return record


def discard_logs(home: Path, ref: RecordRef, up_to: int) -> None:
    """What holders up to this fence had learned is in the back end now, or void. The log of a
    later one is not ours to take: it may be at work while we were late."""
    folder = wal_folder(home, ref)
    # A log that stays is harmless: to replay it changes nothing, and the next holder voids it.
    with contextlib.suppress(OSError):
        check_no_links(folder)
        for path in folder.glob("*.log"):
            if not path.stem.isdecimal() or int(path.stem) <= up_to:
                path.unlink(missing_ok=True)
        remove_empty_folders(folder, home)
