"""Wheels as files: read entry by entry, with checked paths and sizes; nothing is run."""

import re
import stat
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.parser import BytesHeaderParser
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.requirements import (
    is_marker_met,
    list_requirement_lines,
    parse_requirement,
)

# What an installer notes for itself, and byte code: neither is the package, both vary.
_NOISE = re.compile(
    r"(^|/)__pycache__/|\.py[co]$|\.dist-info/(RECORD(\.\w+)?|INSTALLER|REQUESTED|direct_url\.json)$"
)
_DATA = re.compile(r"^[^/]+\.data/(?P<kind>[^/]+)/(?P<rest>.+)$")
_METADATA = re.compile(r"[^/]+\.dist-info/METADATA")
_LIBRARIES = {"purelib", "platlib"}
_MAX_BYTES = 1 << 30
_CHUNK = 1 << 20


def unpack_wheel(wheel: Path) -> Iterator[BuiltFile]:
    """Yield the files that an install would put on the import path."""
    try:
        with zipfile.ZipFile(wheel) as bundle:
            room = _MAX_BYTES
            for entry in bundle.infolist():
                if (path := _find_install_path(wheel.name, entry)) is None:
                    continue
                content = _decompress_entry(bundle, entry, wheel.name, room)
                room -= len(content)
                yield BuiltFile(path, content, executable=_is_executable(entry))
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise _invalid_wheel_error(wheel.name, str(error)) from error


def _find_install_path(wheel: str, entry: zipfile.ZipInfo) -> str | None:
    """Return the installed path; None for directories, metadata, scripts and headers."""
    name = entry.filename
    if entry.is_dir() or _NOISE.search(name):
        return None
    if match := _DATA.match(name):
        if match["kind"] not in _LIBRARIES:
            return None
        name = match["rest"]
    _check(wheel, name, entry)
    return name


def _check(wheel: str, name: str, entry: zipfile.ZipInfo) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in path.parts[0]:
        raise _invalid_wheel_error(wheel, f"the path `{name}` is outside the archive")
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        raise _invalid_wheel_error(wheel, f"`{name}` is not a regular file")


def _decompress_entry(
    bundle: zipfile.ZipFile, entry: zipfile.ZipInfo, wheel: str, room: int
) -> bytes:
    """Decompress an entry and count its bytes: the size in the header can be wrong."""
    chunks: list[bytes] = []
    with bundle.open(entry) as stream:
        while chunk := stream.read(_CHUNK):
            room -= len(chunk)
            if room < 0:
                raise _invalid_wheel_error(wheel, "it exceeds 1 GB when unpacked")
            chunks.append(chunk)
    return b"".join(chunks)


def _is_executable(entry: zipfile.ZipInfo) -> bool:
    return bool((entry.external_attr >> 16) & 0o111)


def _invalid_wheel_error(wheel: str, reason: str) -> FabricError:
    return FabricError(Problem("vendor/bad-wheel", f"cannot unpack `{wheel}`: {reason}"))


def read_wheel_name(wheel: Path) -> str:
    """Return the normalized package name in a wheel's file name. Versions of old packages can be
    invalid."""
    return canonicalize_name(wheel.name.partition("-")[0])


def list_unmet_dependencies(
    wheels: Sequence[Path], requirements: str, environment: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Return the missing dependencies of these wheels, each with its first dependent.

    Markers are evaluated for the target, for the extras that the requirements list.
    """
    there = {read_wheel_name(wheel): wheel for wheel in wheels}
    extras = _collect_extras(requirements)
    unmet: dict[str, str] = {}
    for owner, wheel in sorted(there.items()):
        for requirement in _list_dependencies(wheel):
            name = canonicalize_name(requirement.name)
            if name not in there and _is_needed(requirement, extras.get(owner, ()), environment):
                unmet.setdefault(name, owner)
    return tuple(sorted(unmet.items()))


def _collect_extras(requirements: str) -> Mapping[str, set[str]]:
    extras: dict[str, set[str]] = {}
    for requirement in filter(None, map(parse_requirement, list_requirement_lines(requirements))):
        extras.setdefault(canonicalize_name(requirement.name), set()).update(requirement.extras)
    return extras


def _list_dependencies(wheel: Path) -> list[Requirement]:
    try:
        with zipfile.ZipFile(wheel) as bundle:
            name = next(filter(_METADATA.fullmatch, bundle.namelist()))
            metadata = BytesHeaderParser().parsebytes(bundle.read(name))
    except StopIteration:
        raise _invalid_wheel_error(wheel.name, "it has no METADATA") from None
    # An invalid text of a package that pip accepted is no dependency that can be checked.
    found = map(parse_requirement, map(str, metadata.get_all("Requires-Dist", [])))
    return [requirement for requirement in found if requirement is not None]


def _is_needed(
    requirement: Requirement, extras: Iterable[str], environment: Mapping[str, str]
) -> bool:
    return any(
        is_marker_met(requirement, environment, extra, otherwise=False) for extra in ("", *extras)
    )
