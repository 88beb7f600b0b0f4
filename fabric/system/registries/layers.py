"""Layers of images as reproducible archives: equal files give equal bytes anywhere, at any time."""

import gzip
import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Protocol

from msgspec import Struct

from fabric.model.builds.image_names import CODE_FOLDER
from fabric.model.hashing import hash_bytes

LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
# Six times as fast as level 9, and one percent larger.
_LEVEL = 6


class LayerFile(Protocol):
    """A file of a layer."""

    @property
    def path(self) -> str: ...

    @property
    def content(self) -> bytes: ...

    @property
    def executable(self) -> bool: ...


class LayerRow(Struct, frozen=True):
    """A layer without its bytes. `diff_id` identifies its files: the compressed bytes also depend
    on the zlib version."""

    digest: str
    diff_id: str
    size: int


class Layer(Struct, frozen=True):
    content: bytes
    row: LayerRow

    @property
    def digest(self) -> str:
        return self.row.digest


def write_layer(files: Iterable[LayerFile], folder: str = CODE_FOLDER) -> Layer:
    """Write files below a directory: sorted, parents first, owned by root, without times."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        seen: set[str] = set()
        for path, file in sorted(_list_places(files, folder), key=lambda one: one[0]):
            for parent in _list_parents(path):
                if parent not in seen:
                    seen.add(parent)
                    archive.addfile(_build_entry(parent, tarfile.DIRTYPE, 0o755))
            entry = _build_entry(path, tarfile.REGTYPE, 0o755 if file.executable else 0o644)
            entry.size = len(file.content)
            archive.addfile(entry, io.BytesIO(file.content))
    raw = plain.getvalue()
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", _LEVEL, packed, mtime=0) as stream:
        stream.write(raw)
    content = packed.getvalue()
    digest, diff_id = (f"sha256:{hash_bytes(one)}" for one in (content, raw))
    return Layer(content, LayerRow(digest, diff_id, len(content)))


def _list_places(files: Iterable[LayerFile], folder: str) -> Iterable[tuple[str, LayerFile]]:
    """List one file per path in the image."""
    return {f"{folder}/{one.path}".lstrip("/"): one for one in files}.items()


def _list_parents(path: str) -> Iterator[str]:
    yield from (str(one) for one in reversed(PurePosixPath(path).parents) if str(one) != ".")


def _build_entry(path: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.type, entry.mode, entry.mtime = kind, mode, 0
    return entry
