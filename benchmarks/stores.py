"""The engine's stores below a folder, opened and closed as fabric.app.session does it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.cache_seal import CacheSeal, key_file, make_key_file, usable_seal
from fabric.engine.memory.blobs import Blobs
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.memory.memo import LazyMemo, Memo, SealedPath
from fabric.engine.memory.traces import TraceStore
from fabric.engine.task_runner import Stores

if TYPE_CHECKING:
    from fabric.engine.shared.shared_cache import SharedCache


@contextmanager
def opened(
    root: Path,
    cache: Path,
    started_ns: int,
    *,
    warm: bool = False,
    shared: "SharedCache | None" = None,
) -> Iterator[Stores]:
    seal = own_seal(root)
    memo = LazyMemo(lambda: _memo(SealedPath(cache / "memo", seal)))
    blobs = Blobs(cache / "blobs", memo, shared)
    trace_store = TraceStore(memo, "here", blobs.flush)
    files = FileIndex(
        root, SealedPath(cache / "files-here.bin", seal), now_ns=started_ns, remembered=not warm
    )
    try:
        yield Stores(root, trace_store, blobs, files, memo, shared)
    finally:
        trace_store.flush()
        files.save()
        memo.close()


def own_seal(root: Path) -> CacheSeal:
    """The seal of the calling user, made if there is none yet."""
    seal = usable_seal(os.environ, str(root))
    if seal is None:
        make_key_file(key_file(os.environ))
        seal = usable_seal(os.environ, str(root))
    if seal is None:
        raise SystemExit("no cache key: set HOME or FABRIC_CACHE_KEY")
    return seal


def _memo(place: SealedPath) -> Memo:
    from fabric.engine.memory.disk_memo import (
        DiskMemo,  # its database costs a start: only when it is wanted
    )

    return DiskMemo(place.path, place.seal)
