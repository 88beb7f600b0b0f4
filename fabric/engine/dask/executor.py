"""A cluster that builds for a run, before the stores of the run are open."""

from pathlib import Path

from msgspec import Struct

from fabric.engine.dask.contract import Workers
from fabric.engine.dask.fetching import Packs
from fabric.engine.dask.messages import SameSide
from fabric.engine.dask.remote_builds import Cluster, RemoteBuilds
from fabric.engine.dask.sending import SharedStore, SnapshotSender
from fabric.engine.memory.file_index import FileIndex
from fabric.runtimes.contract import Builder
from fabric.system.clock import Clock


class Executor(Struct, frozen=True):
    workers: Workers
    side: SameSide
    store: SharedStore

    def around(
        self, builder: Builder, files: FileIndex, cache_folder: Path, clock: Clock
    ) -> RemoteBuilds:
        """Open the remote builder for one run. Closing it cancels running builds."""
        cluster = Cluster(self.workers, self.side, Packs(self.store))
        sender = SnapshotSender(self.store, files, cache_folder, clock)
        return RemoteBuilds(builder, cluster, sender)
