"""Run records of the daemon on disk: the newest, each with its event file.

Files are checked for schema and owner. A foreign or damaged file counts as no run.
"""

import contextlib
import datetime
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import MsgspecError, Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from fabric.daemon.runs.daemon_run import DaemonRun, RunStatus
from fabric.model.problems import FabricError
from fabric.ownership import is_ours
from fabric.system.files.disk import make_folder, read_bytes, write_atomic
from fabric.system.process.process_identity import Mark, build_this_mark, is_mark_alive

KEPT_RUNS = 500
KEPT_DAYS = 14
_ID = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9]{6}-[0-9a-f]{8}")
_FORMAT = 1


class _RunFile(Struct, frozen=True, rename="camel"):
    """A run file."""

    format_version: int
    # Its executor: the run of a dead process is lost.
    process: str
    run: DaemonRun


class RunFiles:
    """One file per run. Unwritable records stay in memory of this process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._unwritten: dict[str, DaemonRun] = {}
        self._heads: dict[str, DaemonRun] = {}
        with contextlib.suppress(FabricError):
            make_folder(folder, 0o700)

    def events_path(self, run: str) -> Path:
        return self._folder / f"{run}.events.jsonl"

    def save(self, run: DaemonRun) -> None:
        content = encode(_RunFile(_FORMAT, build_this_mark(), run))
        try:
            write_atomic(self._build_path(run.id), content, mode=0o600)
        except FabricError:
            self._unwritten[run.id] = run
        else:
            self._unwritten.pop(run.id, None)

    def find(self, run: str) -> DaemonRun | None:
        if not _ID.fullmatch(run):
            return None
        found = self._unwritten.get(run) or self._read(run)
        return found.run if isinstance(found, _RunFile) else found

    def heads(self) -> Iterator[DaemonRun]:
        """Yield the runs, newest first, without results. Ended runs are read once."""
        ids = self._list_ids()
        known, self._heads = self._heads, {}
        for run in ids:
            found = known.get(run) or self.find(run)
            if found is not None:
                head = replace(found, result=None, error=None)
                if head.status is not RunStatus.RUNNING:
                    self._heads[run] = head
                yield head

    def list_lost_runs(self) -> Iterator[DaemonRun]:
        """List the runs whose process died."""
        for run in self._list_ids():
            found = self._read(run)
            begun = found is not None and found.run.status is RunStatus.RUNNING
            if found is not None and begun and not is_mark_alive(Mark(found.process)):
                yield found.run

    def prune(self, now: datetime.datetime, kept: frozenset[str]) -> None:
        """Delete runs that are too old or too many. Active runs are `kept`."""
        oldest = f"{now - datetime.timedelta(days=KEPT_DAYS):%Y%m%dT%H%M%S}"
        for number, run in enumerate(self._list_ids()):
            if run not in kept and (number >= KEPT_RUNS or run < oldest):
                self._drop(run)

    def sweep(self) -> None:
        """Delete unfinished files of a killed daemon. Only the lock holder calls this."""
        for path in self._list_files():
            if path.name.startswith(".") and path.name.endswith(".tmp"):
                _delete_run(path)

    def _drop(self, run: str) -> None:
        self._unwritten.pop(run, None)
        for path in (self._build_path(run), self.events_path(run)):
            _delete_run(path)

    def _list_ids(self) -> list[str]:
        stems = {path.name.partition(".")[0] for path in self._list_files()}
        own = filter(_ID.fullmatch, (*stems, *self._unwritten))
        return sorted({*own}, reverse=True)

    def _list_files(self) -> list[Path]:
        try:
            return list(self._folder.iterdir())
        except OSError:
            return []

    def _build_path(self, run: str) -> Path:
        return self._folder / f"{run}.json"

    def _read(self, run: str) -> _RunFile | None:
        path = self._build_path(run)
        if path.is_symlink() or not is_ours(str(path)):
            return None
        try:
            found = decode(read_bytes(path), type=_RunFile)
        except (OSError, MsgspecError, RecursionError, ValueError):
            return None
        return found if (found.format_version, found.run.id) == (_FORMAT, run) else None


def _delete_run(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
