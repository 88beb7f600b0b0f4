"""Every file that fabric writes goes through here: temporary file, rename, no half files."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from fabric.model.problems import FabricError, Place, Problem

_DISK_ERRORS = {
    errno.ENOSPC: ("disk/full", "the disk is full", "free some space, then run the command again"),
    errno.EDQUOT: ("disk/full", "the disk quota is used up", "free some space, then try again"),
    errno.EROFS: ("disk/read-only", "the file system is read-only", "write to another folder"),
}


def write_problem(path: Path, error: OSError) -> FabricError:
    """An OSError of a write, as the problem (exit 73) that a user can act on."""
    code, text, hint = _DISK_ERRORS.get(
        error.errno or 0,
        (
            "disk/cannot-write",
            (error.strerror or str(error)).lower(),
            "check the folder's owner and mode",
        ),
    )
    return FabricError(
        Problem(code, f"cannot write `{path}`: {text}", hint=hint, where=Place(str(path)))
    )


def make_folder(path: Path, mode: int = 0o755) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True, mode=mode)
    except OSError as error:
        raise write_problem(path, error) from error


def write_atomic(path: Path, content: bytes, *, mode: int = 0o644, durable: bool = False) -> None:
    """Replace `path` whole: readers see the old bytes or the new ones, also after a crash.

    `durable` waits until the bytes are on the disk; what can be made again does not need that.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        try:
            _write_new(temporary, content, mode, durable=durable)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_new(temporary, content, mode, durable=durable)
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise write_problem(path, error) from error
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _write_new(path: Path, content: bytes, mode: int, *, durable: bool) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


def read_bytes(path: str | Path) -> bytes:
    """The whole file; the buffer is sized from its length (a fixed large one costs more)."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(fd).st_size
        content = os.read(fd, size + 1)
        if len(content) == size:
            return content
        chunks = [content]
        while chunk := os.read(fd, 1 << 20):
            chunks.append(chunk)
        return b"".join(chunks)
    finally:
        os.close(fd)


@contextlib.contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Exclusive among processes; the file stays, so that two holders never lock two inodes."""
    make_folder(path.parent)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise write_problem(path, error) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
