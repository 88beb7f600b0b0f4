"""Upload a workspace to the shared cache for workers. Existing contents are not uploaded again."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from fabric.cache_seal import CacheSeal
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.memory.memo import SHARED
from fabric.engine.shared.background_uploads import BackgroundUploads, describe_error
from fabric.model.hashing import hash_bytes, is_digest
from fabric.model.names import Digest
from fabric.model.problems import FabricError, Problem
from fabric.model.task import EXECUTABLE
from fabric.remote.contract import ObjectKind, ObjectName
from fabric.remote.packs import Extent, PackCutter
from fabric.remote.seal import SealKeys, seal_object
from fabric.remote.snapshots import (
    Snapshot,
    SnapshotFile,
    StoredBytes,
    encode_snapshot,
    resolve_link,
    store_bytes,
)
from fabric.runtimes.globs import PRUNED
from fabric.system.clock import Clock
from fabric.system.files.disk import make_folder, read_bytes, write_atomic

# Installed packages are no sources, but builds look into them.
_LEFT_OUT_FOLDERS = PRUNED - {"node_modules"}
_ENVIRONMENT = ".env"
_WITHOUT_VALUES = (".example", ".sample", ".template")


class WorkspaceFiles(Struct, frozen=True):
    """Paths relative to the workspace. `left_out` exist but are not uploaded."""

    files: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]
    empty_folders: tuple[str, ...] = ()


def list_workspace_files(workspace: str) -> WorkspaceFiles:
    files: list[str] = []
    links: list[tuple[str, str]] = []
    left_out: list[str] = []
    empty_folders: list[str] = []
    for path in _walk(workspace):
        if path.endswith("/"):
            (empty_folders if _is_text(path) else left_out).append(path.rstrip("/"))
            continue
        if _is_env_file(path) or not _is_text(path):
            left_out.append(path)
        elif not os.path.islink(f"{workspace}/{path}"):  # noqa: PTH114 - thousands of them
            (files if os.path.isfile(f"{workspace}/{path}") else left_out).append(path)  # noqa: PTH113
        elif (target := _read_link_target(workspace, path)) is not None:
            links.append((path, target))
        else:
            left_out.append(path)
    return WorkspaceFiles(tuple(files), tuple(links), tuple(left_out), tuple(empty_folders))


def _is_env_file(path: str) -> bool:
    """Return whether this is a `.env` file. Its values reach builds through their declared
    inputs."""
    name = path.rpartition("/")[2]
    is_one = name == _ENVIRONMENT or name.startswith(f"{_ENVIRONMENT}.")
    return is_one and not name.endswith(_WITHOUT_VALUES)


def _walk(workspace: str) -> Iterator[str]:
    """List everything except non-empty directories. Links to directories count as links."""
    for parent, folders, names in os.walk(workspace):
        inside = os.path.relpath(parent, workspace)
        prefix = "" if inside == "." else f"{inside}/"
        linked = [one for one in folders if os.path.islink(f"{parent}/{one}")]  # noqa: PTH114
        folders[:] = sorted(set(folders) - set(linked) - _LEFT_OUT_FOLDERS)
        if prefix and not (folders or names or linked):
            yield prefix
        yield from sorted(f"{prefix}{one}" for one in (*names, *linked))


def _read_link_target(workspace: str, path: str) -> str | None:
    """Return the link target in portable form; None if it is outside the workspace."""
    try:
        target = os.readlink(f"{workspace}/{path}")  # noqa: PTH115
    except OSError:
        return None
    if target.startswith(f"{workspace}/"):
        target = os.path.relpath(target, os.path.dirname(f"{workspace}/{path}"))  # noqa: PTH120
    return target if _is_text(target) and resolve_link(path, target) is not None else None


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


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


def _load_sent(cache_folder: Path, seal: CacheSeal) -> UploadedBlobs:
    """Load the list. If it is unreadable, everything is uploaded again."""
    try:
        content = seal.unseal(_NAME, read_bytes(cache_folder / SHARED / _NAME))
        return msgspec.msgpack.decode(content or b"", type=UploadedBlobs)
    except (OSError, msgspec.DecodeError, ValueError):
        return UploadedBlobs()


def _keep_sent(cache_folder: Path, seal: CacheSeal, sent: UploadedBlobs) -> None:
    if not cache_folder.is_dir():
        return
    with contextlib.suppress(FabricError, OSError):
        make_folder(cache_folder / SHARED, 0o700)
        content = seal.seal(_NAME, msgspec.msgpack.encode(sent))
        write_atomic(cache_folder / SHARED / _NAME, content, mode=0o600)


if TYPE_CHECKING:
    from concurrent.futures import Future

# So many packs are on their way at once; no server takes longer for one that will take it at all.
_IN_FLIGHT = 4
_PUT_SECONDS = 20.0


class SharedStore(Struct, frozen=True):
    """A shared cache that both sides reach."""

    uploads: BackgroundUploads
    keys: SealKeys
    # Identifies it.
    cache: str


class UploadedSnapshot(Struct, frozen=True):
    """An uploaded snapshot."""

    stored: StoredBytes
    # The file hashes at upload time, as in traces.
    digests: Mapping[str, str]
    left_out: tuple[str, ...]


class SnapshotSender:
    """Uploads one workspace for one run. `cache_folder` stores the list of uploaded contents."""

    def __init__(
        self, store: SharedStore, files: FileIndex, cache_folder: Path, clock: Clock
    ) -> None:
        self._store = store
        self._files = files
        self._cache_folder = cache_folder
        self._clock = clock
        self._calls: list[Future[None]] = []

    def send(self, workspace: Path, *, anew: bool = False) -> UploadedSnapshot:
        """Raises FabricError where the shared cache does not take it."""
        now = int(self._clock.now().timestamp())
        before = _load_sent(self._cache_folder, self._files.seal)
        if anew or not before.holds(self._store.cache, now):
            before = UploadedBlobs(self._store.cache, now)
        found = list_workspace_files(str(workspace))
        after, files = self._place_contents(before, found, workspace)
        snapshot = Snapshot(after.streams, files, found.links, found.empty_folders)
        stored, objects = store_bytes(self._store.keys, [encode_snapshot(snapshot)])
        self._put(objects)
        self._settle(0)
        _keep_sent(self._cache_folder, self._files.seal, after)
        digests = {one.path: one.digest + EXECUTABLE * one.executable for one in files}
        return UploadedSnapshot(stored, digests, found.left_out)

    def _place_contents(
        self, before: UploadedBlobs, found: WorkspaceFiles, workspace: Path
    ) -> tuple[UploadedBlobs, tuple[SnapshotFile, ...]]:
        """Return where all contents are stored. New ones are uploaded in a separate stream."""
        stream = str(len(before.streams))
        cutter, packs = PackCutter(stream), list[Digest]()
        extents = dict(before.extents)
        files = []
        for path in found.files:
            digest, is_executable = self._hash_file(path)
            if digest not in extents:
                content = _read(workspace / path)
                if content is None:
                    continue
                digest = hash_bytes(content)
                extents.setdefault(digest, cutter.add(content))
                packs += self._put(self._seal_packs(cutter.full()))
            files.append(SnapshotFile(path, digest, extents[digest], is_executable))
        packs += self._put(self._seal_packs(cutter.last()))
        streams = {**before.streams, **({stream: tuple(packs)} if packs else {})}
        return UploadedBlobs(before.cache, before.at, streams, extents), tuple(files)

    def _hash_file(self, path: str) -> tuple[Digest, bool]:
        found = self._files.digest(path)
        digest = found.removesuffix(EXECUTABLE)
        return Digest(digest if is_digest(digest) else ""), found.endswith(EXECUTABLE)

    def _seal_packs(self, packs: Iterator[bytes]) -> Sequence[tuple[ObjectName, bytes]]:
        return [seal_object(self._store.keys, ObjectKind.PACK, pack) for pack in packs]

    def _put(self, objects: Sequence[tuple[ObjectName, bytes]]) -> list[Digest]:
        for name, content in objects:
            self._settle(_IN_FLIGHT - 1)
            self._calls.append(self._store.uploads.put(name, content))
        return [name.digest for name, _ in objects]

    def _settle(self, left: int) -> None:
        """Wait until at most N uploads are running."""
        while len(self._calls) > left:
            try:
                self._calls.pop(0).result(_PUT_SECONDS)
            except Exception as error:
                raise _upload_error(error) from error


def _read(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except OSError:
        return None


def _upload_error(error: Exception) -> FabricError:
    return FabricError(
        Problem(
            "executor/not-sent",
            f"cannot send the workspace to the workers: {describe_error(error)}",
            hint="check that the shared cache accepts uploads: fabric cache status",
        )
    )
