"""The engine's stores below a folder, opened and closed as fabric.app.session does it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.engine.memory.blobs import Blobs
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.memory.memo import LazyMemo, Memo
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
    memo = LazyMemo(lambda: _memo(cache / "memo"))
    blobs = Blobs(cache / "blobs", memo, shared)
    trace_store = TraceStore(memo, "here", blobs.flush)
    files = FileIndex(root, cache / "files-here.bin", now_ns=started_ns, remembered=not warm)
    try:
        yield Stores(root, trace_store, blobs, files, memo, shared)
    finally:
        trace_store.flush()
        files.save()
        memo.close()


def _memo(folder: Path) -> Memo:
    from fabric.engine.memory.disk_memo import (
        DiskMemo,  # its database costs a start: only when it is wanted
    )

    return DiskMemo(folder)
