"""Open the builder that `--executor` selects."""

from fabric.app.dask.shared_store import build_shared_store
from fabric.app.settings import Settings
from fabric.engine.dask.remote_builds import Executor
from fabric.model.distribution import Extra, PackageNeed
from fabric.model.runs.executor import DaskAddress
from fabric.system.optional_packages import require_packages

_NEED = PackageNeed("--executor requires", Extra.DASK, "usage/no-package")


def open_executor(address: DaskAddress, settings: Settings) -> Executor:
    """Connect to the cluster. Reports every problem with it before anything is built."""
    store = build_shared_store(settings)
    with require_packages(_NEED):
        from fabric.app.dask.worker import build_worker_side
        from fabric.app.dask.workers import connect
    side = build_worker_side(store)
    return Executor(connect(address, side, settings.chance(8)), side, store)
