"""Reproducible zip archives: equal files give equal bytes in any directory, at any time."""

import hashlib
import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fabric.model.names import Digest
from fabric.runtimes.contract import BuiltFile

if TYPE_CHECKING:
    import zipfile

_EPOCH = (1980, 1, 1, 0, 0, 0)
_REGULAR = 0o100000
_UNIX = 3
_LEVEL = 6


def build_archive(files: Iterable[BuiltFile]) -> bytes:
    """Build a zip of the files: sorted by name, fixed time, modes and deflate level, no extra
    fields."""
    import zipfile  # many runs only compare digests, and pay for no archives

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as bundle:
        for file in _sort_files(files):
            bundle.writestr(_build_entry(file), file.content, zipfile.ZIP_DEFLATED, _LEVEL)
    return buffer.getvalue()


def unpack_archive(content: bytes) -> Iterator[BuiltFile]:
    """Yield the files of an archive from `build_archive`."""
    import zipfile

    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        for entry in bundle.infolist():
            executable = bool((entry.external_attr >> 16) & 0o100)
            yield BuiltFile(entry.filename, bundle.read(entry), executable)


def hash_contents(files: Iterable[BuiltFile]) -> Digest:
    """Hash names, modes and bytes, length-prefixed, independent of the zlib version."""
    digest = hashlib.sha256()
    for file in _sort_files(files):
        for field in (file.path.encode(), oct(_choose_mode(file)).encode(), file.content):
            digest.update(b"%d:" % len(field))
            digest.update(field)
    return Digest(digest.hexdigest())


def _sort_files(files: Iterable[BuiltFile]) -> Iterator[BuiltFile]:
    return iter(sorted(files, key=lambda file: file.path.encode()))


def _choose_mode(file: BuiltFile) -> int:
    return 0o755 if file.executable else 0o644


def _build_entry(file: BuiltFile) -> "zipfile.ZipInfo":
    import zipfile

    entry = zipfile.ZipInfo(file.path, _EPOCH)
    entry.create_system = _UNIX
    entry.external_attr = (_REGULAR | _choose_mode(file)) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
