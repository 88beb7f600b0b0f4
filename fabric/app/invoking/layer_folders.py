"""The files of layers on this machine: unpacked where local calls find them like below `/opt`."""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.archive import unpack_archive
from fabric.system.files.disk import make_folder, write_atomic
from fabric.system.files.owned_folder import create_temporary_folder
from fabric.system.source.entries import Refused
from fabric.system.source.names import split_checked

_NAME_LENGTH = 24


class LayerArchive(Struct, frozen=True):
    """An archive of a layer, with its title in messages."""

    title: str
    sha256: str
    path: Path


def unpack_layers(layers: Sequence[LayerArchive], folder: Path) -> tuple[str, ...]:
    """Unpack layers below a directory of fabric, and return their directories.

    The last layer comes first: its files take precedence, as in `/opt`. A directory has the name of
    its content, so that calls that still use an older one are not disturbed.
    """
    return tuple(_unpack(one, folder / one.sha256[:_NAME_LENGTH]) for one in reversed(layers))


def _unpack(layer: LayerArchive, target: Path) -> str:
    if target.is_dir():
        return str(target)
    make_folder(target.parent)
    with create_temporary_folder("layer", target.parent) as made:
        try:
            for file in unpack_archive(layer.path.read_bytes()):
                path = made.joinpath("files", *split_checked(file.path))
                write_atomic(path, file.content, mode=0o755 if file.executable else 0o644)
        except (OSError, Refused, zipfile.BadZipFile, zlib.error) as error:
            message = f"cannot unpack the layer `{layer.title}`: {str(error).lower()}"
            raise FabricError(Problem("local/bad-layer", message)) from error
        try:
            (made / "files").rename(target)
        except OSError:
            if not target.is_dir():  # another process was faster
                raise
    return str(target)
