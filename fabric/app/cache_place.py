"""Where the cache of a project lies, and whether it can be used: by us alone, and to write."""

import os
from pathlib import Path

from msgspec import Struct

from fabric.app.settings import Settings
from fabric.manifest import FOLDER
from fabric.model.hashing import digest_fields
from fabric.model.problems import FabricError, Problem
from fabric.ownership import is_ours, reach
from fabric.system.disk import make_folder

# What is swept, emptied or thrown away there must be the cache's own.
_PARTS = ("memo", "blobs", FOLDER, "running", "locks", "shared")
_HINT = "set FABRIC_CACHE_DIR to a folder of yours, or mend its owner and mode"


class CachePlace(Struct, frozen=True):
    """`problem` says why nothing is remembered there: a run does without."""

    folder: Path
    problem: Problem | None = None


def cache_folder(workspace: Path, settings: Settings) -> Path:
    chosen = settings.env.get("FABRIC_CACHE_DIR")
    return settings.cwd / chosen if chosen else workspace / ".fabric" / "cache"


def caches_above(folder: Path, settings: Settings) -> list[Path]:
    """Where the cache of a config in a folder may lie, nearest first."""
    chosen = settings.env.get("FABRIC_CACHE_DIR")
    if chosen:
        return [settings.cwd / chosen]
    return [Path(one, ".fabric", "cache") for one in reach(str(folder.resolve()))]


def project_id(workspace: Path, settings: Settings) -> str:
    """Traces belong to a project. In the project's own folder they may move with it, but to no
    other depth: what was searched for up to the top may now lie in a folder that was not there."""
    if not settings.env.get("FABRIC_CACHE_DIR"):
        return f"here-{len(workspace.resolve().parts)}"
    return digest_fields((str(workspace.resolve()),))[:12]


def cache_to_write(workspace: Path, settings: Settings) -> CachePlace:
    """The cache of a run, made if it is not there yet."""
    folder = cache_folder(workspace, settings)
    try:
        for one in (*_own_parents(workspace, folder), folder, folder / FOLDER):
            make_folder(one, 0o700)
    except FabricError as error:
        return CachePlace(folder, _without(error.first.message))
    return looked_at(folder, to_write=True)


def cache_to_read(workspace: Path, settings: Settings) -> CachePlace:
    """The cache for a look; one that is not there is as good as an empty one."""
    folder = cache_folder(workspace, settings)
    return looked_at(folder) if folder.exists() else CachePlace(folder)


def is_usable(folder: Path) -> bool:
    """Whether what lies in a cache may be believed."""
    return looked_at(folder).problem is None


def looked_at(folder: Path, *, to_write: bool = False) -> CachePlace:
    """Whether a cache that is there is ours alone, and all its own."""
    parents = [folder.parent] if folder.parent.name == ".fabric" else []
    if not all(is_ours(str(one)) for one in (folder, *parents)):
        why = f"`{folder}` belongs to somebody else, or others may write it"
        return CachePlace(folder, _without(why, "cache/not-ours"))
    if any((folder / name).is_symlink() for name in _PARTS):
        why = f"there are symbolic links in `{folder}`"
        return CachePlace(folder, _without(why, "cache/not-ours"))
    if to_write and not os.access(folder, os.W_OK | os.X_OK):
        return CachePlace(folder, _without(f"cannot write `{folder}`"))
    return CachePlace(folder)


def _own_parents(workspace: Path, folder: Path) -> tuple[Path, ...]:
    own = workspace / ".fabric"
    return (own,) if own in folder.parents else ()


def _without(why: str, code: str = "cache/not-writable") -> Problem:
    return Problem(code, f"{why}: this run goes on without a cache", hint=_HINT)
