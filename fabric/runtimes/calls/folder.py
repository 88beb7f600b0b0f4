"""The directory of a function's code during calls: its unpacked archive."""

import os
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.archive import unpack_archive
from fabric.runtimes.calls.function import LocalFunction
from fabric.runtimes.calls.native_files import (
    ForeignPackage,
    describe_this_machine,
    find_foreign_platform,
    find_replacement,
)
from fabric.system.files.disk import make_folder, write_atomic
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

    def __init__(self, function: LocalFunction, folder: Path, python: str = "") -> None:
        self._folder = folder
        self._children = 0
        self.foreign: tuple[ForeignPackage, ...] = ()
        self._is_read_only = function.caller.facts.is_code_read_only
        make_folder(folder, 0o700)
        make_folder(folder / "code", 0o700)
        try:
            self._unpack(function, python)
        except (Refused, zipfile.BadZipFile, zlib.error) as error:
            message = f"the archive of `{function.name}` is damaged: {str(error).lower()}"
            raise FabricError(Problem("invoke/bad-archive", message)) from error
        if self._is_read_only:
            _set_folder_modes(self._folder / "code", 0o500)

    def _unpack(self, function: LocalFunction, python: str) -> None:
        machine = describe_this_machine(python)
        foreign: dict[str, str] = {}
        for file in unpack_archive(function.code.read()):
            path = self._folder.joinpath("code", *split_checked(file.path))
            write_atomic(path, file.content, mode=self._choose_mode(file.executable))
            if python and (where := find_foreign_platform(file, machine)):
                foreign.setdefault(file.path.partition("/")[0], where)
        self.foreign = tuple(
            ForeignPackage(name, where, find_replacement(name, function.installed.project, machine))
            for name, where in sorted(foreign.items())
            if not name.endswith(".libs")
        )
        for one in self.foreign:
            self._replace(one)
        # Above the code, where Node looks once the archive has nothing of that name; Python gets
        # the path.
        given = function.installed
        for name, found in (*_list_layer_packages(given.opt), *given.brought):
            self._link_package(name, found)

    def _replace(self, package: ForeignPackage) -> None:
        """Put the package of this machine in place of the archive's."""
        if not package.path:
            return
        place = self._folder / "code" / package.name
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()
        (self._folder / "code" / Path(package.path).name).symlink_to(package.path)

    def _link_package(self, name: str, found: str) -> None:
        """Link a package. Of a scope that layers and the runtime have, each package counts."""
        place = self._folder / _BROUGHT / name
        if place.is_dir() and not place.is_symlink():
            for inner in Path(found).iterdir():
                self._link_package(f"{name}/{inner.name}", str(inner))
        elif not place.is_symlink():
            make_folder(place.parent)
            place.symlink_to(found)

    def _choose_mode(self, is_executable: bool) -> int:  # noqa: FBT001 - the mode of a file
        mode = 0o755 if is_executable else 0o644
        return mode & 0o555 if self._is_read_only else mode

    def for_child(self) -> ChildFolder:
        self._children += 1
        own = self._folder / f"child-{self._children}"
        for folder in (own, own / "home", own / "tmp"):
            make_folder(folder, 0o700)
        return ChildFolder(
            self._folder / "code", self._folder / _BROUGHT, own / "home", own / "tmp"
        )

    def remove(self) -> None:
        if self._is_read_only:
            _set_folder_modes(self._folder / "code", 0o700)
        shutil.rmtree(self._folder, ignore_errors=True)


def _list_layer_packages(opt: Iterable[str]) -> Iterator[tuple[str, str]]:
    """List the Node packages of layers by name. A scope is a directory of packages."""
    for layer in opt:
        top = Path(layer) / "nodejs" / "node_modules"
        for path in sorted(top.glob("*")):
            inner = sorted(path.glob("*")) if path.name.startswith("@") else [path]
            yield from ((str(one.relative_to(top)), str(one)) for one in inner)


def _set_folder_modes(top: Path, mode: int) -> None:
    """Set the mode of a directory and those below it, without following links."""
    for folder, _, _ in os.walk(top, topdown=mode & 0o200 != 0):
        Path(folder).chmod(mode)
