"""Store the answer for an unchanged workspace with its dependencies, for stage 0.

Nothing is stored if uncertain: a file that changed during the run, or in the clock tick before,
could have an equal stat.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from fabric import manifest
from fabric.engine.memory.file_index import FileIndex, is_racy, is_settled
from fabric.engine.output_folders import list_visible_files
from fabric.engine.result import RunResult
from fabric.engine.shortcuts.stored_answer import StoredAnswer
from fabric.graph.traces import ABSENT, Trace
from fabric.model.problems import FabricError
from fabric.model.task import TaskInputs
from fabric.stage_zero import MovedFiles
from fabric.system.files.disk import make_folder, write_atomic

# Beyond this, a folder's time stands for the names that are absent in it.
_FEW = 64
_TRIES = 3


class CommandCall(Struct, frozen=True):
    """A command line and its surroundings, as stage 0 will see them again."""

    argv: tuple[str, ...]
    cwd: str
    names: frozenset[str]
    env: Mapping[str, str]


# A search (folder, pattern, rules), and the digest of the names that it found.
Search: TypeAlias = tuple[tuple[str, str, tuple[str, ...]], str]


class Basis(Struct, frozen=True):
    """The dependencies of an answer, as paths relative to the workspace or absolute.

    `sources`, existing or not, must be unchanged since the run began.
    """

    # Have the hashes of the decisions.
    contents: Mapping[str, str]
    absent: frozenset[str]
    folders: frozenset[str]
    sources: frozenset[str]
    # Input directories that must not become links.
    places: frozenset[str] = frozenset()
    # Have hashes of listings.
    searches: frozenset[Search] = frozenset()
    # Output directories that were not requested.
    away: frozenset[str] = frozenset()


class AnswerChange(Struct, frozen=True):
    """The new dependencies after a run of a few tasks, and the paths that are no longer
    dependencies."""

    basis: Basis
    dropped: frozenset[str]


def collect_basis(
    rows: Iterable[tuple[TaskInputs, Trace]],
    sources: Iterable[str],
    is_away: Callable[[TaskInputs], bool] = lambda _: False,
) -> Basis:
    """Collect all inputs of the decisions and all visible output paths."""
    contents: dict[str, str] = {}
    absent: set[str] = set()
    folders: set[str] = set()
    links: set[str] = set()
    places: set[str] = set()
    searches: set[Search] = set()
    away: set[str] = set()
    in_part: set[str] = set()
    for inputs, trace in rows:
        contents.update(trace.files)
        absent.update(trace.absent)
        folders.update(one.folder for one in trace.listings)
        searches.update(
            ((one.folder, one.pattern, one.ignore), one.digest) for one in trace.listings
        )
        links.update(path for path, _ in trace.links)
        if is_away(inputs):
            away.add(inputs.shown_in)
        else:
            contents.update(list_visible_files(inputs, trace.output))
            folders.update([inputs.shown_in] if inputs.owns_folder else [])
        places.update(path.rpartition("/")[0] for path in trace.all_files)
        # Of these the decision compared rows, not the hash of the file.
        in_part.update(one.file for one in trace.rows)
    absent.update(path for path, digest in contents.items() if digest == ABSENT)
    there = {path: digest for path, digest in contents.items() if digest != ABSENT}
    return Basis(
        contents=there,
        absent=frozenset(absent),
        folders=frozenset(folders),
        sources=frozenset({*sources, *links, *in_part}),
        places=frozenset(above for place in places for above in _list_parents(place)),
        searches=frozenset(searches),
        away=frozenset(away),
    )


def _list_parents(folder: str) -> Iterable[str]:
    """List a directory and its parents, up to the workspace or the target of `../`."""
    while folder and not folder.endswith(".."):
        yield folder
        folder = folder.rpartition("/")[0]


def list_result_traces(result: RunResult) -> list[tuple[TaskInputs, Trace]] | None:
    """List the trace behind every outcome; None if one is missing, because then nothing is
    certain."""
    rows = []
    for task, outcome in zip(result.graph.tasks, result.outcomes, strict=True):
        if outcome.output is None or outcome.trace is None:
            return None
        rows.append((task.inputs, outcome.trace))
    return rows


def store_answer(
    folder: str, asked: CommandCall, basis: Basis, files: FileIndex, answer: StoredAnswer
) -> bytes | None:
    """The salt it was stored under, or None. Never fails a run: the long way answers the same."""
    present, absent = _list_watched_paths(basis, files)
    prefix = compute_path_prefix(files, asked.cwd)
    paths = sorted(add_path_prefix(path, prefix) for path in present)
    gone = sorted(add_path_prefix(path, prefix) for path in absent)
    places = sorted(add_path_prefix(path, prefix) for path in basis.places)
    return _encode_answer(
        folder, asked, Watched(paths, b"", gone, places), basis, _Kept(files, answer)
    )


def renew_answer(
    moved_files: MovedFiles,
    asked: CommandCall,
    change: AnswerChange,
    files: FileIndex,
    answer: StoredAnswer,
) -> bytes | None:
    """Update the stored answer after a run of a few tasks. Untouched paths keep their stats."""
    present, absent = _list_watched_paths(change.basis, files)
    prefix = compute_path_prefix(files, asked.cwd)
    fresh = {add_path_prefix(path, prefix) for path in present}
    kept, known = _select_unmoved(moved_files, fresh | change.dropped)
    known_absent = manifest.split(moved_files.absent)
    still_absent = [path for path in known_absent if path not in change.dropped]
    gone = _append_new_paths(still_absent, (add_path_prefix(path, prefix) for path in absent))
    before, inodes = moved_files.places
    places = _append_new_paths(
        manifest.split(before), (add_path_prefix(path, prefix) for path in change.basis.places)
    )
    watched = Watched([*kept, *sorted(fresh)], known, gone, places, inodes)
    return _encode_answer(moved_files.folder, asked, watched, change.basis, _Kept(files, answer))


def _append_new_paths(paths: list[str], others: Iterable[str]) -> list[str]:
    """Append the other paths that are not in the list."""
    there = set(paths)
    return [*paths, *sorted({*others} - there)]


class Watched(Struct, frozen=True):
    """Paths as stage 0 names them. `known` are the stats of the first `present` paths, `inodes`
    those of the first `places`."""

    present: Sequence[str]
    known: bytes
    absent: Sequence[str]
    places: Sequence[str]
    inodes: bytes = b""


def _select_unmoved(moved_files: MovedFiles, without: set[str]) -> tuple[list[str], bytes]:
    """Return the unchanged paths with their stats, copied in long runs."""
    width = manifest.NUMBERS * 8
    holes = [number for number, path in enumerate(moved_files.paths) if path in without]
    starts = [0, *(hole + 1 for hole in holes)]
    ends = [*holes, len(moved_files.paths)]
    pieces = list(zip(starts, ends, strict=True))
    paths = [path for start, end in pieces for path in moved_files.paths[start:end]]
    return paths, b"".join(moved_files.now[start * width : end * width] for start, end in pieces)


class _Kept(Struct, frozen=True):
    """An answer, and the files of the run that gave it."""

    files: FileIndex
    answer: StoredAnswer


def _encode_answer(
    folder: str,
    asked: CommandCall,
    watched: Watched,
    basis: Basis,
    kept: _Kept,
) -> bytes | None:
    files, answer = kept.files, kept.answer
    try:
        # Stats first, contents after: what moves in between is seen by one of the two.
        halves = _read_settled_stats(watched.present, watched.known, asked.cwd, files)
        unseen = watched.places[len(watched.inodes) // manifest.INODE_BYTES :]
        inodes = watched.inodes + manifest.inodes_of(
            [_join_path(asked.cwd, path) for path in unseen]
        )
        if halves is None or not _is_unchanged(basis, files):
            return None
        head = _encode_answer_head(asked)
        given = (answer.code, answer.out, answer.err)
        places = (manifest.join_paths(watched.places), inodes)
        name = manifest.file_name(asked.argv, asked.cwd)
        content = manifest.pack(head, halves, (manifest.join_paths(watched.absent), places), given)
        make_folder(Path(folder), 0o700)
        write_atomic(f"{folder}/{name}", files.seal.seal(name, content), mode=0o600)
    except (OSError, FabricError):
        return None
    return head[0]


def _is_unchanged(basis: Basis, files: FileIndex) -> bool:
    """Whether everything is still as it was decided on, and no source moved meanwhile."""
    if any(files.read_settled_digest(path) != digest for path, digest in basis.contents.items()):
        return False
    if any(os.path.lexists(files.full(path)) for path in basis.absent | basis.away):
        return False
    if any(files.listing_now(*one) != digest for one, digest in basis.searches):
        return False
    return not any(is_racy(files.full(path), files.started_ns) for path in basis.sources)


def _list_watched_paths(basis: Basis, files: FileIndex) -> tuple[list[str], list[str]]:
    """Paths that must keep their stat, and paths that must stay away."""
    present = set(basis.contents)
    absent = set(basis.away)
    for path in basis.sources:
        (present if os.path.lexists(files.full(path)) else absent).add(path)
    present.update(path for folder in basis.folders for path in _list_subfolders(folder, files))
    inside = {path for path in basis.absent if not path.startswith(("../", "/"))}
    absent.update(basis.absent - inside)
    if len(inside) <= _FEW:
        absent.update(inside)
    else:
        present.update(_find_nearest_folder(path, files) for path in inside)
    return sorted(present), sorted(absent)


def _list_subfolders(folder: str, files: FileIndex) -> Iterable[str]:
    top = files.full(folder)
    for base, _, _ in os.walk(top):
        below = os.path.relpath(base, top)
        yield folder if below == "." else f"{folder}/{below}"


def _find_nearest_folder(path: str, files: FileIndex) -> str:
    """Find the directory in which a name would first have to appear."""
    folder = path.rpartition("/")[0]
    while folder and not os.path.isdir(files.full(folder)):  # noqa: PTH112: tens of thousands
        folder = folder.rpartition("/")[0]
    return folder or "."


def compute_path_prefix(files: FileIndex, cwd: str) -> str:
    """Return the workspace relative to the working directory, because short paths are faster to
    stat."""
    base = files.full("").rstrip("/")
    if base == cwd:
        return ""
    return f"{os.path.relpath(base, cwd)}/" if cwd.startswith(f"{base}/") else f"{base}/"


def add_path_prefix(path: str, prefix: str) -> str:
    return path if path.startswith("/") else prefix + path


def _read_settled_stats(
    paths: Sequence[str], known: bytes, cwd: str, files: FileIndex
) -> list[tuple[bytes, bytes]] | None:
    """Read stats after the clock tick of the newest change, so that they prove something.

    `known` are the already settled stats of the first paths.
    """
    count = len(known) // (manifest.NUMBERS * 8)
    rest = [_join_path(cwd, path) for path in paths[count:]]
    for _ in range(_TRIES):
        stats = manifest.stats_of(rest)
        if is_settled(manifest.changes_of(stats), files.now_ns):
            return _split(paths, known + stats)
    return None


def _split(paths: Sequence[str], stats: bytes) -> list[tuple[bytes, bytes]]:
    middle = len(paths) // 2 if len(paths) >= manifest.FORK_FROM else len(paths)
    cut = middle * manifest.NUMBERS * 8
    halves = [(paths[:middle], stats[:cut]), (paths[middle:], stats[cut:])]
    return [(manifest.join_paths(part), found) for part, found in halves if part]


def _join_path(cwd: str, path: str) -> str:
    return path if path.startswith("/") else f"{cwd}/{path}"


def _encode_answer_head(asked: CommandCall) -> tuple[bytes, bytes, Sequence[str]]:
    salt = os.urandom(16)
    names = sorted(asked.names)
    return salt, manifest.header(salt, asked.argv, asked.cwd, names, asked.env), names
