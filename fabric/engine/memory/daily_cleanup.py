"""Bound the cache: once a day, after a run, delete the least recently used entries."""

import contextlib

from fabric.engine.memory.memo import SealedPath
from fabric.model.problems import FabricError
from fabric.system.files.disk import write_atomic

KEEP_BYTES = 5 << 30
KEEP_SECONDS = 90 * 86_400
_EVERY_SECONDS = 86_400
_STAMP = "pruned"


def prune_daily(cache: SealedPath, now: float) -> None:
    """Prune if the last time was a day ago, except in a new cache. A write failure does not fail
    the run."""
    with contextlib.suppress(FabricError):
        _prune_daily(cache, now)


def _prune_daily(cache: SealedPath, now: float) -> None:
    stamp = cache.path / _STAMP
    try:
        if now - stamp.stat().st_mtime < _EVERY_SECONDS:
            return
    except FileNotFoundError:
        write_atomic(stamp, b"", mode=0o600)
        return
    write_atomic(stamp, b"", mode=0o600)
    from fabric.engine.memory.cleanup import Housekeeping, prune  # costs a start; once a day

    house = Housekeeping(cache)
    try:
        prune(house, keep_bytes=KEEP_BYTES, oldest=now - KEEP_SECONDS)
    finally:
        house.close()
