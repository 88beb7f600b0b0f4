"""Deployed archives by hash: on this machine, and beside shared records."""

import contextlib
from collections.abc import Collection
from pathlib import Path

from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record, RecordRef
from fabric.state.contract import MovedError, Version, build_archive_key, build_archive_prefix
from fabric.state.store import RecordStore
from fabric.system.files.disk import read_bytes, remove, write_atomic


class ArchiveMissingError(FabricError):
    """Neither this machine nor the backend has the archive that a rollback needs."""

    def __init__(self, ref: RecordRef, sha256: str) -> None:
        super().__init__(
            Problem(
                "state/archive-missing",
                f"the archive {sha256[:12]} of `{ref.service}` no longer exists",
                hint="deploy from the sources instead",
            )
        )


def build_archive_path(home: Path, sha256: str) -> Path:
    return home / "archives" / f"{sha256}.zip"


def keep_archive(
    record_store: RecordStore, ref: RecordRef, content: bytes, *, durable: bool = True
) -> Path:
    """Store the archive durably before the deploy, so that a rollback never needs the source."""
    sha256 = hash_bytes(content)
    path = build_archive_path(record_store.home, sha256)
    backend = record_store.stores.state
    if _read(path, sha256) is None:
        write_atomic(path, content, mode=0o600, durable=durable)
    if not record_store.is_own_folder:
        # Refused when an earlier deploy has put it there: the name stands for the content.
        with contextlib.suppress(MovedError):
            backend.write(build_archive_key(ref, sha256), content, None)
    return path


def find_archive(record_store: RecordStore, ref: RecordRef, sha256: str) -> bytes:
    """Find an archive locally or in the backend. It is verified and stored locally."""
    path = build_archive_path(record_store.home, sha256)
    content = _read(path, sha256)
    if content is not None:
        return content
    stored = None
    if not record_store.is_own_folder:
        stored = record_store.stores.state.read(build_archive_key(ref, sha256))
    if stored is None or hash_bytes(stored.content) != sha256:
        raise ArchiveMissingError(ref, sha256)
    write_atomic(path, stored.content, mode=0o600)
    return stored.content


def list_archives(record: Record | None) -> frozenset[str]:
    """List all archives that a record can be rolled back to."""
    if record is None:
        return frozenset()
    lists = (record.functions, *(one.functions for one in record.history))
    digests = (one.artifact_sha256 for functions in lists for one in functions)
    # One that may or may not be there has none.
    found = frozenset(digest for digest in digests if digest)
    stacks = (*record.stacks, *(one for past in record.history for one in past.stacks))
    templates = (one.template for one in stacks if one.template)
    return found.union((one.artifact_sha256 for one in record.layers), templates)


def list_lost_archives(record_store: RecordStore, record: Record) -> tuple[str, ...]:
    """List the archives of a record's history that are stored nowhere."""
    return find_missing_archives(record_store, record.ref, list_archives(record))


def find_missing_archives(
    record_store: RecordStore, ref: RecordRef, digests: Collection[str]
) -> tuple[str, ...]:
    """Find the archives that neither this machine nor the backend has."""
    backend = record_store.stores.state
    away = [
        sha256
        for sha256 in sorted(digests)
        if _read(build_archive_path(record_store.home, sha256), sha256) is None
    ]
    if not away or record_store.is_own_folder:
        return tuple(away)
    kept = frozenset(backend.list(build_archive_prefix(ref)))
    return tuple(sha256 for sha256 in away if build_archive_key(ref, sha256) not in kept)


def copy_archive(source: RecordStore, target: RecordStore, ref: RecordRef, sha256: str) -> None:
    """Copy an archive between backends. Raises if it is lost."""
    keep_archive(target, ref, find_archive(source, ref, sha256))
    if target.is_own_folder:
        return
    copied = target.stores.state.read(build_archive_key(ref, sha256))
    if copied is None or hash_bytes(copied.content) != sha256:
        place = target.stores.state.place
        message = f"`{place}` returned a different archive {sha256[:12]} of `{ref.service}`"
        raise FabricError(
            Problem(
                "state/not-copied", message, hint="run the command again: the source is unchanged"
            )
        )


def drop_archives(
    record_store: RecordStore, ref: RecordRef, gone: Collection[str], kept: Collection[str]
) -> None:
    """Delete archives that the record's history no longer names. `kept` are used by other records
    here."""
    backend = record_store.stores.state
    for sha256 in sorted(gone):
        if sha256 not in kept:
            remove(build_archive_path(record_store.home, sha256))
        if not record_store.is_own_folder:
            key = build_archive_key(ref, sha256)
            stored = backend.read(key)
            if stored is not None:
                _delete_archive(record_store, key, stored.version)


def _delete_archive(record_store: RecordStore, key: str, version: Version) -> None:
    with contextlib.suppress(MovedError):
        record_store.stores.state.delete(key, version)


def _read(path: Path, sha256: str) -> bytes | None:
    try:
        content = read_bytes(path)
    except OSError:
        return None
    return content if hash_bytes(content) == sha256 else None
