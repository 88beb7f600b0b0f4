"""A second user: whoever runs the tests, some files belong to somebody else, or might be theirs."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STRANGER = 47_474


def is_root() -> bool:
    return os.geteuid() == 0


def taken_over(*paths: Path) -> None:
    """What another user might have written: theirs where we may give it away (tests run by root),
    else open to all."""
    for path in paths:
        if is_root():
            os.chown(path, _STRANGER, _STRANGER)
        else:
            path.chmod(path.stat().st_mode | 0o022)


def planted(folder: Path, name: str, text: str) -> None:
    """Another user writes into a folder that is open to all; only root can become one."""
    # From inside: folders above may be closed to them.
    subprocess.run(
        ["/bin/sh", "-c", 'cat > "$0"', name],
        cwd=folder,
        input=text.encode(),
        check=True,
        user=_STRANGER if is_root() else None,
        group=_STRANGER if is_root() else None,
    )


@contextmanager
def open_to_all(folder: Path) -> Iterator[Path]:
    """A shared folder, as a temporary folder is one."""
    mode = folder.stat().st_mode
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        folder.chmod(mode)
