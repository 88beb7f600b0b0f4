"""Packs of the shared cache on a worker: fetched once, verified and held for a while."""

import threading
from collections import OrderedDict

from fabric.engine.dask.sending import SharedStore
from fabric.model.names import Digest
from fabric.remote.contract import ObjectKind, ObjectName
from fabric.remote.packs import read_content
from fabric.remote.seal import open_object
from fabric.remote.snapshots import Snapshot, SnapshotFile, StoredBytes, decode_snapshot

_HELD = 16
_GET_SECONDS = 10.0


class MissingError(Exception):
    """The shared cache no longer has the object, or its content differs."""


class Packs:
    """Fetched packs. Thread-safe. Raises MissingError and errors of the carrier."""

    def __init__(self, store: SharedStore) -> None:
        self._store = store
        self._held: OrderedDict[Digest, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._snapshots: OrderedDict[StoredBytes, Snapshot] = OrderedDict()

    def snapshot(self, stored: StoredBytes) -> Snapshot:
        with self._lock:
            found = self._snapshots.get(stored)
        if found is None:
            found = decode_snapshot(self.join(stored))
            if found is None:
                raise MissingError
            with self._lock:
                self._snapshots[stored] = found
                while len(self._snapshots) > 1:
                    self._snapshots.popitem(last=False)
        return found

    def content(self, snapshot: Snapshot, one: SnapshotFile) -> bytes:
        names = snapshot.streams.get(one.extent.stream, ())
        packs = {number: self._read_pack(names[number]) for number in one.extent.packs}
        content = read_content(one.extent, packs)
        if content is None:
            raise MissingError
        return content

    def join(self, stored: StoredBytes) -> bytes:
        content = b"".join(map(self._read_pack, stored.packs))
        if len(content) != stored.size:
            raise MissingError
        return content

    def _read_pack(self, name: Digest) -> bytes:
        with self._lock:
            found = self._held.get(name)
        if found is None:
            found = self._fetch_pack(name)
            with self._lock:
                self._held[name] = found
                while len(self._held) > _HELD:
                    self._held.popitem(last=False)
        return found

    def _fetch_pack(self, name: Digest) -> bytes:
        place = ObjectName(ObjectKind.PACK, name)
        stored = self._store.uploads.get(place).result(_GET_SECONDS)
        opened = open_object(self._store.keys, place, stored) if stored else None
        if opened is None:
            raise MissingError
        return opened.body
