"""Files that the user names on a command line: a device or a pipe is written to, never replaced."""

import stat
from pathlib import Path

from fabric.system.disk import write_atomic, write_problem


def write_named(path: Path, content: bytes, *, mode: int = 0o644, durable: bool = False) -> None:
    if not _is_special(path):
        write_atomic(path, content, mode=mode, durable=durable)
        return
    try:
        with path.open("wb") as file:
            file.write(content)
    except OSError as error:
        raise write_problem(path, error) from error


def _is_special(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
