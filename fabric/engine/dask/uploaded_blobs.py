"""The list of snapshot contents in the shared cache, stored for the next run."""

import contextlib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field

from fabric.cache_seal import CacheSeal
from fabric.engine.memory.memo import SHARED
from fabric.model.names import Digest
from fabric.model.problems import FabricError
from fabric.remote.packs import Extent
from fabric.system.disk import make_folder, read_bytes, write_atomic

_NAME = "snapshots"
# Servers may throw away what is older than that.
_GOOD_SECONDS = 7 * 86400
# More streams than that are sent as one anew.
_MOST_STREAMS = 32


class UploadedBlobs(Struct, frozen=True):
    """`cache` is which shared cache it is, `at` when the first of it was sent."""

    cache: str = ""
    at: int = 0
    streams: Mapping[str, tuple[Digest, ...]] = field(default_factory=dict)
    extents: Mapping[Digest, Extent] = field(default_factory=dict)

    def holds(self, cache: str, now: int) -> bool:
        is_fresh = 0 <= now - self.at < _GOOD_SECONDS
        return self.cache == cache and is_fresh and len(self.streams) < _MOST_STREAMS


def load_sent(cache_folder: Path, seal: CacheSeal) -> UploadedBlobs:
    """Load the list. If it is unreadable, everything is uploaded again."""
    try:
        content = seal.unseal(_NAME, read_bytes(cache_folder / SHARED / _NAME))
        return msgspec.msgpack.decode(content or b"", type=UploadedBlobs)
    except (OSError, msgspec.DecodeError, ValueError):
        return UploadedBlobs()


def keep_sent(cache_folder: Path, seal: CacheSeal, sent: UploadedBlobs) -> None:
    if not cache_folder.is_dir():
        return
    with contextlib.suppress(FabricError, OSError):
        make_folder(cache_folder / SHARED, 0o700)
        content = seal.seal(_NAME, msgspec.msgpack.encode(sent))
        write_atomic(cache_folder / SHARED / _NAME, content, mode=0o600)
