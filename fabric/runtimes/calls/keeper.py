"""Ends children whose caller was killed: those that work on and do not look at their input."""

import contextlib
import subprocess
from pathlib import Path

from fabric.system.child_group import forget
from fabric.system.process import start_child

# Lines say who lives; at their end, whatever brought it about, those are ended.
_SCRIPT = """
live=' '
while read -r what pid; do
    case $what in
        begun) live="$live$pid " ;;
        ended) live="${live%% $pid *} ${live#* $pid }" ;;
    esac
done
for pid in $live; do kill -9 "-$pid"; done
# Who is being ended may still write.
for try in 1 2 3 4 5 6 7 8 9; do
    rm -rf -- "$1" && [ ! -e "$1" ] && break
    sleep 0.2
done
"""


class ChildKeeper:
    """A small process beside the children. `folder` is taken away behind them."""

    def __init__(self, folder: Path) -> None:
        self._process = start_child(
            ["/bin/sh", "-c", _SCRIPT, "sh", str(folder)],
            cwd=Path("/"),
            env={},
            stderr=subprocess.DEVNULL,
        )

    def begun(self, pid: int) -> None:
        self._tell(f"begun {pid}\n")

    def ended(self, pid: int) -> None:
        self._tell(f"ended {pid}\n")

    def close(self) -> None:
        """All children have ended by now."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()
        forget(self._process)

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is piped
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
