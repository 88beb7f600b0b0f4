"""Download the wheels of a run: all missing ones of a lock with one process, because starting pip
takes longer than downloading a small wheel."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fabric.model.builds.python_target import PythonTarget
from fabric.model.problems import FabricError, Problem
from fabric.model.task_inputs import WheelInputs
from fabric.runtimes.contract import BuiltFile, ListMissing

if TYPE_CHECKING:
    from fabric.runtimes.packages.wheels import Wheel

_TRIES = 3


class _Key(Struct, frozen=True):
    """A wheel without the task that needs it."""

    name: str
    version: str
    hashes: tuple[str, ...]
    target: PythonTarget
    indexes: str


class WheelDownloads:
    """The downloaded wheels of a run, each until it is used. Thread-safe."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._list_missing: ListMissing = tuple
        self._locks: dict[tuple[str, PythonTarget], threading.Lock] = {}
        self._found: dict[_Key, Wheel | FabricError] = {}
        self._downloaded: set[_Key] = set()

    def expect(self, list_missing: ListMissing) -> None:
        """Set the wheels of this run that are not cached. They are listed when one is needed."""
        self._list_missing = list_missing

    def fetch(self, workspace: Path, wanted: WheelInputs) -> Iterator[BuiltFile]:
        """Return the files of a wheel. The first call for a lock downloads all missing ones."""
        from fabric.runtimes.packages.wheels import list_wheel_files

        key = _build_key(wanted)
        with self._locks.setdefault((wanted.batch, key.target), threading.Lock()):
            found = self._found.pop(key, None)
            if found is None:
                self._found.update(self._download(workspace, wanted))
                found = self._found.pop(key)
        if isinstance(found, FabricError):
            raise found
        return list_wheel_files(found)

    def _download(
        self, workspace: Path, wanted: WheelInputs
    ) -> Mapping[_Key, "Wheel | FabricError"]:
        own = _build_key(wanted)
        others = (_build_key(one) for one in self._list_missing() if one.batch == wanted.batch)
        together = {one for one in others if one.target == own.target} - self._downloaded
        self._downloaded |= together
        keys = sorted(together | {own}, key=lambda key: key.name)
        return self._download_batch(workspace, wanted.root, keys, _TRIES)

    def _download_batch(
        self, workspace: Path, root: str, keys: Sequence[_Key], tries: int
    ) -> Mapping[_Key, "Wheel | FabricError"]:
        """Download wheels. A tool stops at the first invalid one: the others are tried again."""
        try:
            return _download_wheels(workspace, root, keys, self._environment)
        except FabricError as error:
            words = (error.first.message.replace("==", "`").split("`"))[1::2]
            others = [key for key in keys if key.name not in words]
            failed = dict.fromkeys(keys, error)
            if len(others) in (0, len(keys)) or tries == 1:
                return failed
            return {**failed, **self._download_batch(workspace, root, others, tries - 1)}


def _build_key(wheel: WheelInputs) -> _Key:
    target = PythonTarget(wheel.python, wheel.platform, wheel.glibc)
    return _Key(wheel.name, wheel.version, wheel.hashes, target, wheel.indexes)


def _download_wheels(
    workspace: Path, root: str, keys: Iterable[_Key], environment: Mapping[str, str]
) -> "Mapping[_Key, Wheel]":
    # pip and all: only when something is downloaded.
    from fabric.runtimes.packages.package_tool import PackageTool
    from fabric.runtimes.packages.requirement_files import PackageRequest, read_source
    from fabric.runtimes.packages.requirements import Pin, list_index_lines
    from fabric.runtimes.packages.wheels import read_wheel_name
    from fabric.system.files.owned_folder import create_temporary_folder

    by_name = {key.name: key for key in keys}
    target = next(iter(by_name.values())).target
    # Read again, because tasks are stored on disk, and an index can have a password.
    source = read_source(workspace, root, PackageRequest(target=target))
    lines = (
        *source.where.reveal(),
        *list_index_lines(source.text),
        *(Pin(key.name, key.version, key.hashes).line for key in by_name.values()),
    )
    with create_temporary_folder("vendor") as folder:
        wheels = PackageTool(environment).download("\n".join(lines), target, folder, locked=True)
    found = {
        by_name[name]: one for one in wheels if (name := read_wheel_name(one.title)) in by_name
    }
    if len(found) < len(by_name):
        missing = ", ".join(f"`{name}`" for name, key in by_name.items() if key not in found)
        message = f"no wheel was downloaded for {missing}"
        raise FabricError(Problem("vendor/failed", message))
    return found
