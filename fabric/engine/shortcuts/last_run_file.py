"""The last run on disk: a large file with a piece per task, and a small file of later changes.

Both belong to one stored answer and carry the same salt. Deletable.
"""

import marshal
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from fabric import manifest
from fabric.cache_seal import CacheSeal
from fabric.engine.memory.pieces import SUFFIX, open_pieces, write_pieces
from fabric.engine.shortcuts.last_run import FinishedRun, LastRun, Owners, group_of
from fabric.engine.shortcuts.packing import pack_info, unpack_info
from fabric.model.problems import FabricError
from fabric.model.project_info import ProjectInfo
from fabric.system.files.disk import read_bytes, write_atomic

_SUFFIX = ".warm"
_FIELDS = 9
# So many paths share a piece: few enough to be read for one of them.
_PATHS_A_PIECE = 16
# Changes of this many bytes are worth writing the large file anew.
_MANY_BYTES = 1 << 19


class LastRunFiles(Struct, frozen=True):
    """The path of a command line's last run, and its required seal."""

    folder: str
    argv: Sequence[str]
    cwd: str
    seal: CacheSeal

    @property
    def name(self) -> str:
        return f"{manifest.file_name(self.argv, self.cwd)}{_SUFFIX}"

    @property
    def head(self) -> str:
        return f"{self.folder}/{self.name}"

    @property
    def pieces(self) -> str:
        return f"{self.head.removesuffix(_SUFFIX)}{SUFFIX}"


def load_last_run(files: LastRunFiles, salt: bytes) -> LastRun | None:
    """Load the last run of a stored answer, or None."""
    try:
        content = files.seal.unseal(files.name, read_bytes(files.head))
        found = marshal.loads(content) if content else None  # noqa: S302: sealed by us
        stats = manifest.stats_of([files.pieces])
    except (OSError, ValueError, EOFError, TypeError):
        return None
    if not isinstance(found, tuple) or len(found) != _FIELDS or found[0] != manifest.FORMAT:
        return None
    _, own, info, count, groups, base, as_written, records, owners = found
    if own != salt or as_written != stats:
        return None
    pieces = open_pieces(files.pieces, files.seal)
    if pieces is None or pieces.salt != base or len(pieces) != count + groups:
        return None
    return LastRun(
        salt=own,
        info=unpack_info(info),
        count=count,
        pieces=pieces,
        stats=stats,
        records=records,
        owners=owners,
    )


def save_last_run(files: LastRunFiles, run: FinishedRun) -> None:
    """Save the large file first, because the small file refers to it."""
    groups = _group_owners(run.owners)
    parts = (*run.records, *map(marshal.dumps, groups))
    try:
        write_pieces(files.pieces, files.seal, run.salt, parts)
        stats = manifest.stats_of([files.pieces])
    except (OSError, FabricError):
        return
    counts = (len(run.records), len(groups))
    _write_head(files, (run.salt, run.info, counts, run.salt, stats, {}, {}))


def save_renewed_run(files: LastRunFiles, last: LastRun) -> None:
    """Save changes in the small file, or both files if it has become large."""
    if sum(map(len, last.records.values())) > _MANY_BYTES:
        try:
            run = _unpack_run(last)
        except FabricError:
            return
        save_last_run(files, run)
        return
    counts = (last.count, len(last.pieces) - last.count)
    changed = (last.pieces.salt, last.stats, dict(last.records), dict(last.owners))
    _write_head(files, (last.salt, last.info, counts, *changed))


_Head = tuple[
    bytes, ProjectInfo, tuple[int, int], bytes, bytes, Mapping[int, bytes], Mapping[str, Any]
]


def _write_head(files: LastRunFiles, head: _Head) -> None:
    salt, info, counts, base, stats, records, owners = head
    packed: Any = (
        manifest.FORMAT, salt, pack_info(info), *counts, base, stats, records, owners,
    )  # fmt: skip
    content = files.seal.seal(files.name, marshal.dumps(packed))
    try:
        write_atomic(files.head, content, mode=0o600)
    except FabricError:
        return


def _unpack_run(last: LastRun) -> FinishedRun:
    owners: dict[str, tuple[int, ...]] = {}
    for number in range(len(last.pieces) - last.count):
        owners.update(last.group(number))
    owners.update(last.owners)
    records = tuple(last.read_packed(number) for number in range(last.count))
    held = {path: numbers for path, numbers in owners.items() if numbers}
    return FinishedRun(last.salt, last.info, records, held)


def _group_owners(owners: Owners) -> list[dict[str, tuple[int, ...]]]:
    """Paths by a number that is made from their names: where to look for one of them."""
    count = len(owners) // _PATHS_A_PIECE + 1
    groups: list[dict[str, tuple[int, ...]]] = [{} for _ in range(count)]
    for path, numbers in owners.items():
        groups[group_of(path, count)][path] = numbers
    return groups
