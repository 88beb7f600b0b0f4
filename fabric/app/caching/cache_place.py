"""Locate a project's cache and check that it is private and writable."""

import contextlib
import os
from pathlib import Path

from msgspec import Struct, field

from fabric.app.settings import Settings
from fabric.cache_seal import (
    KEY_CHARACTERS,
    KEY_VARIABLE,
    CacheSeal,
    is_inside,
    key_file,
    make_key_file,
    parse_seal,
    project_of,
    random_seal,
    read_stored_seal,
    usable_seal,
)
from fabric.engine.memory.memo import SealedPath
from fabric.manifest import FOLDER
from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError, Problem
from fabric.ownership import OWN, is_ours, reach
from fabric.system.files.disk import make_folder, read_bytes, write_atomic
from fabric.system.git.git_index import is_tracked

# What is swept, emptied or thrown away there must be the cache's own.
_PARTS = ("memo", "blobs", FOLDER, "running", "locks", "shared", "tools")
_KEY_ID = "key-id"
_HINT = "set FABRIC_CACHE_DIR to a directory you own, or fix the owner and mode"


class CachePlace(Struct, frozen=True):
    """The cache of a project."""

    folder: Path
    seal: CacheSeal = field(default_factory=random_seal)
    # Explains why nothing is cached; the run continues without a cache.
    problem: Problem | None = None
    # Explains why the existing entries cannot be used.
    warning: Problem | None = None

    @property
    def cache(self) -> SealedPath:
        return SealedPath(self.folder, self.seal)


def cache_folder(workspace: Path, settings: Settings) -> Path:
    chosen = settings.env.get("FABRIC_CACHE_DIR")
    return settings.cwd / chosen if chosen else workspace / ".fabric" / "cache"


def list_parent_caches(folder: Path, settings: Settings) -> list[Path]:
    """List the possible cache directories of a config, nearest first."""
    chosen = settings.env.get("FABRIC_CACHE_DIR")
    if chosen:
        return [settings.cwd / chosen]
    return [Path(one, ".fabric", "cache") for one in reach(str(folder.resolve()))]


def read_project_id(workspace: Path, settings: Settings) -> str:
    """Read the id that ties traces to a project.

    Traces can move with the project directory, but not to another depth. A file searched for up to
    the root could then be in a directory that did not exist before.
    """
    if not settings.env.get("FABRIC_CACHE_DIR"):
        return f"here-{len(workspace.resolve().parts)}"
    return hash_fields((str(workspace.resolve()),))[:12]


def cache_to_write(workspace: Path, settings: Settings) -> CachePlace:
    """Open the cache of a run, with its seal key. Creates the cache if it does not exist."""
    folder = cache_folder(workspace, settings)
    try:
        for one in (*_list_own_parents(workspace, folder), folder, folder / FOLDER):
            make_folder(one, 0o700)
    except FabricError as error:
        return CachePlace(folder, problem=_no_cache_problem(error.first.message))
    if problem := _missing_key_problem(folder, settings):
        return CachePlace(folder, problem=problem)
    place = inspect_cache(folder, settings, to_write=True)
    if place.problem is None:
        with contextlib.suppress(FabricError):
            write_key_id(folder, place.seal)
    return place


def cache_to_read(workspace: Path, settings: Settings) -> CachePlace:
    """Open the cache for reading. A missing cache counts as empty."""
    folder = cache_folder(workspace, settings)
    return inspect_cache(folder, settings) if folder.exists() else CachePlace(folder)


def open_usable_cache(folder: Path, settings: Settings) -> SealedPath | None:
    """Open a cache whose sealed contents are trusted. Returns None if it cannot be used."""
    place = inspect_cache(folder, settings) if folder.is_dir() else None
    return place.cache if place and place.problem is None else None


def inspect_cache(folder: Path, settings: Settings, *, to_write: bool = False) -> CachePlace:
    """Check that an existing cache belongs to the current user only."""
    parents = [folder.parent] if folder.parent.name == OWN else []
    if not all(is_ours(str(one)) for one in (folder, *parents)):
        why = f"`{folder}` is owned or writable by another user"
        return CachePlace(folder, problem=_no_cache_problem(why, "cache/not-ours"))
    if any(one.is_symlink() for one in (*parents, *(folder / name for name in _PARTS))):
        why = f"`{folder}` contains symbolic links"
        return CachePlace(folder, problem=_no_cache_problem(why, "cache/not-ours"))
    if is_tracked(folder):
        return CachePlace(folder, problem=_cache_in_git_problem(folder))
    if to_write and not os.access(folder, os.W_OK | os.X_OK):
        return CachePlace(folder, problem=_no_cache_problem(f"cannot write `{folder}`"))
    seal = _open_seal(folder, settings) or random_seal()
    return CachePlace(folder, seal, warning=_other_key_problem(folder, seal))


def read_user_seal(settings: Settings) -> CacheSeal:
    """Read the user's seal for files outside a cache directory.

    Without a key file, the seal is valid for this process only.
    """
    seal = _open_seal(Path("/"), settings)
    path = key_file(settings.env)
    if seal is None and path:
        with contextlib.suppress(OSError):
            make_key_file(path)
            seal = read_stored_seal(path)
    return seal or random_seal()


def write_key_id(folder: Path, seal: CacheSeal) -> None:
    """Write the id of the seal key beside the cache, to distinguish a key change from damage."""
    if _read_key_id(folder) != seal.id:
        write_atomic(folder / _KEY_ID, seal.id.encode(), mode=0o600)


def _open_seal(folder: Path, settings: Settings) -> CacheSeal | None:
    """Open the seal. Raises if FABRIC_CACHE_KEY is set and cannot be used."""
    given = settings.own(KEY_VARIABLE).reveal()
    if not given:
        return usable_seal(settings.env, project_of(str(folder), str(settings.cwd)))
    seal = parse_seal(given)
    if seal is None:
        raise FabricError(_SHORT_KEY)
    return seal


def _missing_key_problem(folder: Path, settings: Settings) -> Problem | None:
    """Explain why there is no seal key, after trying to create one."""
    if _open_seal(folder, settings):
        return None
    path = key_file(settings.env)
    if not path:
        return _no_key_problem("HOME is not set")
    if is_inside(path, project_of(str(folder), str(settings.cwd))):
        return _no_key_problem(f"`{path}` is inside the project")
    try:
        make_key_file(path)
    except OSError as error:
        return _no_key_problem(f"cannot write `{path}`: {(error.strerror or str(error)).lower()}")
    if read_stored_seal(path):
        return None
    return _no_key_problem(f"`{path}` must be a file of 32 bytes that only its owner can read")


def _other_key_problem(folder: Path, seal: CacheSeal) -> Problem | None:
    if not (folder / "memo" / "cache.db").exists() or _read_key_id(folder) == seal.id:
        return None
    return Problem(
        "cache/other-key",
        f"ignoring the cached results in `{folder}`: they were stored with a different key",
        hint=f"set {KEY_VARIABLE} to the same value on all machines to reuse a restored cache",
    )


def _read_key_id(folder: Path) -> str:
    try:
        return read_bytes(folder / _KEY_ID).decode("ascii", "replace")
    except OSError:
        return ""


def _cache_in_git_problem(folder: Path) -> Problem:
    return Problem(
        "cache/tracked",
        f"ignoring the cache `{folder}`: git tracks files in it",
        hint="run: git rm -r --cached .fabric, then add `.fabric/` to .gitignore",
    )


def _no_key_problem(why: str) -> Problem:
    return Problem(
        "cache/no-key",
        f"running without a cache, because it has no key: {why}",
        hint=f"set {KEY_VARIABLE} to a random key; generate one with: openssl rand -hex 32",
    )


_SHORT_KEY = Problem(
    "usage/bad-value",
    f"{KEY_VARIABLE} is too short: at least {KEY_CHARACTERS} characters are required",
    hint="generate a key with: openssl rand -hex 32",
)


def _list_own_parents(workspace: Path, folder: Path) -> tuple[Path, ...]:
    own = workspace / ".fabric"
    return (own,) if own in folder.parents else ()


def _no_cache_problem(why: str, code: str = "cache/not-writable") -> Problem:
    return Problem(code, f"running without a cache: {why}", hint=_HINT)
