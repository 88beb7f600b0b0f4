"""Read a tar.gz strictly in one pass: plain files, directories and long names, nothing else."""

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from fabric.system.source.entries import ArchiveEntry, UnpackLimits, decode_name, refuse
from fabric.system.source.inflate import decompress_gzip

# Read chunks of any size in the sizes that a format needs, with a limit.


_CHUNK = 1 << 16


class Stream:
    """A stream, read once from front to back; more than `most` bytes are rejected."""

    def __init__(self, chunks: Iterator[bytes], most: int) -> None:
        self._chunks = chunks
        self._most = most
        self._left = most
        self._waiting = b""

    def take(self, size: int) -> bytes:
        """Return exactly this number of bytes."""
        return b"".join(self._take(size))

    def pieces(self, size: int, block: int) -> Iterator[bytes]:
        """Yield this number of bytes, and skip the padding of the last block."""
        yield from self._take(size)
        self.take(-size % block)

    def expect_only_zeros(self) -> None:
        while not self._waiting.strip(b"\0") and self._fill():
            pass
        if self._waiting.strip(b"\0"):
            refuse("has data after its end")

    def _take(self, size: int) -> Iterator[bytes]:
        while size:
            if not self._waiting and not self._fill():
                refuse("ends early")
            piece, self._waiting = self._waiting[:size], self._waiting[size:]
            size -= len(piece)
            yield piece

    def _fill(self) -> bool:
        self._waiting = next((chunk for chunk in self._chunks if chunk), b"")
        self._left -= len(self._waiting)
        if self._left < 0:
            refuse(f"exceeds {self._most:,} bytes when unpacked")
        return bool(self._waiting)


_BLOCK = 512
_ZEROS = bytes(_BLOCK)
# Headers and padding count as well: a bomb may be made of them alone.
_HEADROOM = 4 * _BLOCK
_LONGEST_EXTRA = 1 << 16
_FILES = (b"0", b"\0", b"7")
_FOLDER = b"5"
_OTHERS = {
    b"1": "is a hard link",
    b"2": "is a symbolic link",
    b"3": "is a device",
    b"4": "is a device",
    b"6": "is a named pipe",
}


def read_tar_entries(file: BinaryIO, limits: UnpackLimits) -> Iterator[ArchiveEntry]:
    stream = Stream(decompress_gzip(file), limits.size + limits.entries * _HEADROOM)
    said: Mapping[str, bytes] = {}
    while (header := stream.take(_BLOCK)) != _ZEROS:
        _check_sum(header)
        kind, size = header[156:157], _number(header[124:136])
        if kind in _EXTRAS:
            said = {**said, **_EXTRAS[kind](_read_extra(stream, size))}
            continue
        name = decode_name(said.get("path") or _name(header))
        size = _number(said["size"], 10) if "size" in said else size
        is_folder = _is_folder(kind, name, size)
        content = stream.pieces(size, _BLOCK)
        yield ArchiveEntry(name, is_folder, bool(_number(header[100:108]) & 0o100), content)
        for _ in content:
            pass
        said = {}
    stream.expect_only_zeros()


def _is_folder(kind: bytes, name: str, size: int) -> bool:
    if kind not in (*_FILES, _FOLDER):
        refuse(_OTHERS.get(kind, "is neither a file nor a directory"), name)
    # Before there was a kind for folders, a slash at the end said it.
    is_folder = kind == _FOLDER or name.endswith("/")
    if is_folder and size:
        refuse("is a directory with content", name)
    return is_folder


def _name(header: bytes) -> bytes:
    name = _read_until_nul(header[:100])
    prefix = _read_until_nul(header[345:500]) if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _read_until_nul(field: bytes) -> bytes:
    text, _, rest = field.partition(b"\0")
    if rest.strip(b"\0"):
        refuse("has a NUL in its name", text.decode(errors="replace"))
    return text


def _check_sum(header: bytes) -> None:
    """Check the header sum, with its own field counted as blanks."""
    if sum(header) - sum(header[148:156]) + 8 * 0x20 != _number(header[148:156]):
        refuse("is damaged: wrong header checksum")


def _number(field: bytes, base: int = 8) -> int:
    """Parse octal digits, or the binary form of a larger number."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:])
    text = field.strip(b" \0") or b"0"
    if not text.isdigit():
        refuse("is damaged: invalid number in a header")
    try:
        return int(text, base)
    except ValueError:
        refuse("is damaged: invalid number in a header")


def _read_extra(stream: Stream, size: int) -> bytes:
    """Read an extra header of the following entry; its size is bounded."""
    if size > _LONGEST_EXTRA:
        refuse("has a name that is too long")
    return b"".join(stream.pieces(size, _BLOCK))


def _parse_long_name(text: bytes) -> dict[str, bytes]:
    return {"path": _read_until_nul(text)}


def _parse_records(text: bytes) -> dict[str, bytes]:
    r"""Parse records `<length> <key>=<value>\n`; irrelevant keys are ignored."""
    found = {}
    while text:
        digits, _, rest = text.partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) < len(b"100000") else 0
        is_whole = 0 < length <= len(text)
        record, text = rest[: length - len(digits) - 1], text[length:]
        key, equals, value = record.partition(b"=")
        if not is_whole or not equals or not value.endswith(b"\n"):
            refuse("is damaged: invalid header")
        if key.startswith(b"GNU.sparse."):
            refuse("is a sparse file")
        if key in (b"path", b"size"):
            found[key.decode()] = _read_until_nul(value[:-1])
    return found


def _parse_global_records(text: bytes) -> dict[str, bytes]:
    """Parse global records, mostly a comment. A name for all entries is rejected as malicious."""
    if _parse_records(text):
        refuse("has a global header with a name or a size")
    return {}


_EXTRAS = {b"x": _parse_records, b"g": _parse_global_records, b"L": _parse_long_name}
