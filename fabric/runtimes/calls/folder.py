"""The directory of a function's code during calls: its unpacked archive."""

import shutil
import zipfile
import zlib
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.archive import unpack_archive
from fabric.runtimes.calls.function import LocalFunction
from fabric.system.disk import make_folder, write_atomic
from fabric.system.source.entries import Refused
from fabric.system.source.names import split_checked

_BROUGHT = "node_modules"


class ChildFolder(Struct, frozen=True):
    """The code, shared by all children of a function, and the directories of one child."""

    code: Path
    brought: Path
    home: Path
    tmp: Path


class FunctionFolder:
    """The code of one version of a function, deleted by `remove`."""

    def __init__(self, function: LocalFunction, folder: Path) -> None:
        self._folder = folder
        self._children = 0
        make_folder(folder, 0o700)
        make_folder(folder / "code", 0o700)
        try:
            self._unpack(function)
        except (Refused, zipfile.BadZipFile, zlib.error) as error:
            message = f"the archive of `{function.name}` is damaged: {str(error).lower()}"
            raise FabricError(Problem("invoke/bad-archive", message)) from error

    def _unpack(self, function: LocalFunction) -> None:
        for file in unpack_archive(function.code.read()):
            path = self._folder.joinpath("code", *split_checked(file.path))
            write_atomic(path, file.content, mode=0o755 if file.executable else 0o644)
        for name, found in function.brought:
            # Above the code, where Node looks once the archive has nothing of that name; Python is
            # told to.
            make_folder(self._folder / _BROUGHT)
            (self._folder / _BROUGHT / name).symlink_to(found)

    def for_child(self) -> ChildFolder:
        self._children += 1
        own = self._folder / f"child-{self._children}"
        for folder in (own, own / "home", own / "tmp"):
            make_folder(folder, 0o700)
        return ChildFolder(
            self._folder / "code", self._folder / _BROUGHT, own / "home", own / "tmp"
        )

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
