"""Read a zip file strictly: one complete central directory at the end, and entries without overlap.

Zip readers differ for unusual files; such files are rejected.
"""

import stat
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from msgspec import Struct

from fabric.system.source.entries import ArchiveEntry, UnpackLimits, decode_name, refuse
from fabric.system.source.inflate import decompress_zip_entry

_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_LONGEST_COMMENT = 0xFFFF
_IN_ZIP64 = 0xFFFF_FFFF
# Encrypted, patched, strongly encrypted, masked.
_ODD_FLAGS = 0x1 | 0x20 | 0x40 | 0x2000
_STORED, _DEFLATED = 0, 8
_UNIX_MAKERS = (3, 19)
_CHUNK = 1 << 16


class _Row(Struct, frozen=True):
    """One row of the central directory."""

    name: bytes
    method: int
    crc: int
    packed: int
    size: int
    mode: int
    start: int

    @property
    def text(self) -> str:
        return decode_name(self.name)


def zip_entries(file: BinaryIO, limits: UnpackLimits) -> Iterator[ArchiveEntry]:
    rows = _read_rows(file, limits)
    for row in rows:
        is_folder = row.text.endswith("/")
        _check_kind(row, is_folder=is_folder)
        yield ArchiveEntry(row.text, is_folder, bool(row.mode & 0o100), _read_content(file, row))


def _read_rows(file: BinaryIO, limits: UnpackLimits) -> list[_Row]:
    start, size, count = _find_directory(file)
    if count > limits.entries:
        refuse(f"has more than {limits.entries:,} entries")
    file.seek(start)
    directory = file.read(size)
    rows, at = [], 0
    for _ in range(count):
        row, at = _parse_row(directory, at)
        rows.append(row)
    if at != size:
        refuse("has a directory that does not match its end record")
    _refuse_overlap(file, rows, start)
    return rows


def _find_directory(file: BinaryIO) -> tuple[int, int, int]:
    """Return offset, size and row count of the central directory, from the end of the file."""
    length = file.seek(0, 2)
    tail_at = max(0, length - _END.size - _LONGEST_COMMENT)
    file.seek(tail_at)
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        refuse("ends early")
    _, disk, first, here, count, size, start, comment = _END.unpack_from(tail, at)
    if at + _END.size + comment != len(tail):
        refuse("has data after its end")
    if start == _IN_ZIP64 or tail[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
        refuse("is a zip64 file")
    if disk or first or here != count or start + size != tail_at + at:
        refuse("has a directory that does not match its end record")
    return start, size, count


def _parse_row(directory: bytes, at: int) -> tuple[_Row, int]:
    if directory[at : at + 4] != b"PK\x01\x02" or len(directory) - at < _CENTRAL.size:
        refuse("has a damaged directory")
    (_, made, _, flags, method, _, _, crc, packed, size, name_length, extra, comment, disk, _) = (
        _CENTRAL.unpack_from(directory, at)[:15]
    )
    attributes, start = _CENTRAL.unpack_from(directory, at)[15:]
    begin = at + _CENTRAL.size
    name = directory[begin : begin + name_length]
    if flags & _ODD_FLAGS:
        refuse("is encrypted", decode_name(name))
    if disk or _IN_ZIP64 in (packed, size, start):
        refuse("is a zip64 entry", decode_name(name))
    mode = attributes >> 16 if made >> 8 in _UNIX_MAKERS else 0
    row = _Row(name=name, method=method, crc=crc, packed=packed, size=size, mode=mode, start=start)
    return row, begin + name_length + extra + comment


def _refuse_overlap(file: BinaryIO, rows: list[_Row], end: int) -> None:
    """Raise for entries that share bytes: a small archive could unpack to a huge one."""
    for row in sorted(rows, key=lambda one: one.start, reverse=True):
        if _find_data(file, row) + row.packed > end:
            refuse("shares bytes with another entry", row.text)
        end = row.start


def _find_data(file: BinaryIO, row: _Row) -> int:
    """Return the offset of an entry's bytes, if its own header matches the directory."""
    file.seek(row.start)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size or header[:4] != b"PK\x03\x04":
        refuse("is not at the offset in the directory", row.text)
    _, _, flags, method, *_ = _LOCAL.unpack(header)
    name_length, extra = struct.unpack("<2H", header[-4:])
    if file.read(name_length) != row.name or method != row.method or flags & _ODD_FLAGS:
        refuse("has a header that does not match the directory", row.text)
    return row.start + _LOCAL.size + len(row.name) + int(extra)


def _check_kind(row: _Row, *, is_folder: bool) -> None:
    kind = stat.S_IFMT(row.mode)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        refuse("is neither a file nor a directory", row.text)
    if kind and (kind == stat.S_IFDIR) is not is_folder:
        refuse("is both a file and a directory", row.text)
    if is_folder and (row.packed or row.size):
        refuse("is a directory with content", row.text)
    if row.method not in (_STORED, _DEFLATED):
        refuse(f"has an unsupported compression method ({row.method})", row.text)


def _read_content(file: BinaryIO, row: _Row) -> Iterator[bytes]:
    """Yield the bytes of an entry. Raises if they differ from the directory."""
    file.seek(_find_data(file, row))
    raw = _read_raw(file, row)
    crc = size = 0
    for chunk in raw if row.method == _STORED else decompress_zip_entry(raw, row.text):
        crc = zlib.crc32(chunk, crc)
        size += len(chunk)
        if size > row.size:
            break
        yield chunk
    if size != row.size or crc != row.crc:
        refuse("is damaged: wrong size or checksum", row.text)


def _read_raw(file: BinaryIO, row: _Row) -> Iterator[bytes]:
    left = row.packed
    while left and (chunk := file.read(min(_CHUNK, left))):
        left -= len(chunk)
        yield chunk
