"""Snapshots of a workspace for other machines: files by hash, in packs of the shared cache.

No effects. Snapshots are untrusted: one path outside the workspace invalidates all of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from fabric.model.hashing import is_digest
from fabric.model.names import Digest
from fabric.remote.contract import ObjectKind, ObjectName
from fabric.remote.packs import Extent, PackCutter
from fabric.remote.seal import SealKeys, seal_object


class StoredBytes(Struct, frozen=True):
    """Bytes in separate packs."""

    packs: tuple[Digest, ...]
    size: int


class SnapshotFile(Struct, frozen=True, array_like=True):
    path: str
    digest: Digest
    extent: Extent
    executable: bool = False


class Snapshot(Struct, frozen=True):
    """A snapshot.

    Directories are listed only if they are empty.
    """

    # The packs of file extents.
    streams: Mapping[str, tuple[Digest, ...]]
    files: tuple[SnapshotFile, ...]
    # Symbolic links with relative targets.
    links: tuple[tuple[str, str], ...] = ()
    empty_folders: tuple[str, ...] = ()


def encode_snapshot(snapshot: Snapshot) -> bytes:
    return msgspec.msgpack.encode(snapshot)


def decode_snapshot(content: bytes) -> Snapshot | None:
    """Decode a snapshot; None if a path would be outside its directory."""
    try:
        found = msgspec.msgpack.decode(content, type=Snapshot)
    except (msgspec.DecodeError, ValueError):
        return None
    return found if _is_sound(found) else None


def _is_sound(found: Snapshot) -> bool:
    linked = (path for path, _ in found.links)
    leaves = [*(one.path for one in found.files), *linked, *found.empty_folders]
    taken = frozenset(leaves)
    return (
        len(taken) == len(leaves)
        and all(map(is_inside, leaves))
        and taken.isdisjoint(above for path in leaves for above in list_parent_folders(path))
        and all(resolve_link(path, target) is not None for path, target in found.links)
        and all(is_digest(one.digest) for one in found.files)
        and all(is_digest(one) for names in found.streams.values() for one in names)
        and all(_is_reachable(one.extent, found.streams) for one in found.files)
    )


def _is_reachable(extent: Extent, streams: Mapping[str, tuple[Digest, ...]]) -> bool:
    names = streams.get(extent.stream, ())
    return extent.offset >= 0 and extent.size >= 0 and extent.packs.stop <= len(names)


def is_inside(path: str) -> bool:
    """Return whether it is a path below a directory, without normalization."""
    parts = path.split("/")
    return "\0" not in path and all(part not in ("", ".", "..") for part in parts)


def list_parent_folders(path: str) -> Iterator[str]:
    at = path.rfind("/")
    while at > 0:
        yield path[:at]
        at = path.rfind("/", 0, at)


def resolve_link(path: str, target: str) -> str | None:
    """Return the target of a link inside the top directory; None for a target outside.

    Also None if unclear: behind another link, `..` can point anywhere.
    """
    parts = path.split("/")[:-1]
    names = [part for part in target.split("/") if part not in ("", ".")]
    while names[:1] == [".."] and parts:
        del names[0], parts[-1]
    is_out = target.startswith("/") or "\0" in target or ".." in names
    return None if is_out else "/".join((*parts, *names))


def store_bytes(
    keys: SealKeys, parts: Iterable[bytes]
) -> tuple[StoredBytes, Sequence[tuple[ObjectName, bytes]]]:
    """Return a reference to all bytes, and the objects to upload."""
    cutter = PackCutter("")
    size = sum(cutter.add(part).size for part in parts)
    objects = [seal_object(keys, ObjectKind.PACK, pack) for pack in cutter.last()]
    return StoredBytes(tuple(name.digest for name, _ in objects), size), objects
