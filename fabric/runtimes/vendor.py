"""Third-party packages of Python functions: from a lock to files, for the target's platform.

pip reads environment markers for the Python that fabric runs on; versions and wheels are the
target's.
"""

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task import VendorInputs
from fabric.runtimes.contract import Built, BuiltFile, Seen
from fabric.runtimes.pip import Pip, Target
from fabric.runtimes.requirements import (
    LOCK_FILE,
    Pin,
    has_hashes,
    is_pinned,
    lock_is_current,
    normal_name,
    pinned_names,
    project_requirements,
    render_lock,
    requirement_lines,
)
from fabric.runtimes.seen import merge, place, tried
from fabric.runtimes.wheels import unpack
from fabric.system.disk import read_bytes, write_atomic

_OTHER_FILE = re.compile(r"\s*(?:-r|--requirement)[ =]\s*(\S+)")
_DEFAULT_PYTHON = "3.11"
REQUIREMENT_FILES = (LOCK_FILE, "requirements.txt", "pyproject.toml")
_ARCHITECTURES = ("x86_64", "arm64")


@dataclass(frozen=True, slots=True)
class VendorSource:
    """What a service asks for: `file` (relative to the workspace) holds `text`."""

    file: str
    text: str
    seen: Seen


def find_source(workspace: Path, root: str) -> VendorSource | None:
    """The lock if there is a current one, else requirements.txt, else pyproject.toml.

    None where there is nothing to vendor. Reads files only.
    """
    base = os.path.realpath(workspace)
    folder = os.path.realpath(os.path.join(base, root))
    paths = [os.path.join(folder, name) for name in REQUIREMENT_FILES]
    lock, plain, project = (_text(base, path) for path in paths)
    plain, more = _expanded(base, folder, plain)
    texts = [("requirements.txt", plain), ("pyproject.toml", _project(base, paths[2], project))]
    asked = [(name, text) for name, text in texts if requirement_lines(text)]
    chosen = [*asked]
    if requirement_lines(lock) and lock_is_current(lock, asked):
        chosen.insert(0, (LOCK_FILE, lock))
    if not chosen:
        return None
    name, text = chosen[0]
    return VendorSource(place(base, os.path.join(folder, name)), text, tried(base, [*paths, *more]))


def vendor(workspace: Path, inputs: VendorInputs, environment: Mapping[str, str]) -> Built:
    """The packages' files. Unpinned requirements are locked first, beside where they stand."""
    pip = Pip(environment)
    target = Target(inputs.python, inputs.platform)
    if is_pinned(inputs.source):
        return _fetched(pip, inputs.source, target)
    lock = _write_lock(workspace, inputs, pip)
    built = _fetched(pip, lock.text, target)
    return Built(built.files, merge(built.seen, lock.seen), (_locked(lock), *built.warnings))


def lock_requirements(
    workspace: Path, inputs: VendorInputs, environment: Mapping[str, str]
) -> Problem | None:
    """Pin what is not pinned, in a lock beside it; the warning that says so."""
    if is_pinned(inputs.source):
        return None
    return _locked(_write_lock(workspace, inputs, Pip(environment)))


def _fetched(pip: Pip, text: str, target: Target) -> Built:
    locked = has_hashes(text) or lock_is_current(text, ()) is False
    with tempfile.TemporaryDirectory(prefix="fabric-vendor-") as folder:
        wheels = pip.download(text, target, Path(folder), locked=locked)
        files = {file.path: file for wheel in wheels for file in unpack(wheel)}
        unlisted = sorted({_name(wheel) for wheel in wheels} - pinned_names(text))
    return Built(_sorted(files), Seen(), _warn_unlisted(unlisted))


def _sorted(files: dict[str, BuiltFile]) -> tuple[BuiltFile, ...]:
    return tuple(files[path] for path in sorted(files))


def _name(wheel: Path) -> str:
    return normal_name(wheel.name.partition("-")[0])


def _warn_unlisted(names: list[str]) -> tuple[Problem, ...]:
    if not names:
        return ()
    return (
        Problem(
            "vendor/unlisted",
            f"packages that the requirements do not list were fetched too: {', '.join(names)}",
            hint="their versions may move: list them with a version",
        ),
    )


def _write_lock(workspace: Path, inputs: VendorInputs, pip: Pip) -> VendorSource:
    found = find_source(workspace, inputs.root)
    name = os.path.basename(found.file) if found else "requirements.txt"
    text = render_lock(name, inputs.source, _resolve(pip, inputs))
    path = os.path.join(os.path.realpath(workspace), inputs.root, LOCK_FILE)
    write_atomic(Path(path), text.encode())
    return VendorSource(os.path.normpath(os.path.join(inputs.root, LOCK_FILE)), text, Seen())


def _resolve(pip: Pip, inputs: VendorInputs) -> tuple[Pin, ...]:
    """The target's versions, with the digests of the other architecture's wheels besides."""
    with tempfile.TemporaryDirectory(prefix="fabric-vendor-") as folder:
        pins = pip.resolve(inputs.source, Target(inputs.python, inputs.platform), Path(folder))
        exact = "".join(f"{pin.name}=={pin.version}\n" for pin in pins)
        others = [name for name in _ARCHITECTURES if name != (inputs.platform or "x86_64")]
        try:
            more = pip.resolve(exact, Target(inputs.python, others[0]), Path(folder))
        except FabricError:
            # Not every package has a wheel for both; the lock then serves the one asked for.
            more = ()
    digests = {pin.name: pin.hashes for pin in more}
    return tuple(
        Pin(pin.name, pin.version, tuple({*pin.hashes, *digests.get(pin.name, ())})) for pin in pins
    )


def _locked(lock: VendorSource) -> Problem:
    return Problem(
        "vendor/locked",
        f"the requirements were not pinned: their versions are now in `{lock.file}`",
        hint="keep that file in version control",
        where=Place(lock.file),
    )


def _text(workspace: str, path: str) -> str:
    try:
        return read_bytes(path).decode("utf-8-sig", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        shown = place(workspace, path)
        raise FabricError(
            Problem("build/unreadable", f"cannot read `{shown}`: {error.strerror}")
        ) from error


def _expanded(workspace: str, folder: str, text: str, depth: int = 8) -> tuple[str, list[str]]:
    """The text with every `-r other.txt` replaced by that file's own, and the files' paths."""
    lines: list[str] = []
    paths: list[str] = []
    for line in text.splitlines(keepends=True):
        match = _OTHER_FILE.match(line)
        if not match or not depth:
            lines.append(line)
            continue
        path = os.path.normpath(os.path.join(folder, match[1]))
        inner, more = _expanded(workspace, os.path.dirname(path), _text(workspace, path), depth - 1)
        lines.append(inner if inner.endswith("\n") else f"{inner}\n")
        paths += [path, *more]
    return "".join(lines), paths


def _project(workspace: str, path: str, text: str) -> str:
    try:
        return project_requirements(text)
    except ValueError as error:
        shown = place(workspace, path)
        raise FabricError(
            Problem("input/bad-toml", f"`{shown}`: {error}", where=Place(shown))
        ) from error
