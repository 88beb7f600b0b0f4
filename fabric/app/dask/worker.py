"""The functions that a Dask worker executes, in the worker's process.

Start `dask worker` with the environment variables of the shared cache, like any machine that reads
it.
"""

import atexit
import contextlib
import functools
import sys
from pathlib import Path
from tempfile import mkdtemp

import msgspec
from distributed import get_worker

from fabric.app.dask.shared_store import build_shared_store
from fabric.app.settings import Settings, read_settings
from fabric.engine.dask.build_places import BuildPlaces, ChildProgram
from fabric.engine.dask.fetching import Packs
from fabric.engine.dask.messages import RemoteBuildAnswer, SameSide, decode_question, encode
from fabric.engine.dask.sending import SharedStore
from fabric.engine.dask.worker_side import WorkerSide
from fabric.manifest import VERSION
from fabric.model.problems import FabricError

_CHILD = "fabric.app.dask.child"
_EXECUTING = "executing"


def describe_worker() -> bytes:
    """Describe this worker, so that the client can compare it before sending work."""
    return msgspec.msgpack.encode(_build_local_side(read_settings()))


def build_on_worker(asked: bytes, key: str) -> bytes:
    """`key` is the name of this very task in the cluster."""
    worker = get_worker()

    def is_wanted() -> bool:
        """Return whether the task is still executing: not cancelled, and its client connected."""
        state = worker.state.tasks.get(key)
        return state is not None and state.state == _EXECUTING

    try:
        return encode(_get_process_side().answer(decode_question(asked), is_wanted))
    except (ValueError, msgspec.DecodeError):
        return encode(
            RemoteBuildAnswer(
                worker.address, lacks="runs a different version of fabric, or cannot build"
            )
        )


def build_worker_side(store: SharedStore | None) -> SameSide:
    """Build the worker side with this shared cache. Without a cache it cannot build anything."""
    python = ".".join(map(str, sys.version_info[:2]))
    if store is None:
        return SameSide(VERSION, python, "")
    return SameSide(VERSION, python, store.cache, tuple(one.id for one in store.keys.all))


def _build_local_side(settings: Settings) -> SameSide:
    try:
        return build_worker_side(build_shared_store(settings))
    except FabricError:
        return build_worker_side(None)


@functools.cache
def _get_process_side() -> WorkerSide:
    """Return the worker side of this process, which is reused between tasks."""
    settings, worker = read_settings(), get_worker()
    store = build_shared_store(settings)
    packs = Packs(store)
    # Dask takes its own folder away, also behind a worker that was killed.
    home = Path(mkdtemp(prefix="fabric-", dir=worker.local_directory)).resolve()
    places = BuildPlaces(home, packs, ChildProgram(_CHILD, settings.env))
    atexit.register(_close, places)
    return WorkerSide(
        place=worker.address,
        side=build_worker_side(store),
        store=store,
        packs=packs,
        places=places,
        clock=settings.clock,
    )


def _close(places: BuildPlaces) -> None:
    with contextlib.suppress(OSError):
        places.close()
