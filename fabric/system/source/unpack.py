"""Unpack an untrusted archive into a new private directory: everything or nothing."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from fabric.model.problems import FabricError, Problem
from fabric.system.files.disk import set_mode, write_problem
from fabric.system.source.entries import ArchiveEntry, Refused, UnpackLimits, refuse
from fabric.system.source.names import Names
from fabric.system.source.tar_entries import read_tar_entries
from fabric.system.source.zip_entries import zip_entries

CONFIG = "fabric.yml"
_LONGEST_SHOWN = 120
_KINDS: dict[bytes, Callable[[BinaryIO, UnpackLimits], Iterator[ArchiveEntry]]] = {
    b"PK": zip_entries,
    b"\x1f\x8b": read_tar_entries,
}


def unpack(archive: Path, target: Path, limits: UnpackLimits | None = None) -> None:
    """Unpack a `.zip`, `.tar.gz` or `.tgz` into `target`, a directory that must not exist.

    The first bytes decide the format, not the name.
    """
    try:
        target.mkdir(mode=0o700)
    except OSError as error:
        raise write_problem(target, error) from error
    try:
        with archive.open("rb") as file:
            _write_all(file, target, limits or UnpackLimits())
    except Refused as error:
        shutil.rmtree(target)
        raise _bad_archive_error(error) from error
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        raise write_problem(target, error) from error
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def find_shallowest_config(folder: Path) -> Path:
    """Return the `fabric.yml` nearest to the root; at equal depth the first by name."""
    found = [path.relative_to(folder) for path in folder.rglob(CONFIG) if path.is_file()]
    if not found:
        raise FabricError(
            Problem(
                "input/no-config",
                f"the source contains no `{CONFIG}`",
                hint=f"add `{CONFIG}` to the archive, next to the functions",
            )
        )
    return folder / min(found, key=lambda path: (len(path.parts), path.parts))


def _write_all(file: BinaryIO, target: Path, limits: UnpackLimits) -> None:
    names = Names(limits.entries)
    left = limits.size
    for entry in _read_entries(file, limits):
        path = names.admit(entry.name, is_folder=entry.is_folder)
        if entry.is_folder:
            (target / path).mkdir(parents=True, exist_ok=True)
        else:
            left -= _write(entry, target / path, min(left, limits.file))


def _read_entries(file: BinaryIO, limits: UnpackLimits) -> Iterator[ArchiveEntry]:
    reader = _KINDS.get(file.read(2))
    if reader is None:
        refuse("is neither a zip nor a tar.gz file")
    file.seek(0)
    return reader(file, limits)


def _write(entry: ArchiveEntry, path: Path, most: int) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o755 if entry.is_executable else 0o644
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    size = 0
    with os.fdopen(fd, "wb") as file:
        set_mode(fd, mode)
        for chunk in entry.content:
            size += len(chunk)
            if size > most:
                refuse("is too large", entry.name)
            file.write(chunk)
    return size


def _bad_archive_error(error: Refused) -> FabricError:
    entry = ascii(error.entry)[1:-1][:_LONGEST_SHOWN]
    what = f"`{entry}` {error.why}" if error.entry else f"it {error.why}"
    return FabricError(
        Problem(
            "input/bad-archive",
            f"refusing the archive: {what}",
            hint="create it from plain files and directories with `zip -r` or `tar -czf`",
        )
    )
