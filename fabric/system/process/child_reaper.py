"""End children whose caller was killed and that do not watch their input."""

import contextlib
import functools
import os
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

# Lines say who lives; at their end, whatever brought it about, those are ended. Of whoever is being
# started only the pipe is known that its input will be: nobody else has that one.
_SCRIPT = r"""
cd /
trap '' HUP INT TERM
live=' ' soon=' '
while read -r what one; do
    case $what in
        soon) soon="$soon$one " ;;
        known) soon="${soon%% $one *} ${soon#* $one }" ;;
        begun) live="$live$one " ;;
        ended) live="${live%% $one *} ${live#* $one }" ;;
    esac
done
for one in $soon; do
    readers="s|.* /proc/\([0-9]*\)/.*pipe:.$one.$|\1|p"
    for pid in $(ls -l /proc/[0-9]*/fd/0 | sed -n "$readers"); do live="$live$pid "; done
done
for one in $live; do kill -9 "-$one" || kill -9 "$one"; done
[ -n "$1" ] || exit
# Who is being ended may still write. A directory can be read-only.
for try in 1 2 3 4 5 6 7 8 9; do
    rm -rf -- "$1" && [ ! -e "$1" ] && break
    chmod -R u+w -- "$1" && rm -rf -- "$1" && [ ! -e "$1" ] && break
    sleep 0.2
done
"""
_ERRORS = 2
_UNDOES = {"known": "soon", "ended": "begun"}
_STARTING = threading.Lock()


class _Keeper(NamedTuple):
    """The process, and the pipe to it."""

    pid: int
    pipe: int

    def send(self, lines: Iterable[tuple[str, int]]) -> bool:
        """Send lines. Returns False if the process has ended."""
        try:
            os.write(self.pipe, "".join(f"{what} {one}\n" for what, one in lines).encode())
        except BrokenPipeError:
            return False
        return True


class ChildReaper:
    """A small process beside the children, in a separate process group. Thread-safe.

    It deletes `folder`, if given, after the children. If no process can be started, there is no
    keeper.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._said: set[tuple[str, int]] = set()
        self._running = _start_keeper(folder)

    @property
    def pid(self) -> int | None:
        return self._running.pid if self._running else None

    def soon(self, pipe: int) -> None:
        """Announce a child whose input is this pipe."""
        self._send_line("soon", pipe)

    def report_pipe(self, pipe: int) -> None:
        self._send_line("known", pipe)

    def begun(self, pid: int) -> None:
        self._send_line("begun", pid)

    def report_end(self, pid: int) -> None:
        self._send_line("ended", pid)

    def close(self) -> None:
        """End the keeper: all children have ended."""
        if self._running is not None:
            os.close(self._running.pipe)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._running.pid, 0)

    def _send_line(self, what: str, number: int) -> None:
        with self._lock:
            if what in _UNDOES:
                self._said.discard((_UNDOES[what], number))
            else:
                self._said.add((what, number))
            if self._running is not None and not self._running.send([(what, number)]):
                self._replace_keeper()

    def _replace_keeper(self) -> None:
        """Start another keeper after a killed one and send it all known children."""
        self.close()
        self._running = _start_keeper(self._folder)
        if self._running is not None:
            self._running.send(sorted(self._said))


def _start_keeper(folder: Path | None) -> _Keeper | None:
    """Start the process. Faster than `Popen`, which waits until it runs."""
    try:
        theirs, ours = os.pipe()
    except OSError:
        return None
    try:
        pid = os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", _SCRIPT, "sh", str(folder or "")],
            {"PATH": os.defpath},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, theirs, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                *((os.POSIX_SPAWN_CLOSE, fd) for fd in _list_inherited()),
            ],
            setsid=True,
        )
    except OSError:
        os.close(ours)
        return None
    finally:
        os.close(theirs)
    return _Keeper(pid, ours)


def _list_inherited() -> Iterator[int]:
    """Yield inherited descriptors, such as a lock. The keeper must not hold them, because it can
    outlive this process."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # one may be gone by now
                if int(name) > _ERRORS and os.get_inheritable(int(name)):
                    yield int(name)


@contextlib.contextmanager
def keep_child(
    stdin: int, start: Callable[[], subprocess.Popen[bytes]]
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a child with this pipe as its input.

    From its first moment to the end of the block, its session ends with this process, however that
    ends.
    """
    with _STARTING:
        keeper = _get_process_keeper(os.getpid())
    pipe = os.fstat(stdin).st_ino
    keeper.soon(pipe)
    try:
        child = start()
        keeper.begun(child.pid)
    finally:
        keeper.report_pipe(pipe)
    try:
        yield child
    finally:
        keeper.report_end(child.pid)


@functools.cache
def _get_process_keeper(_pid: int) -> ChildReaper:
    """Return the shared keeper, which ends with the process."""
    return ChildReaper()
