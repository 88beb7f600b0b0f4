"""The packed file that lets stage 0 tell that nothing changed. Built-ins only: read in a blink.

A manifest says: under this header (version, arguments, folder, environment) and while these paths
have these stats, the answer is this text with this exit code.
"""

from __future__ import annotations

import os
import sys
from _operator import attrgetter  # the built-in one: `operator` is a file to read
from itertools import chain
from marshal import dumps, loads
from struct import pack as pack_numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Half = tuple[bytes, bytes]
    Answer = tuple[int, str, str]
    # The salt, the header digest and the names of variables.
    Head = tuple[bytes, bytes, Sequence[str]]
    # Paths that must stay away, and folders of inputs with their inodes.
    Rest = tuple[bytes, Half]
    # The same, after the names of variables.
    Watch = tuple[Sequence[str], bytes, Half]
    # The format, the salt, the header digest, names of variables, paths that must keep their
    # stats, paths that must stay away, folders of inputs, and the answer.
    Fields = tuple[int, bytes, bytes, tuple[str, ...], tuple[Half, ...], bytes, Half, Answer]

VERSION = "0.1.0"
FORMAT = 16
FOLDER = "answers"
# Beside it: the markers of runs that write.
RUNNING = "running"
NUMBERS = 4  # a stat is (mtime_ns, ctime_ns, size, inode)
INODE_BYTES = 8

# From here on two processes look at half of the paths each.
FORK_FROM = 10_000

_WATCHED = frozenset(
    ("TERM", "NO_COLOR", "FORCE_COLOR", "CI", "GITHUB_ACTIONS", "XDG_CACHE_HOME", "HOME", "PATH")
)
_STAT = attrgetter("st_mtime_ns", "st_ctime_ns", "st_size", "st_ino")
_INODE = attrgetter("st_ino")
_FIELDS = 8


def sha256(data: bytes) -> bytes:
    # The built-in module: hashlib would load OpenSSL, which costs a third of a bare start.
    try:
        from _sha256 import sha256 as make  # type: ignore[import-not-found]
    except ImportError:
        from hashlib import sha256 as make
    return bytes(make(data).digest())


def file_name(argv: Sequence[str], cwd: str) -> str:
    """Return the file name for a command line in a folder. The header distinguishes equal names."""
    number = 0xCBF29CE484222325
    for byte in "\0".join((*argv, cwd)).encode("utf-8", "surrogateescape"):
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{number:016x}.bin"


def header(
    salt: bytes, argv: Sequence[str], cwd: str, names: Iterable[str], env: Mapping[str, str]
) -> bytes:
    """A digest of all that may change the answer or how it is shown, besides the paths.

    Salted, because values of variables are in it and some of them are secrets.
    """
    chosen = {*_WATCHED, *names, *(name for name in env if name.startswith("FABRIC_"))}
    values = [f"{name}={env[name]}" if name in env else name for name in sorted(chosen)]
    terminals = [str(os.isatty(number)) for number in (1, 2)]
    fields = [str(FORMAT), VERSION, sys.version, sys.prefix, cwd, *terminals, *argv, "", *values]
    raw = [field.encode("utf-8", "surrogateescape") for field in fields]
    return sha256(salt + b"".join(b"%d:" % len(field) + field for field in raw))


def stats_of(paths: Sequence[str]) -> bytes:
    """Return the stats of paths as one run of int64. Raises an OSError if one is missing."""
    return _pack(chain.from_iterable(map(_STAT, map(os.stat, paths))))


def changes_of(stats: bytes) -> Sequence[int]:
    """When stats last changed, in nanoseconds; a time of modification may be any."""
    return memoryview(stats).cast("q")[1::NUMBERS].tolist()


def inodes_of(paths: Sequence[str]) -> bytes:
    """Return the inodes at paths, without following links. Raises an OSError if one is missing."""
    return _pack(map(_INODE, map(os.lstat, paths)))


def _pack(numbers: Iterable[int]) -> bytes:
    # Not by `array`: that brings all of `collections` with it, and takes longer.
    every = tuple(numbers)
    return pack_numbers(f"{len(every)}q", *every)


def list_changed(paths: Sequence[str], before: bytes, now: bytes) -> list[str]:
    """The paths whose stats differ."""
    return [paths[number] for number in _differing(before, now, 0, len(paths))]


def _differing(before: bytes, now: bytes, first: int, end: int) -> list[int]:
    """Positions at which two runs of stats differ, by halves: most of a large run is equal."""
    width = NUMBERS * 8
    if before[first * width : end * width] == now[first * width : end * width]:
        return []
    if end - first == 1:
        return [first]
    middle = (first + end) // 2
    return _differing(before, now, first, middle) + _differing(before, now, middle, end)


def pack(
    head: Head,
    halves: Sequence[Half],
    rest: Rest,
    answer: Answer,
) -> bytes:
    """`head` is (salt, header digest, variable names); `halves` are (paths joined by NUL, stats);
    `rest` are the paths, joined likewise, that must stay away, and the folders of inputs with
    their inodes: a folder that became a link shows in no stat of what is in it."""
    salt, digest, names = head
    absent, places = rest
    return dumps((FORMAT, salt, digest, tuple(names), tuple(halves), absent, places, answer))


def unpack(content: bytes) -> Fields | None:
    """The fields of a manifest, or None for anything else. Marshal is safe on what was sealed
    with the key of this user, and on nothing else."""
    try:
        found = loads(content)
    except (ValueError, EOFError, TypeError):
        return None
    fits = isinstance(found, tuple) and len(found) == _FIELDS and found[0] == FORMAT
    return found if fits else None


def join_paths(paths: Iterable[str]) -> bytes:
    return "\0".join(paths).encode("utf-8", "surrogateescape")


def split(paths: bytes) -> list[str]:
    return paths.decode("utf-8", "surrogateescape").split("\0") if paths else []
