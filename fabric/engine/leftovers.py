"""Temporary files of killed runs: found by their marker and deleted by the next run."""

import contextlib
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from fabric.manifest import RUNNING
from fabric.model.problems import FabricError
from fabric.ownership import OWN, is_ours
from fabric.system.clock import read_file_time_ns
from fabric.system.files.disk import RUN, read_bytes, write_atomic
from fabric.system.process.process_identity import Mark, build_this_mark, is_mark_dead

# A process may have several runs at once, in one workspace too.
_RUNS = itertools.count(1)
_MARKER = re.compile(r"(?P<mark>(?P<pid>[0-9]+)-[0-9]+-[0-9a-f]{12})-(?P<run>[0-9a-f]{8})")
_TEMPORARY = re.compile(r"\..*\.([0-9a-f]+)-[0-9a-f]+-([0-9a-f]{8})\.tmp")
# A process that cannot be proved dead from here, in a container or on another machine: what it
# has not touched for a day it does not write any more.
_DAY = 24 * 3600 * 10**9


class _Writer(Struct, frozen=True):
    """The process that owns temporary files. A pid is not unique across hosts and time."""

    pid: int
    # A random word of the process; it is empty in old markers.
    run: str

    def wrote(self, name: str) -> bool:
        found = _TEMPORARY.fullmatch(name)
        if found is None or int(found[1], 16) != self.pid:
            return False
        return self.run in ("", found[2])


@contextlib.contextmanager
def mark_writing(cache: Path, folders: Iterable[Path]) -> Iterator[None]:
    """Mark these directories during a run, and delete the files of dead runs.

    No file of a running process is deleted.
    """
    _sweep_after_the_dead(cache)
    marker = cache / RUNNING / f"{build_this_mark()}-{RUN}-{next(_RUNS)}"
    text = json.dumps(sorted({str(folder) for folder in (*folders, cache)}))
    with contextlib.suppress(FabricError):
        write_atomic(marker, text.encode(), mode=0o600)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            marker.unlink()


def _sweep_after_the_dead(cache: Path) -> None:
    now = read_file_time_ns(cache)
    for marker in _list_markers(cache / RUNNING):
        # A marker's own temporary file names the marker.
        name = marker.name.removeprefix(".")
        found = _MARKER.match(name)
        if found and is_mark_dead(Mark(found["mark"])):
            _sweep_leftovers(marker, _Writer(int(found["pid"]), found["run"]), None)
        elif found and now - _read_mtime(marker, now) > _DAY:
            _sweep_leftovers(marker, _Writer(int(found["pid"]), found["run"]), now - _DAY)
        elif name.isdecimal() and now - _read_mtime(marker, now) > _DAY:
            _sweep_leftovers(marker, _Writer(int(name), ""), now - _DAY)  # of before they said more


def _sweep_leftovers(marker: Path, writer: _Writer, before: int | None) -> None:
    for folder in _list_marked_folders(marker):
        _sweep(folder, writer, before)
    with contextlib.suppress(OSError):
        marker.unlink()


def _list_markers(folder: Path) -> list[Path]:
    """List the markers. An unreadable directory is left for the next run."""
    try:
        return [] if folder.is_symlink() else sorted(folder.iterdir())
    except OSError:
        return []


def _sweep(folder: Path, writer: _Writer, before: int | None) -> None:
    """Delete the temporary files of one process below a directory.

    With a time, delete only files not modified since.
    """
    for base, _, names in os.walk(folder):
        for path in (Path(base, name) for name in names if writer.wrote(name)):
            if before is None or _read_mtime(path, before) < before:
                with contextlib.suppress(OSError):
                    path.unlink()


def _read_mtime(path: Path, otherwise: int) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return otherwise


def _list_marked_folders(marker: Path) -> list[Path]:
    """List the directories of a run: the marker's cache and fabric's own directories.

    A marker is untrusted and cannot name other places.
    """
    cache = marker.parent.parent
    try:
        named = json.loads(read_bytes(marker))
    except (OSError, ValueError):
        return [cache]
    texts = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
    own = [one for one in texts if one.endswith(f"/{OWN}") and not os.path.islink(one)]  # noqa: PTH114
    return [cache, *(Path(one) for one in own if is_ours(one))]
