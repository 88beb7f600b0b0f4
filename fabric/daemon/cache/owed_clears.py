"""Stages whose answers are still to be thrown away, for the cache could not be reached.

They lie in a file, a line each, so that the next daemon knows of them as well.
"""

import os
import re
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from fabric.app.settings import STAGE_NAME
from fabric.model.problems import FabricError
from fabric.ownership import is_ours
from fabric.system.disk import read_bytes, remove, sweep, write_atomic

_STAGE = re.compile(STAGE_NAME)


class OwedClears:
    """Thread-safe. `tell` hears of a file that cannot be read or written. One process at a time
    has the file for its own."""

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        self._path, self._tell = path, tell
        self._lock = threading.Lock()
        sweep(path)
        self._stages = set(self._read())
        self._written = frozenset(self._stages)

    @property
    def stages(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(sorted(self._stages))

    def add(self, stage: str) -> None:
        """For as long as it is being tried."""
        with self._lock:
            self._stages.add(stage)

    def keep(self, stages: Iterable[str]) -> None:
        """They could not be cleared now: that is not forgotten with this process."""
        with self._lock:
            self._stages.update(stages)
            self._write()

    def paid(self, stage: str) -> None:
        with self._lock:
            self._stages.discard(stage)
            if stage in self._written:
                self._write()

    def _write(self) -> None:
        stages = frozenset(self._stages)
        if stages == self._written:
            return
        content = "".join(f"{stage}\n" for stage in sorted(stages)).encode()
        try:
            if content:
                write_atomic(self._path, content, mode=0o600, durable=True)
            else:
                remove(self._path)
        except FabricError as error:
            self._tell(f"{error.first.message}: stages that are to be cleared are known no longer "
                       "than this process lives")  # fmt: skip
        else:
            self._written = stages

    def _read(self) -> list[str]:
        """What is damaged hides nothing of the rest."""
        if not os.path.lexists(self._path):
            return []
        try:
            lines = self._lines()
        except OSError as error:
            why = error.strerror or str(error)
            self._tell(f"{self._path} is not read ({why.lower()}): answers in the cache may be "
                       "older than the last deploy until their time is over")  # fmt: skip
            return []
        found = [line for line in lines if _STAGE.fullmatch(line)]
        if len(found) < len(lines):
            self._tell(f"{self._path} is damaged: {len(lines) - len(found)} of its lines are no "
                       "stage, the others are cleared")  # fmt: skip
        return found

    def _lines(self) -> list[str]:
        if self._path.is_symlink() or not is_ours(str(self._path)):
            raise OSError(0, "it is somebody else's, or others may write it")
        return read_bytes(self._path).decode(errors="replace").splitlines()
