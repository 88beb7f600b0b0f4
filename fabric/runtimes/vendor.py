"""Third-party packages of Python functions: from a lock to files, for the target's platform."""

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.secrecy import without_userinfo
from fabric.model.secret import Secret
from fabric.model.task_inputs import VendorInputs
from fabric.runtimes.contract import Built, BuiltFile, Seen
from fabric.runtimes.locking import pins_for
from fabric.runtimes.pip import Pip, Target
from fabric.runtimes.requirements import (
    LOCK_FILE,
    has_hashes,
    index_lines,
    is_own_lock,
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
REQUIREMENT_FILES = (LOCK_FILE, "requirements.txt", "pyproject.toml")

NOWHERE: Secret[tuple[str, ...]] = Secret(())


class VendorSource(Struct, frozen=True):
    """What a service asks for: `file` (relative to the workspace) holds `text`.

    `where` are the lines of the requirements that say where to look: a lock does not repeat them.
    """

    file: str
    text: str
    seen: Seen
    where: Secret[tuple[str, ...]] = NOWHERE


def find_source(workspace: Path, root: str) -> VendorSource | None:
    """The lock if there is a current one, else requirements.txt, else pyproject.toml.

    None where there is nothing to vendor. Reads files only. The text goes into what fabric keeps:
    the password of an index is not in it.
    """
    found = _read_source(workspace, root)
    return replace(found, text=without_userinfo(found.text), where=NOWHERE) if found else None


def _read_source(workspace: Path, root: str) -> VendorSource | None:
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
    file = place(base, os.path.join(folder, name))
    return VendorSource(file, text, tried(base, [*paths, *more]), Secret(index_lines(plain)))


def _with_passwords(workspace: Path, inputs: VendorInputs) -> str:
    """The requirements as they stand in their file, for pip alone."""
    found = _read_source(workspace, inputs.root)
    if found is None or without_userinfo(found.text) != inputs.source:
        return inputs.source
    where = found.where.reveal() if is_own_lock(found.text) else ()
    return "\n".join([*where, found.text])


def vendor(workspace: Path, inputs: VendorInputs, environment: Mapping[str, str]) -> Built:
    """The packages' files. Unpinned requirements are locked first, beside where they stand."""
    pip = Pip(environment)
    target = _target(inputs)
    if is_pinned(inputs.source):
        return _fetched(pip, _with_passwords(workspace, inputs), target)
    lock = _write_lock(workspace, (inputs,), pip)
    inputs = replace(inputs, source=lock.text)
    built = _fetched(pip, _with_passwords(workspace, inputs), target)
    return Built(built.files, merge(built.seen, lock.seen), (_locked(lock), *built.warnings))


def lock_requirements(
    workspace: Path, asked: Sequence[VendorInputs], environment: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Pin what is not pinned, in a lock beside it; the warnings that say so."""
    groups: dict[tuple[str, str], list[VendorInputs]] = {}
    for inputs in asked:
        if not is_pinned(inputs.source):
            groups.setdefault((inputs.root, inputs.source), []).append(inputs)
    pip = Pip(environment)
    return tuple(_locked(_write_lock(workspace, group, pip)) for group in groups.values())


def _target(inputs: VendorInputs) -> Target:
    return Target(inputs.python, inputs.platform)


def _fetched(pip: Pip, text: str, target: Target) -> Built:
    own = any(map(is_own_lock, text.splitlines()))
    locked = own or has_hashes(text)
    with tempfile.TemporaryDirectory(prefix="fabric-vendor-") as name:
        folder = Path(name)
        wheels = pip.download(text, target, folder, locked=locked)
        files = {file.path: file for wheel in wheels for file in unpack(wheel)}
        missing = pip.missing(text, target, folder) if locked else ()
        unlisted = sorted({_name(wheel) for wheel in wheels} - pinned_names(text))
    lacking = _lacking(target, missing)
    if lacking and own:
        raise FabricError(replace(lacking, hint=f"delete {LOCK_FILE} to have it made again"))
    return Built(_sorted(files), Seen(), (*_warn_unlisted(unlisted), *filter(None, [lacking])))


def _lacking(target: Target, missing: Sequence[tuple[str, str]]) -> Problem | None:
    """A lock is taken as it is: what it leaves out is not in the archive."""
    if not missing:
        return None
    names = ", ".join(f"`{name}` (for `{owner}`)" for name, owner in missing)
    where = f"Python {target.python} on Linux ({target.machine})"
    return Problem(
        "vendor/incomplete",
        f"the lock leaves out what its packages need with {where}: {names}",
        hint="if they are not there by other means, list them in the lock with a version",
    )


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


def _write_lock(workspace: Path, asked: Sequence[VendorInputs], pip: Pip) -> VendorSource:
    """`asked` are the targets of one service, with the same requirements."""
    inputs = asked[0]
    found = find_source(workspace, inputs.root)
    name = os.path.basename(found.file) if found else "requirements.txt"
    source = _with_passwords(workspace, inputs)
    text = render_lock(name, source, pins_for(pip, source, [_target(one) for one in asked]))
    path = os.path.join(os.path.realpath(workspace), inputs.root, LOCK_FILE)
    write_atomic(Path(path), text.encode())
    return VendorSource(os.path.normpath(os.path.join(inputs.root, LOCK_FILE)), text, Seen())


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
