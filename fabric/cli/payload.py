"""A payload: from a file that is named, else from whoever writes to us."""

import sys
from pathlib import Path

from fabric.model.problems import FabricError, Place, Problem
from fabric.system.disk import read_bytes


def payload(file: str, cwd: Path) -> bytes:
    """Nothing is waited for on a terminal: nobody means to type a payload."""
    if not file:
        return b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()
    try:
        return read_bytes(cwd / file)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"cannot read `{file}`: {reason}"
        raise FabricError(Problem("input/unreadable", message, where=Place(file))) from error
