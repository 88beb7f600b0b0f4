"""Stage 0: if nothing changed since a stored answer was given, give it; else step aside.

Imports built-ins only and leaves no trace. Its answer is always the one that the long way would
give: whatever it is unsure of, it leaves to the others.
"""

from __future__ import annotations

import gc
import os
import sys

from fabric import cache_seal, interrupts, manifest, ownership

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Source = tuple[str, cache_seal.CacheSeal]

_GARBAGE = 1_000_000
_HALVES = 2
_CANNOT_WRITE = 73
_KIND, _REGULAR = 0o170000, 0o100000  # of a mode: what it is a mode of
# A job's summary and the trace of a run are made anew each time: a stored answer makes none.
TOLD_ELSEWHERE = (
    "GITHUB_STEP_SUMMARY",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_TRACES_ENABLED",
)
COMMANDS = frozenset({"build", "package", "plan", "deploy", "compose"})


def main() -> None:
    """Give the stored answer and end the process, or return."""
    # A command line lives for moments: looking for cyclic garbage costs more than it frees.
    gc.set_threshold(_GARBAGE)
    try:
        code = answer(sys.argv[1:])
    except BrokenPipeError:
        os._exit(0)
    except OSError:
        os._exit(_CANNOT_WRITE)
    if code is not None:
        os._exit(code)


def answer(argv: Sequence[str]) -> int | None:
    """The exit code if the stored answer was given, else None."""
    try:
        found = find_answer(argv, os.getcwd(), os.environ)
    except OSError:
        # The working folder is gone, or a folder of inputs is.
        found = None
    if found is None:
        return None
    interrupts.hold_signals()
    code, out, err = found
    _write(2, err)
    _write(1, out)
    return code


class MovedFiles:
    """What stage 0 saw when something had moved: for the run that follows, to start from."""

    def __init__(
        self,
        source: Source,
        salt: bytes,
        halves: Sequence[manifest.Half],
        seen: Sequence[bytes],
        rest: manifest.Watch,
    ) -> None:
        self.folder, self.seal = source
        self.salt = salt
        self.paths = [path for paths, _ in halves for path in manifest.split(paths)]
        self.before = b"".join(stats for _, stats in halves)
        self.now = b"".join(seen)
        self.names, self.absent, self.places = rest


# Set when a stored answer is for this very command line, but a path of it moved.
last: MovedFiles | None = None


def find_answer(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> manifest.Answer | None:
    """The stored answer of a command that may have one."""
    global last  # noqa: PLW0603: one process, one command line, one look
    last = None
    if not argv or argv[0] not in COMMANDS or any(map(env.get, TOLD_ELSEWHERE)):
        return None
    return read_answer(argv, cwd, env)


def read_answer(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> manifest.Answer | None:
    """The answer that was kept for this command line, if all that it hangs on is as it was."""
    global last  # noqa: PLW0603: one process, one command line, one look
    last = None
    found = _read(argv, cwd, env)
    if found is None:
        return None
    source, fields = found
    _, salt, digest, names, halves, absent, places, given = fields
    if manifest.header(salt, argv, cwd, names, env) != digest:
        return None
    if _is_written(source[0]) or any(map(os.path.lexists, manifest.split(absent))):
        return None
    if manifest.inodes_of(manifest.split(places[0])) != places[1]:
        return None
    seen = _look(halves)
    if all(stats == now for (_, stats), now in zip(halves, seen, strict=True)):
        return given
    last = MovedFiles(source, salt, halves, seen, (names, absent, places))
    return None


def _read(
    argv: Sequence[str], cwd: str, env: Mapping[str, str]
) -> tuple[Source, manifest.Fields] | None:
    """Where the manifest of this command line is, and its fields; None for any that does not
    carry the seal of this user."""
    name = manifest.file_name(argv, cwd)
    for folder in answer_folders(cwd, env):
        stored = _read_own(f"{folder}/{name}")
        if stored:
            seal = cache_seal.usable_seal(env, cache_seal.project_of(folder, cwd))
            content = seal.unseal(name, stored) if seal else None
            fields = manifest.unpack(content) if content else None
            return ((folder, seal), fields) if seal and fields and fields[4] else None
    return None


def _read_own(path: str) -> bytes:
    try:
        # A named pipe in its place would be waited for, were it not for O_NONBLOCK.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        found = os.fstat(fd)
        is_file = found.st_mode & _KIND == _REGULAR
        return os.read(fd, found.st_size) if is_file and ownership.has_our_stat(found) else b""
    finally:
        os.close(fd)


def answer_folders(cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Where answers for a working folder lie: in the nearest `.fabric` upwards and nowhere else,
    and only if that is ours. With the cache of a project; a service whose cache lies above, with
    its compose file, has a folder of its own for them."""
    chosen = env.get("FABRIC_CACHE_DIR")
    if chosen:
        cache = os.path.join(cwd, chosen)
        return (f"{cache}/{manifest.FOLDER}",) if ownership.is_ours(cache) else ()
    own = ownership.nearest_own(cwd)
    if not own:
        return ()
    there = (f"{own}/cache", f"{own}/cache/{manifest.FOLDER}")
    in_cache = there[1:] if all(map(ownership.is_ours, there)) else ()
    return (*in_cache, f"{own}/{manifest.FOLDER}")


def _is_written(folder: str) -> bool:
    """Whether some run has left its marker: one that was killed has something to be swept."""
    try:
        return bool(os.listdir(f"{os.path.dirname(folder)}/{manifest.RUNNING}"))
    except OSError:
        return False


def _look(halves: Sequence[manifest.Half]) -> list[bytes]:
    """The stats of all paths as they are now."""
    if len(halves) < _HALVES:
        return [_stats(half) for half in halves]
    # Threads would take turns at the interpreter's lock around every look; a fork does not.
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            stats = _stats(halves[1])
            _write_bytes(writer, b"=" if stats == halves[1][1] else b"!" + stats)
        finally:
            os._exit(0)
    os.close(writer)
    first = _stats(halves[0])
    told = _read_all(reader)
    os.waitpid(child, 0)
    return [first, halves[1][1] if told == b"=" else told[1:]]


def _stats(half: manifest.Half) -> bytes:
    paths = manifest.split(half[0])
    try:
        return manifest.stats_of(paths)
    except OSError:
        return b"".join(map(_stat_or_nothing, paths))


def _stat_or_nothing(path: str) -> bytes:
    try:
        return manifest.stats_of([path])
    except OSError:
        return bytes(manifest.NUMBERS * 8)


def _read_all(fd: int) -> bytes:
    parts = []
    while part := os.read(fd, 1 << 20):
        parts.append(part)
    os.close(fd)
    return b"".join(parts)


def _write(number: int, text: str) -> None:
    _write_bytes(number, text.encode("utf-8", "replace"))


def _write_bytes(number: int, data: bytes) -> None:
    while data:
        data = data[os.write(number, data) :]
