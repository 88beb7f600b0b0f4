"""The files that a command reads: all of a service, or the matches of patterns."""

import os
from collections.abc import Iterator, Sequence

from fabric.model.hashing import hash_bytes
from fabric.model.task import EXECUTABLE, UNREADABLE, Pairs
from fabric.runtimes.contract import InputTrace, Listing
from fabric.runtimes.globs import LINKS_FOLLOWED, NOTHING_PRUNED, list_files
from fabric.runtimes.nodejs.toolchain import LOCK_FILES, is_within_workspace, list_upwards
from fabric.runtimes.nodejs.tsconfig import list_ancestors
from fabric.runtimes.recorded_inputs import Probe, merge, place, record_tried
from fabric.system.files.disk import is_executable, read_bytes

_UP = "../"
_WILD = frozenset("*?[")
# Where tools that run in a build keep what they can make again.
_TOOL_CACHES = (".cache/", ".vite/")


def record_service(workspace: str, root: str, rules: tuple[str, ...]) -> InputTrace:
    """Record all files of the service, including linked directories, and the markers of installed
    packages."""
    service = record_below(workspace, root, "**", (LINKS_FOLLOWED, *rules))
    unlocked = (
        record_below(workspace, folder, "**", (NOTHING_PRUNED, LINKS_FOLLOWED, *_TOOL_CACHES))
        for folder in _list_unlocked_folders(workspace, root)
    )
    return merge(record_locks(workspace, root), service, *unlocked)


def record_locks(workspace: str, root: str) -> InputTrace:
    """Record the lock files, which stand for installed packages."""
    probe = Probe(workspace)
    return record_tried(workspace, list_upwards(workspace, root, LOCK_FILES, probe), probe)


def _list_unlocked_folders(workspace: str, root: str) -> Iterator[str]:
    """Yield package directories without a lock file, whether they exist or not."""
    for folder in list_ancestors(root):
        inside = is_within_workspace(workspace, folder)
        covers = [
            one
            for one in list_ancestors(folder)
            if not inside or is_within_workspace(workspace, one)
        ]
        modules = os.path.join(folder, "node_modules")
        is_locked = any(os.path.isfile(f"{one}/{name}") for one in covers for name in LOCK_FILES)
        if not is_locked and (inside or os.path.isdir(modules)):
            yield modules


def record_below(workspace: str, folder: str, pattern: str, rules: tuple[str, ...]) -> InputTrace:
    names = list_files(folder, pattern, rules)
    listing = Listing(place(workspace, folder), pattern, names, rules)
    paths = [os.path.join(folder, name.rstrip("/")) for name in names]
    return merge(record_tried(workspace, paths), InputTrace(listings=(listing,)))


def hash_files(workspace: str, paths: tuple[str, ...]) -> Pairs:
    """Hash files like the file index does."""
    return tuple((path, _hash_file(os.path.join(workspace, path))) for path in paths)


def _hash_file(path: str) -> str:
    try:
        return hash_bytes(read_bytes(path)) + (EXECUTABLE if is_executable(path) else "")
    except OSError:
        return UNREADABLE


def record_patterns(
    base: str, root: str, patterns: Sequence[str], ignore: tuple[str, ...]
) -> InputTrace:
    """Record the matches of patterns. A pattern with `!` excludes."""
    excluded = [os.path.normpath(one[1:]) for one in patterns if one.startswith("!")]
    named = [os.path.normpath(one) for one in patterns if not one.startswith("!")]
    return merge(*(_record_pattern(base, root, one, excluded, ignore) for one in named))


def list_named_files(root: str, command: Sequence[str]) -> Iterator[str]:
    """List the files of the service that a word of the command names, such as its script."""
    for word in command:
        path = os.path.normpath(word)
        is_plain = "\0" not in word and not os.path.isabs(word) and not _WILD.intersection(word)
        if is_plain and not path.startswith(_UP) and os.path.isfile(os.path.join(root, path)):
            yield path


def place_pattern(base: str, root: str, pattern: str) -> tuple[str, str]:
    """Return the directory that a pattern searches, as a workspace path, and the rest of it."""
    folder, _, rest = _split_pattern(root, os.path.normpath(pattern))
    return place(base, folder), rest


def _record_pattern(
    base: str, folder: str, pattern: str, excluded: Sequence[str], ignore: tuple[str, ...]
) -> InputTrace:
    """Record the matches of a pattern, which can be outside the service directory.

    Rules are relative to the directory that is searched.
    """
    folder, up, inner = _split_pattern(folder, pattern)
    rest = [one.removeprefix(up) for one in excluded if one.startswith(up)]
    rules = (f"/{one}" for one in rest if not one.startswith(_UP))
    marked = (LINKS_FOLLOWED, *rules, *(() if up else ignore))
    return record_below(base, folder, inner, marked)


def _split_pattern(folder: str, pattern: str) -> tuple[str, str, str]:
    """Split a pattern into the directory that is searched, the way up to it, and the rest."""
    up = ""
    while pattern.startswith(up + _UP):
        folder, up = os.path.dirname(folder), up + _UP
    return folder, up, pattern.removeprefix(up)
