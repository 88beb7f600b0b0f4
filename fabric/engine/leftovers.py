"""What a run that was killed left lying about: noticed by its marker, and swept by the next run."""

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
from fabric.system.clock import file_time_ns
from fabric.system.disk import RUN, read_bytes, write_atomic
from fabric.system.process_identity import Mark, is_mark_dead, this_mark

# A process may have several runs at once, in one workspace too.
_RUNS = itertools.count(1)
_MARKER = re.compile(r"(?P<mark>(?P<pid>[0-9]+)-[0-9]+-[0-9a-f]{12})-(?P<run>[0-9a-f]{8})")
_TEMPORARY = re.compile(r"\..*\.([0-9a-f]+)-[0-9a-f]+-([0-9a-f]{8})\.tmp")
# A process that cannot be proved dead from here, in a container or on another machine: what it
# has not touched for a day it does not write any more.
_DAY = 24 * 3600 * 10**9


class _Writer(Struct, frozen=True):
    """Which process's temporary files these are. A pid alone says too little: others have it too,
    beside us on the same folders or after us. `run` is a word that each process makes up; it is
    empty in markers of before there was one."""

    pid: int
    run: str

    def wrote(self, name: str) -> bool:
        found = _TEMPORARY.fullmatch(name)
        if found is None or int(found[1], 16) != self.pid:
            return False
        return self.run in ("", found[2])


@contextlib.contextmanager
def marked(cache: Path, folders: Iterable[Path]) -> Iterator[None]:
    """While a run writes below these folders, a marker of its own says so; what the dead left is
    swept up. As long as a process lives, no file of any run of it goes."""
    _sweep_after_the_dead(cache)
    marker = cache / RUNNING / f"{this_mark()}-{RUN}-{next(_RUNS)}"
    text = json.dumps(sorted({str(folder) for folder in (*folders, cache)}))
    with contextlib.suppress(FabricError):
        write_atomic(marker, text.encode(), mode=0o600)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            marker.unlink()


def _sweep_after_the_dead(cache: Path) -> None:
    now = file_time_ns(cache)
    for marker in _markers(cache / RUNNING):
        # A marker's own temporary file names the marker.
        name = marker.name.removeprefix(".")
        found = _MARKER.match(name)
        if found and is_mark_dead(Mark(found["mark"])):
            _swept(marker, _Writer(int(found["pid"]), found["run"]), None)
        elif found and now - _touched(marker, now) > _DAY:
            _swept(marker, _Writer(int(found["pid"]), found["run"]), now - _DAY)
        elif name.isdecimal() and now - _touched(marker, now) > _DAY:
            _swept(marker, _Writer(int(name), ""), now - _DAY)  # of before they said more


def _swept(marker: Path, writer: _Writer, before: int | None) -> None:
    for folder in _folders_of(marker):
        _sweep(folder, writer, before)
    with contextlib.suppress(OSError):
        marker.unlink()


def _markers(folder: Path) -> list[Path]:
    """A folder that cannot be read now is looked at by the next run."""
    try:
        return [] if folder.is_symlink() else sorted(folder.iterdir())
    except OSError:
        return []


def _sweep(folder: Path, writer: _Writer, before: int | None) -> None:
    """Remove the temporary files of one process, wherever below a folder they lie; with a time
    only those that were not touched since."""
    for base, _, names in os.walk(folder):
        for path in (Path(base, name) for name in names if writer.wrote(name)):
            if before is None or _touched(path, before) < before:
                with contextlib.suppress(OSError):
                    path.unlink()


def _touched(path: Path, otherwise: int) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return otherwise


def _folders_of(marker: Path) -> list[Path]:
    """Where a run wrote: the cache that the marker lies in, and folders of fabric's own. A marker
    is only a file: it sends nobody anywhere else."""
    cache = marker.parent.parent
    try:
        named = json.loads(read_bytes(marker))
    except (OSError, ValueError):
        return [cache]
    texts = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
    own = [one for one in texts if one.endswith(f"/{OWN}") and not os.path.islink(one)]  # noqa: PTH114
    return [cache, *(Path(one) for one in own if is_ours(one))]
