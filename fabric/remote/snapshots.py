"""A workspace as it travels to other machines: its files by digest, in packs of the shared cache.

Pure. What is read back may be anybody's: names that lead elsewhere make all of it nothing.
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
    """Some bytes that lie in packs of their own."""

    packs: tuple[Digest, ...]
    size: int


class SnapshotFile(Struct, frozen=True, array_like=True):
    path: str
    digest: Digest
    extent: Extent
    executable: bool = False


class Snapshot(Struct, frozen=True):
    """`streams` are the packs that extents of files lie in, `links` are symbolic ones with where
    they lead, seen from their own folder. Other folders are there because something lies in them.
    """

    streams: Mapping[str, tuple[Digest, ...]]
    files: tuple[SnapshotFile, ...]
    links: tuple[tuple[str, str], ...] = ()
    empty_folders: tuple[str, ...] = ()


def encode_snapshot(snapshot: Snapshot) -> bytes:
    return msgspec.msgpack.encode(snapshot)


def decode_snapshot(content: bytes) -> Snapshot | None:
    """None for what could be written anywhere else than in one folder."""
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
        and taken.isdisjoint(above for path in leaves for above in folders_above(path))
        and all(led_to(path, target) is not None for path, target in found.links)
        and all(is_digest(one.digest) for one in found.files)
        and all(is_digest(one) for names in found.streams.values() for one in names)
        and all(_is_reachable(one.extent, found.streams) for one in found.files)
    )


def _is_reachable(extent: Extent, streams: Mapping[str, tuple[Digest, ...]]) -> bool:
    names = streams.get(extent.stream, ())
    return extent.offset >= 0 and extent.size >= 0 and extent.packs.stop <= len(names)


def is_inside(path: str) -> bool:
    """Whether it is a name below a folder, as it stands."""
    parts = path.split("/")
    return "\0" not in path and all(part not in ("", ".", "..") for part in parts)


def folders_above(path: str) -> Iterator[str]:
    at = path.rfind("/")
    while at > 0:
        yield path[:at]
        at = path.rfind("/", 0, at)


def led_to(path: str, target: str) -> str | None:
    """Where a link leads, within the same top; None for what leads out of it, or might: behind
    another link `..` is anywhere."""
    parts = path.split("/")[:-1]
    names = [part for part in target.split("/") if part not in ("", ".")]
    while names[:1] == [".."] and parts:
        del names[0], parts[-1]
    is_out = target.startswith("/") or "\0" in target or ".." in names
    return None if is_out else "/".join((*parts, *names))


def stored_bytes(
    keys: SealKeys, parts: Iterable[bytes]
) -> tuple[StoredBytes, Sequence[tuple[ObjectName, bytes]]]:
    """All of it as one, and the objects to be put."""
    cutter = PackCutter("")
    size = sum(cutter.add(part).size for part in parts)
    objects = [seal_object(keys, ObjectKind.PACK, pack) for pack in cutter.last()]
    return StoredBytes(tuple(name.digest for name, _ in objects), size), objects
