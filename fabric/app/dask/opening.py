"""Open the builder that `--executor` selects."""

from fabric.app.dask.shared_store import shared_store
from fabric.app.settings import Settings
from fabric.engine.dask.executor import Executor
from fabric.model.distribution import Extra, PackageNeed
from fabric.model.executor import DaskAddress
from fabric.system.optional_packages import requiring

_NEED = PackageNeed("--executor requires", Extra.DASK, "usage/no-package")


def open_executor(address: DaskAddress, settings: Settings) -> Executor:
    """Connect to the cluster. Reports every problem with it before anything is built."""
    store = shared_store(settings)
    with requiring(_NEED):
        from fabric.app.dask.worker import side_of
        from fabric.app.dask.workers import connect
    side = side_of(store)
    return Executor(connect(address, side, settings.chance(8)), side, store)
