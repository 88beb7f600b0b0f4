"""All file writes of fabric: temporary file, then rename, so that no partial file exists."""

import contextlib
import errno
import fcntl
import glob
import itertools
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from fabric.model.problems import FabricError, Place, Problem

_Written = TypeVar("_Written")

_TICKETS = itertools.count()
# Whatever lies below a folder of this name is ours.
_OWN = ".fabric"
_OWN_PART = f"/{_OWN}/"
# Together with the pid the name of this process in temporary files.
RUN = os.urandom(4).hex()
_DISK_ERRORS = {
    errno.ENOSPC: ("disk/full", "the disk is full", "free some space, then run the command again"),
    errno.EDQUOT: (
        "disk/full",
        "the disk quota is exhausted",
        "free some space, then run the command again",
    ),
    errno.EROFS: ("disk/read-only", "the file system is read-only", "choose another directory"),
}

# How long a lock of files is waited for. What is done under most takes milliseconds.
LOCK_SECONDS = 30.0

# How often a directory is created that other runs delete at the same time.
_FOLDER_TRIES = 20

# What a file system answers that has no hard links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)


def write_problem(path: Path, error: OSError) -> FabricError:
    """Convert an OSError of a write to a problem (exit 73) with a hint."""
    code, text, hint = _DISK_ERRORS.get(
        error.errno or 0,
        (
            "disk/cannot-write",
            (error.strerror or str(error)).lower(),
            "check the owner and permissions of the directory",
        ),
    )
    return FabricError(
        Problem(code, f"cannot write `{path}`: {text}", hint=hint, where=Place(str(path)))
    )


def no_access_error(error: PermissionError) -> FabricError:
    """Build the error for a path that cannot be read (exit 73)."""
    path = Path(str(error.filename))
    hint = "check the owner and permissions of the path and of its parent directories"
    message = f"cannot open `{path}`: permission denied"
    return FabricError(Problem("disk/cannot-open", message, hint=hint, where=Place(str(path))))


def check_no_links(path: str | Path) -> None:
    """Raise if one of fabric's own directories in the path is a symbolic link.

    A repository can contain one, and fabric must not write or delete behind it. Directories above
    `.fabric` are the user's choice.
    """
    text = str(path)
    at = f"{text}/".find(_OWN_PART)
    while at >= 0:
        at = text.find("/", at + 1)
        link = text if at < 0 else text[:at]
        if os.path.islink(link):  # noqa: PTH114: thousands of outputs are written here
            raise FabricError(
                Problem(
                    "disk/led-away",
                    f"refusing to write to or delete in `{text}`: `{link}` is a symbolic link",
                    hint=f"run: rm {link}",
                    where=Place(link),
                )
            )


def link_problem(folder: Path) -> Problem | None:
    """Build the problem for a symbolic link in place of one of fabric's own directories, before
    anything is written."""
    try:
        for name in sorted(os.listdir(folder)):
            check_no_links(folder / name)
    except FabricError as error:
        return error.first
    except OSError:
        return None  # not there yet, or whoever writes to it reports why
    return None


def make_folder(path: Path, mode: int = 0o755) -> None:
    check_no_links(path)
    try:
        _make_folders(path, mode)
    except OSError as error:
        raise write_problem(path, error) from error


def write_in_folder(folder: Path, write: Callable[[], _Written], mode: int = 0o755) -> _Written:
    """Call `write`, and create its directory if it is missing.

    Another run deletes a directory that it has emptied, also between these two steps. Then both are
    repeated.
    """
    for _ in range(_FOLDER_TRIES):
        try:
            return write()
        except FileNotFoundError:
            _make_folders(folder, mode)
    return write()


def _make_folders(folder: Path, mode: int) -> None:
    """Create missing directories with this mode, independent of the umask. Fabric's own are private
    to their owner."""
    for _ in range(_FOLDER_TRIES):
        # A parent can be deleted meanwhile, by a run that has emptied it.
        with contextlib.suppress(FileNotFoundError):
            return _make_missing_folders(folder, mode)
    return _make_missing_folders(folder, mode)


def _make_missing_folders(folder: Path, mode: int) -> None:
    missing = itertools.takewhile(lambda one: not one.is_dir(), (folder, *folder.parents))
    for one in reversed(list(missing)):
        own = mode & 0o700 if _OWN in one.parts else mode
        try:
            one.mkdir(own)
        except FileExistsError:
            if not stat.S_ISDIR(one.stat().st_mode):
                raise
        else:
            set_mode(one, own)


def set_mode(file: Path | int, mode: int) -> None:
    """Set the intended mode: the umask removes bits when a file is created."""
    if stat.S_IMODE(os.stat(file).st_mode) != mode:  # noqa: PTH116
        # Some file systems keep no modes.
        with contextlib.suppress(PermissionError):
            os.chmod(file, mode)  # noqa: PTH101


def make_private(folder: Path, *, durable: bool = True) -> None:
    """Create a directory and its missing parents, private to the owner and durable."""
    check_no_links(folder)
    missing = list(itertools.takewhile(lambda one: not one.exists(), (folder, *folder.parents)))
    try:
        for one in reversed(missing):
            one.mkdir(mode=0o700, exist_ok=True)
            if durable:
                sync_folder(one.parent)
    except OSError as error:
        raise write_problem(folder, error) from error


def make_private_file(path: Path) -> None:
    """Create an empty private file unless it exists.

    An existing file is not even opened: closing it would release all locks that the process has on
    it.
    """
    make_private(path.parent)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise write_problem(path, error) from error


def sync_folder(folder: Path) -> None:
    """Make created, renamed and deleted names in a directory durable against a power failure."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise write_problem(folder, error) from error


def write_atomic(
    path: str | Path, content: bytes, *, mode: int = 0o644, durable: bool = False
) -> None:
    """Replace `path` as a whole: readers see the old bytes or the new ones, even after a crash.

    `durable` waits until the bytes are on the disk; reproducible content does not need that.
    """
    # Text paths: thousands of outputs are written here, and a Path costs more than the rename.
    folder, _, name = str(path).rpartition("/")
    check_no_links(folder)
    temporary = f"{folder}/.{name}.{_generate_ticket()}.tmp"
    try:
        write_in_folder(Path(folder), lambda: _write_new(temporary, content, mode, durable=durable))
        os.rename(temporary, path)  # noqa: PTH104
    except OSError as error:
        _discard(temporary)
        raise write_problem(Path(path), error) from error
    except BaseException:
        _discard(temporary)
        raise


def keep_copy(path: Path, backup: Path) -> None:
    """Keep the present content under another name when `path` is replaced."""
    temporary = f"{backup.parent}/.{backup.name}.{_generate_ticket()}.tmp"
    try:
        os.link(path, temporary)
        os.rename(temporary, backup)  # noqa: PTH104
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise write_problem(backup, error) from error
        write_atomic(backup, read_bytes(path), mode=0o600, durable=True)
    finally:
        # A rename between two names of one file does nothing and leaves both.
        _discard(temporary)


def sweep(path: Path) -> None:
    """Delete temporary files of killed writers. Only for callers that exclude other writers."""
    # What cannot be listed now is swept by the next writer.
    with contextlib.suppress(OSError):
        for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
            _discard(str(leftover))


def remove(path: Path) -> None:
    """Delete a file durably. A missing one is not an error."""
    check_no_links(path.parent)
    try:
        path.unlink(missing_ok=True)
        sync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise write_problem(path, error) from error


def remove_empty_folders(folder: Path, top: Path) -> None:
    """Delete a directory and its parents below `top` while they are empty."""
    while top in folder.parents:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def _generate_ticket() -> str:
    """Return a name that no other writer uses, now or after a crash."""
    return f"{os.getpid():x}-{next(_TICKETS):x}-{RUN}"


def _discard(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)  # noqa: PTH108


def write_all(fd: int, content: bytes) -> None:
    written = os.write(fd, content)
    while written < len(content):
        written += os.write(fd, content[written:])


def _write_new(path: str, content: bytes, mode: int, *, durable: bool) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        set_mode(fd, mode)
        write_all(fd, content)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


def is_strange(path: Path) -> bool:
    """Return whether the path is not a regular file.

    A library that opens it could block forever, or write to another owner's file behind a link.
    """
    try:
        return not stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def read_bytes(path: str | Path) -> bytes:
    """Read the whole file; the buffer is sized from its length, because a large fixed one costs
    more."""
    # A named pipe without a writer would be waited for, were it not for O_NONBLOCK.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        size = found.st_size
        content = os.read(fd, size + 1)
        if len(content) == size:
            return content
        chunks = [content]
        while chunk := os.read(fd, 1 << 20):
            chunks.append(chunk)
        return b"".join(chunks)
    finally:
        os.close(fd)


def is_executable(path: str | Path) -> bool:
    """Return whether the file's mode is executable; `access` gives other results for root."""
    return bool(os.stat(path).st_mode & stat.S_IXUSR)  # noqa: PTH116


@contextlib.contextmanager
def lock_file(path: str | Path, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold an exclusive lock among processes. The file stays, so that two holders never lock two
    inodes.

    Locks are mostly held for moments; one held for long belongs to a stopped process.
    """
    try:
        fd = _open_lock(path)
    except OSError as error:
        raise write_problem(Path(path), error) from error
    try:
        _lock(fd, Path(path), seconds)
        yield
    finally:
        os.close(fd)


def _lock(fd: int, path: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    pause = 0.001
    while not _try_lock(fd):
        if time.monotonic() >= deadline:
            problem = Problem(
                "lock/file-held",
                f"timeout: `{path}` was locked by another process for {seconds:.0f} s",
                hint="stop the other fabric process, or let it continue if it is suspended",
                where=Place(str(path)),
            )
            raise FabricError(problem)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open_lock(path: str | Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    check_no_links(Path(path).parent)
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        make_folder(Path(path).parent, 0o700)
        return os.open(path, flags, 0o600)
