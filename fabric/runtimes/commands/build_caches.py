"""Directories that build commands keep between builds, such as compiler caches.

They are neither inputs nor outputs, belong to one workspace, and can be deleted at any time.
"""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.ownership import is_ours
from fabric.system.files.disk import make_folder

# Below the cache of the workspace.
FOLDER = "tools"
# The texts that tools printed.
VERSIONS = "versions"
_LOCK = ".lock"
# Tools that lock their directory themselves, or never change a stored file: builds share it.
_SHARED = frozenset(
    """
    GOCACHE GOMODCACHE CARGO_TARGET_DIR CARGO_HOME CCACHE_DIR SCCACHE_DIR DENO_DIR
    BUN_INSTALL_CACHE_DIR NUGET_PACKAGES npm_config_cache FABRIC_JAVA_RUNTIMES
    """.split()
)
_WAIT_SECONDS = 3600.0


@contextlib.contextmanager
def open_caches(folder: Path, caches: Pairs, spare: Path) -> Iterator[Mapping[str, str]]:
    """Lock the directories of a build, and return them by variable.

    They are locked in the order of their names, so that two builds never wait for each other.
    Without a usable cache, `spare` is used: a temporary directory of the build.
    """
    with contextlib.ExitStack() as locks:
        found = {}
        for variable, name in sorted(caches, key=lambda pair: pair[1]):
            place = folder / name if _can_write(folder) else spare / name
            make_folder(place, 0o700)
            if place.parent == folder:
                locks.enter_context(_hold(place, shared=variable in _SHARED))
            found[variable] = str(place)
        yield found


def _can_write(folder: Path) -> bool:
    """Return whether the directory is this user's, so that no other user can plant files."""
    try:
        make_folder(folder, 0o700)
    except FabricError:
        return False
    return all(is_ours(str(one)) for one in (folder.parent, folder)) and not folder.is_symlink()


@contextlib.contextmanager
def _hold(place: Path, *, shared: bool) -> Iterator[None]:
    """Hold the lock of a directory. Its time shows when the directory was last used."""
    lock = place.with_name(place.name + _LOCK)
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _wait_for_lock(fd, place, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        os.utime(fd)
        # A cleanup can have deleted the directory before the lock was held.
        make_folder(place, 0o700)
        yield
    finally:
        os.close(fd)


def _wait_for_lock(fd: int, place: Path, kind: int) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while not _try_lock(fd, kind):
        if time.monotonic() >= deadline:
            message = f"timeout: another build used `{place}` for {_WAIT_SECONDS:.0f} s"
            hint = "stop the other build, or let it continue"
            raise FabricError(Problem("lock/file-held", message, hint=hint))
        time.sleep(0.02)


def _try_lock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class KeptFolder(Struct, frozen=True):
    """A kept directory. `used` is when a build last used it, in seconds since 1970."""

    path: Path
    size: int
    used: float


def list_kept_folders(cache: Path) -> Iterator[KeptFolder]:
    """List the kept directories of a cache with their sizes."""
    for path in sorted((cache / FOLDER).glob("*")):
        if path.is_dir() and not path.is_symlink() and path.name != VERSIONS:
            lock = path.with_name(path.name + _LOCK)
            used = lock.stat().st_mtime if lock.is_file() else 0.0
            yield KeptFolder(path, _measure(path), used)


def _measure(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


def delete_kept_folder(one: KeptFolder) -> bool:
    """Delete a kept directory, unless a build uses it. Returns whether it was deleted."""
    lock = one.path.with_name(one.path.name + _LOCK)
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if not _try_lock(fd, fcntl.LOCK_EX):
            return False
        shutil.rmtree(one.path, ignore_errors=True)
        return not one.path.exists()
    finally:
        os.close(fd)
