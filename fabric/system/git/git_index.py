"""Check whether git tracks files of a directory, from its index, without running git."""

import functools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from struct import Struct as Layout
from typing import TypeAlias

from fabric.system.files.disk import read_bytes

_HEADER = Layout(">4sII")
# Of an entry: its times, numbers, mode and sizes, its hash, then flags; names follow.
_FIXED = 60
_FLAGS = Layout(">H")
_EXTENDED, _NAME_LENGTH, _LONG_NAME = 0x4000, 0x0FFF, 0x0FFF
_PADDING = 8
_PREFIXED = 4  # from this version on a name says how much of the last one it keeps
_SHA256_EXTRA = 12
_OBJECT_FORMAT = re.compile(rb"^\s*objectformat\s*=\s*\"?sha256", re.IGNORECASE | re.MULTILINE)
_GIT_DIR = b"gitdir: "


def is_tracked(folder: Path) -> bool:
    """Return whether the index of the surrounding repository names a file below a directory."""
    try:
        found = _find_repository(folder)
        if found is None:
            return False
        top, git_dir = found
        below = f"{os.path.relpath(os.path.realpath(folder), os.path.realpath(top))}/".encode()
        indexes = [git_dir / "index", *sorted(git_dir.glob("sharedindex.*"))]
        return any(_has_tracked_name(one, _stamp(one), below) for one in indexes if one.is_file())
    except OSError:
        return False


def _find_repository(folder: Path) -> tuple[Path, Path] | None:
    """Return the working tree of a directory, and the path of its index."""
    for above in folder.parents:
        own = above / ".git"
        if own.is_dir():
            return above, own
        if own.is_file():
            content = read_bytes(own)
            if content.startswith(_GIT_DIR):
                path = os.fsdecode(content[len(_GIT_DIR) :].strip())
                return above, above / path
    return None


_Stamp: TypeAlias = tuple[int, int]


def _stamp(path: Path) -> _Stamp:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


@functools.lru_cache(maxsize=16)
def _has_tracked_name(index: Path, stamp: _Stamp, below: bytes) -> bool:
    """Return the cached answer for the same index; `stamp` identifies its version."""
    del stamp
    content = read_bytes(index)
    if len(content) < _HEADER.size:
        return False
    magic, version, count = _HEADER.unpack_from(content)
    if magic != b"DIRC":
        return False
    if version < _PREFIXED and below not in content:
        return False  # names are whole there, and a search is a thousand times as fast
    fixed = _FIXED + (_SHA256_EXTRA if _is_sha256(index) else 0)
    return any(name.startswith(below) for name in _list_index_names(content, version, count, fixed))


def _is_sha256(index: Path) -> bool:
    try:
        return _OBJECT_FORMAT.search(read_bytes(index.parent / "config")) is not None
    except OSError:
        return False


def _list_index_names(content: bytes, version: int, count: int, fixed: int) -> Iterator[bytes]:
    """Yield the names of an index, up to the first unknown format element."""
    at, name = _HEADER.size, b""
    for _ in range(count):
        start = at
        at += fixed
        if at + _FLAGS.size > len(content):
            return
        (flags,) = _FLAGS.unpack_from(content, at)
        at += _FLAGS.size * (2 if flags & _EXTENDED else 1)
        if version >= _PREFIXED:
            dropped, at = _decode_varint(content, at)
            name = name[: len(name) - dropped]
        else:
            name = b""
        end = content.find(b"\0", at)
        if end < 0:
            return
        name += content[at:end]
        at = end + 1 if version >= _PREFIXED else _compute_padded_end(start, end)
        yield name


def _compute_padded_end(start: int, end: int) -> int:
    """Compute the end of an entry: one to eight NULs fill it to a multiple of eight bytes."""
    return start + ((end - start) // _PADDING + 1) * _PADDING


def _decode_varint(content: bytes, at: int) -> tuple[int, int]:
    """Decode a number in git's offset format: seven bits per byte, and each further byte counts
    from one."""
    value = content[at] & 0x7F
    while content[at] & 0x80 and at + 1 < len(content):
        at += 1
        value = ((value + 1) << 7) | (content[at] & 0x7F)
    return value, at + 1
