"""What a run that was killed left lying about: noticed by its marker, and swept by the next run."""

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from fabric.model.problems import FabricError
from fabric.system.disk import read_bytes, write_atomic

_FOLDER = "running"
_TEMPORARY = re.compile(r"\..*\.([0-9a-f]+)-[0-9a-f]+-[0-9a-f]{8}\.tmp")


@contextlib.contextmanager
def marked(cache: Path, folders: Iterable[Path]) -> Iterator[None]:
    """While a run writes below these folders, a marker says so; those of the dead are swept up."""
    _sweep_after_the_dead(cache)
    marker = cache / _FOLDER / str(os.getpid())
    text = json.dumps(sorted({str(folder) for folder in (*folders, cache)}))
    with contextlib.suppress(FabricError):
        write_atomic(marker, text.encode(), mode=0o600)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            marker.unlink()


def _sweep_after_the_dead(cache: Path) -> None:
    for marker in _markers(cache / _FOLDER):
        pid = _owner(marker)
        if pid is not None and not _is_alive(pid):
            for folder in _folders_of(marker):
                sweep(folder, pid)
            with contextlib.suppress(OSError):
                marker.unlink()


def _markers(folder: Path) -> list[Path]:
    """A folder that cannot be read now is looked at by the next run."""
    try:
        return sorted(folder.glob("*"))
    except OSError:
        return []


def sweep(folder: Path, pid: int) -> None:
    """Remove the temporary files of one process, wherever below a folder they lie."""
    for base, _, names in os.walk(folder):
        for name in names:
            found = _TEMPORARY.fullmatch(name)
            if found and int(found[1], 16) == pid:
                with contextlib.suppress(OSError):
                    Path(base, name).unlink()


def _owner(marker: Path) -> int | None:
    """A marker is named by its process; its own temporary file names that process too."""
    found = _TEMPORARY.fullmatch(marker.name)
    if found:
        return int(found[1], 16)
    return int(marker.name) if marker.name.isdecimal() else None


def _folders_of(marker: Path) -> list[Path]:
    try:
        folders = json.loads(read_bytes(marker))
    except (OSError, ValueError):
        return [marker.parent]
    return [Path(folder) for folder in folders] if isinstance(folders, list) else []


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
