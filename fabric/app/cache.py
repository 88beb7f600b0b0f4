"""The cache as users keep house with it: how big, whether it is sound, what may go."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fabric.app.room import cache_folder
from fabric.app.settings import Settings
from fabric.app.workspace import workspace_of
from fabric.engine.blobs import Blobs
from fabric.engine.memo import Memo
from fabric.model.hashing import digest_bytes
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.system.clock import SystemClock
from fabric.system.disk import read_bytes
from fabric.views.words import plural, size

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class Blob:
    path: Path
    size: int
    used: float


def stats(settings: Settings) -> Report:
    folder = _folder(settings)
    blobs = list(_blobs(folder))
    records = _records(folder)
    total = sum(one.size for one in blobs)
    result = {"folder": str(folder), "records": records, "blobs": len(blobs), "bytes": total}
    text = f"{folder}\n{plural(records, 'record')}, {plural(len(blobs), 'blob')}, {size(total)}"
    return Report("cache stats", result, text=text)


def verify(settings: Settings) -> Report:
    """Read every blob; what is not what its name says goes away and will be made again."""
    folder = _folder(settings)
    blobs = list(_blobs(folder))
    bad = [one for one in blobs if not _sound(one)]
    for one in bad:
        one.path.unlink(missing_ok=True)
    result = {"folder": str(folder), "checked": len(blobs), "removed": len(bad)}
    text = f"{plural(len(blobs), 'blob')} checked, {len(bad)} damaged and removed."
    return Report("cache verify", result, text=text)


def prune(settings: Settings, max_size: str, max_age: str) -> Report:
    """Drop the blobs unused for longest until the rest is within the limits."""
    folder = _folder(settings)
    blobs = sorted(_blobs(folder), key=lambda one: one.used, reverse=True)
    limit = parse_size(max_size)
    oldest = SystemClock().now().timestamp() - parse_age(max_age) if max_age else 0.0
    removed = freed = kept = 0
    for one in blobs:
        if one.used >= oldest and kept + one.size <= limit:
            kept += one.size
            continue
        one.path.unlink(missing_ok=True)
        removed, freed = removed + 1, freed + one.size
    result = {"folder": str(folder), "removed": removed, "freedBytes": freed, "keptBytes": kept}
    text = f"{plural(removed, 'blob')} removed, {size(freed)} freed, {size(kept)} kept."
    return Report("cache prune", result, text=text)


def parse_size(text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*([KMG]?)I?B?", text.strip().upper())
    if not found:
        raise _bad(f"--max-size {text} is no size", "a number with K, M or G, such as 500M")
    return int(found[1]) * _UNITS[found[2]]


def parse_age(text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*([smhd])", text.strip().lower())
    if not found:
        raise _bad(f"--max-age {text} is no time span", "a number with s, m, h or d, such as 30d")
    return int(found[1]) * _SPANS[found[2]]


def _bad(message: str, hint: str) -> FabricError:
    return FabricError(Problem("usage/bad-value", message, hint=hint))


def _folder(settings: Settings) -> Path:
    return cache_folder(workspace_of(settings.cwd), settings)


def _blobs(folder: Path) -> Iterator[Blob]:
    for path, found in Blobs(folder / "blobs").all():
        yield Blob(path, found.st_size, max(found.st_atime, found.st_mtime))


def _sound(one: Blob) -> bool:
    try:
        return digest_bytes(read_bytes(one.path)) == one.path.name
    except OSError:
        return False


def _records(folder: Path) -> int:
    if not (folder / "memo").is_dir():
        return 0
    memo = Memo(folder / "memo")
    try:
        return len(memo)
    finally:
        memo.close()
