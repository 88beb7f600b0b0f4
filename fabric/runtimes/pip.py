"""pip as a child: which wheels a requirements text means for a target, and fetching them."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.requirements import Pin
from fabric.system.disk import write_atomic
from fabric.system.process import ChildResult, run_child

_QUIET = ("--disable-pip-version-check", "--no-input", "--quiet", "--no-python-version-warning")
_MACHINES = {"arm64": "aarch64", "aarch64": "aarch64", "x86_64": "x86_64", "": "x86_64"}
# Each name for the same old systems: pip takes a platform tag literally.
_SYSTEMS = ("manylinux2014", "manylinux_2_17", "manylinux_2_12", "manylinux_2_5")


@dataclass(frozen=True, slots=True)
class Target:
    """Where the packages will run: never the machine that fabric runs on."""

    python: str
    architecture: str

    def flags(self) -> list[str]:
        machine = _MACHINES.get(self.architecture)
        if machine is None:
            raise FabricError(
                Problem(
                    "vendor/unknown-platform",
                    f"there are no packages for the architecture `{self.architecture}`",
                    hint="use x86_64 or arm64",
                )
            )
        platforms = [flag for name in _SYSTEMS for flag in ("--platform", f"{name}_{machine}")]
        return [
            "--only-binary=:all:",
            "--implementation=cp",
            f"--python-version={self.python}",
            *platforms,
        ]


@dataclass(frozen=True, slots=True)
class Pip:
    environment: Mapping[str, str]

    def resolve(self, text: str, target: Target, folder: Path) -> tuple[Pin, ...]:
        """The exact versions and digests that the requirements come out as; installs nothing."""
        flags = ["--dry-run", "--ignore-installed", "--report", "-", "--target", str(folder)]
        result = self._run(["install", *flags], text, target, folder)
        return tuple(_pin(item) for item in json.loads(result.stdout)["install"])

    def download(self, text: str, target: Target, folder: Path, *, locked: bool) -> list[Path]:
        """The wheels, in `folder`; a lock is complete, so nothing is added to it."""
        flags = ["--dest", str(folder), *(["--no-deps"] if locked else [])]
        self._run(["download", *flags], text, target, folder)
        return sorted(folder.glob("*.whl"))

    def _run(self, argv: list[str], text: str, target: Target, folder: Path) -> ChildResult:
        source = folder / "requirements.txt"
        write_atomic(source, text.encode())
        # Isolated from PYTHON* variables, but pip's own settings (an index of the company) hold.
        command = [sys.executable, "-m", "pip", *argv, *_QUIET, *target.flags(), "-r", str(source)]
        env = {key: value for key, value in self.environment.items() if key != "PYTHONPATH"}
        result = run_child(command, cwd=folder, env=env)
        if result.code:
            raise _failed(result, target)
        return result


def _pin(item: Mapping[str, Mapping[str, object]]) -> Pin:
    archive = item["download_info"].get("archive_info")
    hashes = archive.get("hashes", {}) if isinstance(archive, dict) else {}
    digests = (str(hashes["sha256"]),) if "sha256" in hashes else ()
    return Pin(str(item["metadata"]["name"]), str(item["metadata"]["version"]), digests)


def _failed(result: ChildResult, target: Target) -> FabricError:
    text = result.last_lines()
    if "No module named pip" in text:
        return FabricError(
            Problem(
                "vendor/pip-missing",
                "this Python has no pip, which fetches a function's packages",
                hint=f"run: {sys.executable} -m ensurepip",
            )
        )
    if "No matching distribution" in text or "Could not find a version" in text:
        return FabricError(
            Problem(
                "vendor/no-wheel",
                f"a package has no wheel for Python {target.python} on Linux "
                f"({target.architecture or 'x86_64'})",
                hint="choose a version that has one; source packages are not built",
                frame=text,
            )
        )
    return FabricError(
        Problem("vendor/failed", "pip could not fetch the packages", frame=text, hint=_hint(text))
    )


def _hint(text: str) -> str:
    if "HASHES" in text.upper():
        return "the lock does not fit this platform: delete requirements.lock to have it made again"
    return "is the package index reachable? The lines below are pip's own"
