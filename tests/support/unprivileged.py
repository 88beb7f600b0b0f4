"""Folders that are really read-only, for root too: a child process without any capability."""

import os
import stat
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@contextmanager
def read_only(root: Path, apart: Iterable[Path] = ()) -> Iterator[None]:
    """The whole tree without the right to write, but for what lies in these folders."""
    kept = frozenset(apart)
    found = [root, *(path for path in root.rglob("*") if not path.is_symlink())]
    paths = [path for path in found if not kept & {path, *path.parents}]
    modes = [(path, path.stat().st_mode) for path in paths]
    for path, mode in reversed(modes):
        path.chmod(mode & ~_WRITE)
    try:
        yield
    finally:
        for path, mode in modes:
            path.chmod(mode)


def started_unprivileged(
    command: Sequence[str], cwd: Path, env: Mapping[str, str]
) -> "subprocess.Popen[str]":
    """A child that the modes of files bind, whoever runs the tests."""
    is_bound = os.geteuid() != 0
    words = [] if is_bound else ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*words, *command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        text=True,
    )
