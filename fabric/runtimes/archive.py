"""Reproducible zip archives: equal files give equal bytes in any directory, at any time.

Deflating takes far longer than anything else here, so packed files are copied from one archive to
the next. An index beside an archive has the hashes of its files.
"""

import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.names import Digest
from fabric.runtimes.contract import BuiltFile

if TYPE_CHECKING:
    import zipfile

_EPOCH = (1980, 1, 1, 0, 0, 0)
_REGULAR = 0o100000
_UNIX = 3
_LEVEL = 6
_METADATA = re.compile(r"[^/]+\.dist-info/METADATA")
# The bytes of a local header before the name. Entries of these archives have no extra fields.
_LOCAL_HEADER = 30


class PackedFile(Struct, frozen=True, kw_only=True):
    """A file with its deflated bytes."""

    path: str
    sha256: Digest
    size: int
    crc: int
    deflated: bytes | memoryview
    executable: bool = False

    def unpack(self) -> bytes:
        import zlib

        return zlib.decompress(self.deflated, -zlib.MAX_WBITS)


F = TypeVar("F", BuiltFile, PackedFile)


class Packed(Struct, frozen=True):
    """An archive, and the index of its files. The digest does not depend on the zlib version."""

    archive: bytes
    index: bytes
    digest: Digest


def pack_file(file: BuiltFile) -> PackedFile:
    import zlib  # many runs only compare digests, and pay for no archives

    return PackedFile(
        path=file.path,
        sha256=hash_bytes(file.content),
        size=len(file.content),
        crc=zlib.crc32(file.content),
        deflated=zlib.compress(file.content, _LEVEL, -zlib.MAX_WBITS),
        executable=file.executable,
    )


def pack_files(files: Iterable[PackedFile]) -> Packed:
    """Join packed files. Their deflated bytes are copied."""
    ordered = _sort_files(files)
    index = msgspec.json.encode([(one.path, one.sha256) for one in ordered])
    fields = (field for one in ordered for field in (one.path, oct(_choose_mode(one)), one.sha256))
    return Packed(_write_archive(ordered), index, hash_fields(fields))


def read_packed(archive: bytes, index: bytes) -> Iterator[PackedFile]:
    """Yield the files of an archive from `pack_files`, without inflating them."""
    import zipfile

    hashes = dict(msgspec.json.decode(index, type=list[tuple[str, Digest]]))
    content = memoryview(archive)
    with zipfile.ZipFile(io.BytesIO(archive)) as bundle:
        for entry in bundle.infolist():
            start = entry.header_offset + _LOCAL_HEADER + len(entry.filename.encode())
            yield PackedFile(
                path=entry.filename,
                sha256=hashes[entry.filename],
                size=entry.file_size,
                crc=entry.CRC,
                deflated=content[start : start + entry.compress_size],
                executable=_is_executable(entry),
            )


def list_packed_paths(index: bytes) -> tuple[str, ...]:
    """List the files in the index of an archive from `pack_files`."""
    return tuple(path for path, _ in msgspec.json.decode(index, type=list[tuple[str, Digest]]))


def build_archive(files: Iterable[BuiltFile]) -> bytes:
    """Build a zip of the files: sorted by name, fixed time, modes and deflate level, no extra
    fields."""
    return _write_archive(_sort_files(map(pack_file, files)))


def _write_archive(files: Iterable[PackedFile]) -> bytes:
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as bundle:
        for file in files:
            entry = _build_entry(file)
            entry.header_offset = buffer.tell()
            buffer.write(entry.FileHeader(zip64=False))
            buffer.write(file.deflated)
            bundle.filelist.append(entry)
        bundle.start_dir = buffer.tell()
    return buffer.getvalue()


def unpack_archive(content: bytes) -> Iterator[BuiltFile]:
    """Yield the files of an archive from `build_archive`."""
    import zipfile

    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        for entry in bundle.infolist():
            yield BuiltFile(entry.filename, bundle.read(entry), _is_executable(entry))


def hash_contents(files: Iterable[BuiltFile]) -> Digest:
    """Hash names, modes and bytes, length-prefixed, independent of the zlib version."""
    digest = hashlib.sha256()
    for file in _sort_files(files):
        for field in (file.path.encode(), oct(_choose_mode(file)).encode(), file.content):
            digest.update(b"%d:" % len(field))
            digest.update(field)
    return Digest(digest.hexdigest())


def is_metadata(path: str) -> bool:
    return _METADATA.fullmatch(path) is not None


def find_metadata(files: Iterable[F]) -> F | None:
    """Find the METADATA among the files of a wheel."""
    return next((file for file in files if is_metadata(file.path)), None)


def _sort_files(files: Iterable[F]) -> list[F]:
    return sorted(files, key=lambda file: file.path.encode())


def _choose_mode(file: BuiltFile | PackedFile) -> int:
    return 0o755 if file.executable else 0o644


def _is_executable(entry: "zipfile.ZipInfo") -> bool:
    return bool((entry.external_attr >> 16) & 0o100)


def _build_entry(file: PackedFile) -> "zipfile.ZipInfo":
    import zipfile

    entry = zipfile.ZipInfo(file.path, _EPOCH)
    entry.create_system = _UNIX
    entry.external_attr = (_REGULAR | _choose_mode(file)) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.CRC = file.crc
    entry.compress_size, entry.file_size = len(file.deflated), file.size
    return entry
