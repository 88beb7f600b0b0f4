"""Contents in packs of the shared cache, fetched on demand.

A pack is waited for at most twice as long as building its contents took, so that waiting never
costs more than building.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fabric.engine.shared.background_uploads import (
    BackgroundUploads,
    Outage,
    describe_error,
    is_hopeless,
)
from fabric.model.hashing import hash_bytes
from fabric.model.names import Digest
from fabric.remote.contract import ObjectKind, ObjectName
from fabric.remote.packs import Extent, read_content
from fabric.remote.seal import SealKeys, open_object
from fabric.remote.segments import Segment
from fabric.system.clock import Clock

if TYPE_CHECKING:
    from concurrent.futures import Future

# So many packs are held for others that want a content of them.
_HELD = 16


class RemoteContents:
    """Thread-safe. Invalid contents count as missing."""

    def __init__(
        self, uploads: BackgroundUploads, keys: SealKeys, outage: Outage, clock: Clock
    ) -> None:
        self._errands = uploads
        self._keys = keys
        self._outage = outage
        self._clock = clock
        self._places: dict[Digest, tuple[Segment, Extent]] = {}
        self._worth: dict[Digest, float] = {}
        self._calls: dict[Digest, RemotePack] = {}
        self._held: OrderedDict[Digest, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self.waited_s = 0.0

    def know(self, segments: Iterable[Segment]) -> None:
        for segment in segments:
            for digest, extent in segment.contents.items():
                self._places.setdefault(digest, (segment, extent))
            for traces in segment.traces.values():
                for trace in traces:
                    digests = {one.digest for one in trace.output.files}
                    for name in {one for each in digests for one in _list_packs(segment, each)}:
                        self._worth[name] = self._worth.get(name, 0.0) + trace.ms / 1000

    def has(self, digest: Digest, size: int) -> bool:
        """Return whether the content is probably available. A plan calls this and fetches
        nothing."""
        found = self._places.get(digest)
        return found is not None and found[1].size == size and not self._outage.why

    def get(self, digest: Digest) -> bytes | None:
        found = self._places.get(digest)
        if found is None:
            return None
        segment, extent = found
        names = segment.streams.get(extent.stream, ())
        wanted = [(number, names[number]) for number in extent.packs]
        for _, name in (*wanted, *_list_next_packs(names, extent)):
            self._begin(name)
        packs: dict[int, bytes] = {}
        for number, name in wanted:
            pack = self._pack(name)
            if pack is None:
                return None
            packs[number] = pack
        content = read_content(extent, packs)
        if content is None or hash_bytes(content) != digest:
            self._places.pop(digest, None)
            return None
        return content

    def _begin(self, name: Digest) -> None:
        """Start fetching a pack, unless it was started or the cache is disabled."""
        with self._lock:
            if name not in self._held and name not in self._calls and not self._outage.why:
                call = self._errands.get(ObjectName(ObjectKind.PACK, name))
                self._calls[name] = RemotePack(call, self._worth.get(name, 0.0))

    def _pack(self, name: Digest) -> bytes | None:
        with self._lock:
            held = self._held.get(name)
            pack = self._calls.get(name)
        if held is not None or pack is None:
            return held
        begin = self._clock.monotonic()
        with pack.lock:  # of all that want it one waits, and the others for him
            if not pack.is_over:
                pack.body = self._wait_for_pack(name, pack)
                pack.is_over = True
                self.waited_s += self._clock.monotonic() - begin
        self._hold(name, pack.body)
        return pack.body

    def _wait_for_pack(self, name: Digest, pack: "RemotePack") -> bytes | None:
        begin = self._clock.monotonic()
        try:
            stored = pack.call.result(self._outage.compute_wait(pack.worth_s))
        except Exception as error:  # noqa: BLE001: whatever it is, the task is carried out here
            self._report_failure(error, self._clock.monotonic() - begin)
            return None
        self._outage.report_success()
        opened = stored and open_object(self._keys, ObjectName(ObjectKind.PACK, name), stored)
        return opened.body if opened else None

    def _report_failure(self, error: Exception, waited_s: float) -> None:
        why = describe_error(error)
        if is_hopeless(error):
            self._outage.shut(why)
        else:
            self._outage.report_failure(waited_s, why)

    def _hold(self, name: Digest, body: bytes | None) -> None:
        """Hold complete packs for a while, and remember failures."""
        if body is None:
            return
        with self._lock:
            self._calls.pop(name, None)
            self._held[name] = body
            self._held.move_to_end(name)
            while len(self._held) > _HELD:
                self._held.popitem(last=False)


class RemotePack:
    """A pack being fetched. `is_over` is set once a thread has waited for it, with or without
    success."""

    def __init__(self, call: "Future[bytes | None]", worth_s: float) -> None:
        self.call = call
        self.worth_s = worth_s
        self.lock = threading.Lock()
        self.body: bytes | None = None
        self.is_over = False


def _list_packs(segment: Segment, digest: Digest) -> Iterable[Digest]:
    extent = segment.contents.get(digest)
    if extent is None:
        return ()
    names = segment.streams[extent.stream]
    return (names[number] for number in extent.packs)


def _list_next_packs(names: tuple[Digest, ...], extent: Extent) -> list[tuple[int, Digest]]:
    """List the next pack, because its content is usually needed soon."""
    number = extent.packs.stop
    return [(number, names[number])] if extent.size and number < len(names) else []
