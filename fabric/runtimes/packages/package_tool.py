"""The tool that resolves and downloads packages: uv if it is found, otherwise pip. The results are
equal."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.builds.python_target import PythonTarget
from fabric.model.problems import FabricError
from fabric.runtimes.packages.pip import Pip
from fabric.runtimes.packages.requirements import Pin
from fabric.runtimes.packages.uv import OldVersionError, open_uv
from fabric.runtimes.packages.wheels import Wheel


class PackageTool(Struct, frozen=True):
    environment: Mapping[str, str]

    def resolve(
        self, text: str, target: PythonTarget, folder: Path, exact: str = ""
    ) -> tuple[Pin, ...]:
        """Resolve the requirements to versions and hashes.

        `exact` are version pins for those packages that are needed at all.
        """
        uv = open_uv(self.environment, "install", text, target)
        if uv is not None:
            try:
                return uv.resolve(text, folder, exact)
            except OldVersionError:
                pass
            except FabricError as error:
                # An index without hashes: pip locks the versions.
                if error.first.code != "vendor/hash-missing":
                    raise
        return Pip(self.environment).resolve(text, target, folder, exact)

    def download(
        self, text: str, target: PythonTarget, folder: Path, *, locked: bool
    ) -> Sequence[Wheel]:
        """Download the wheels. A lock is complete, so no dependency is added to it."""
        uv = open_uv(self.environment, "download", text, target)
        with contextlib.suppress(OldVersionError):
            found = None if uv is None else uv.download(text, folder, locked=locked)
            if found is not None:
                return found
        return Pip(self.environment).download(text, target, folder, locked=locked)
