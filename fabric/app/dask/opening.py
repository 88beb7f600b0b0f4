"""`--executor` to what builds for a run."""

from fabric.app.dask.shared_store import shared_store
from fabric.app.settings import Settings
from fabric.engine.dask.executor import Executor
from fabric.model.executor import DaskAddress
from fabric.model.problems import FabricError, Problem


def open_executor(address: DaskAddress, settings: Settings) -> Executor:
    """Reaches the cluster: whatever is wrong with it is told before anything is built."""
    store = shared_store(settings)
    try:
        from fabric.app.dask.worker import side_of
        from fabric.app.dask.workers import connect
    except ModuleNotFoundError as error:
        raise FabricError(
            Problem(
                "usage/no-package",
                f"--executor needs a package that is not installed: {error.name}",
                hint="pip install 'fabric-deploy[dask]'",
            )
        ) from error
    side = side_of(store)
    return Executor(connect(address, side, settings.chance(8)), side, store)
