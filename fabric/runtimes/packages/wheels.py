"""Wheels as files: read one by one, with checked paths and sizes; nothing is run."""

import base64
import csv
import hashlib
import io
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from email.parser import BytesHeaderParser
from pathlib import Path, PurePosixPath
from typing import Protocol

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.archive import is_metadata
from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.packages.requirements import (
    is_marker_met,
    list_requirement_lines,
    parse_requirement,
)

# What an installer notes for itself, and byte code: neither is the package, both vary.
_NOISE = re.compile(
    r"(^|/)__pycache__/|\.py[co]$|\.dist-info/(RECORD(\.\w+)?|INSTALLER|REQUESTED|direct_url\.json)$"
)
_DATA = re.compile(r"^[^/]+\.data/(?P<kind>[^/]+)/(?P<rest>.+)$")
_LIBRARIES = {"purelib", "platlib"}
_MAX_BYTES = 1 << 30
_TOO_LARGE = "it exceeds 1 GB when unpacked"
_CHUNK = 1 << 20
_EXECUTABLE = 0o111
_BROKEN = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError
)  # fmt: skip


class Wheel(Protocol):
    """A downloaded wheel."""

    @property
    def title(self) -> str:
        """Its file name, or the name and version of its package."""

    def list_files(self) -> Iterator[BuiltFile]:
        """Yield the files that an install would put on the import path."""


class ZippedWheel(Struct, frozen=True):
    title: str
    content: bytes

    def list_files(self) -> Iterator[BuiltFile]:
        try:
            with zipfile.ZipFile(io.BytesIO(self.content)) as bundle:
                room = _MAX_BYTES
                for entry in bundle.infolist():
                    path = None if entry.is_dir() else _find_install_path(self, entry.filename)
                    if path is None:
                        continue
                    mode = entry.external_attr >> 16
                    if stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
                        raise _invalid_wheel_error(self, f"`{path}` is not a regular file")
                    content = _decompress_entry(bundle, entry, self, room)
                    room -= len(content)
                    yield BuiltFile(path, content, executable=bool(mode & _EXECUTABLE))
        except _BROKEN as error:
            raise _invalid_wheel_error(self, str(error)) from error


class UnpackedWheel(Struct, frozen=True):
    """A wheel that another tool has unpacked into a directory, unchanged and without links."""

    title: str
    folder: Path

    def list_files(self) -> Iterator[BuiltFile]:
        room = _MAX_BYTES
        try:
            for file in sorted(self.folder.rglob("*")):
                found = file.lstat()
                name = file.relative_to(self.folder).as_posix()
                path = None if stat.S_ISDIR(found.st_mode) else _find_install_path(self, name)
                if path is None:
                    continue
                if not stat.S_ISREG(found.st_mode):
                    raise _invalid_wheel_error(self, f"`{path}` is not a regular file")
                room -= found.st_size
                if room < 0:
                    raise _invalid_wheel_error(self, _TOO_LARGE)
                is_executable = bool(found.st_mode & _EXECUTABLE)
                yield BuiltFile(path, file.read_bytes(), executable=is_executable)
        except OSError as error:
            raise _invalid_wheel_error(self, str(error)) from error

    def matches_record(self) -> bool:
        """Return whether its files are those of its RECORD, with the SHA-256 hash of each. Files
        that are never packed do not count."""
        try:
            listed = _read_record(self.folder / f"{self.title}.dist-info" / "RECORD")
            files = [file for file in self.folder.rglob("*") if not _is_directory(file)]
            names = {file.relative_to(self.folder).as_posix(): file for file in files}
            packed = {name: file for name, file in names.items() if not _is_left_out(name)}
            # Hashes take longer than names.
            return listed.keys() == packed.keys() and all(
                _hash_for_record(file) == listed[name] for name, file in packed.items()
            )
        except (OSError, ValueError, csv.Error):
            return False


def _is_directory(file: Path) -> bool:
    return stat.S_ISDIR(file.lstat().st_mode)


def _read_record(file: Path) -> Mapping[str, str]:
    """Return the hash of each packed file of a wheel, empty if it has none."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [(*row, "", "")[:2] for row in csv.reader(lines)]
    return {name: digest.rstrip("=") for name, digest in rows if name and not _is_left_out(name)}


def _hash_for_record(file: Path) -> str:
    """Hash a file in the form of a RECORD."""
    if not stat.S_ISREG(file.lstat().st_mode):
        raise ValueError(f"{file} is not a regular file")
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").digest()
    return f"sha256={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def list_wheel_files(wheel: Wheel) -> Iterator[BuiltFile]:
    """Yield the files of a wheel. Of two with one path, the last one counts."""
    has_metadata = False
    for file in wheel.list_files():
        has_metadata = has_metadata or is_metadata(file.path)
        yield file
    if not has_metadata:
        raise _invalid_wheel_error(wheel, "it has no METADATA")


def _is_left_out(name: str) -> bool:
    """Return whether a path of a wheel is metadata of installers, byte code, a script or similar
    data."""
    match = _DATA.match(name)
    return bool(_NOISE.search(name)) or (match is not None and match["kind"] not in _LIBRARIES)


def _find_install_path(wheel: Wheel, name: str) -> str | None:
    """Return the installed path; None for metadata of installers, scripts and headers."""
    if _is_left_out(name):
        return None
    if match := _DATA.match(name):
        name = match["rest"]
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in path.parts[0]:
        raise _invalid_wheel_error(wheel, f"the path `{name}` is outside the archive")
    return name


def _decompress_entry(
    bundle: zipfile.ZipFile, entry: zipfile.ZipInfo, wheel: Wheel, room: int
) -> bytes:
    """Decompress an entry and count its bytes: the size in the header can be wrong."""
    chunks: list[bytes] = []
    with bundle.open(entry) as stream:
        while chunk := stream.read(_CHUNK):
            room -= len(chunk)
            if room < 0:
                raise _invalid_wheel_error(wheel, _TOO_LARGE)
            chunks.append(chunk)
    content = b"".join(chunks)
    if len(content) != entry.file_size:
        raise _invalid_wheel_error(wheel, f"the size of `{entry.filename}` is wrong")
    return content


def _invalid_wheel_error(wheel: Wheel, reason: str) -> FabricError:
    return FabricError(Problem("vendor/bad-wheel", f"cannot unpack `{wheel.title}`: {reason}"))


def read_wheel_name(title: str) -> str:
    """Return the normalized package name in a wheel's file name. Versions of old packages can be
    invalid."""
    return canonicalize_name(title.partition("-")[0])


def list_unmet_dependencies(
    metadata: Iterable[bytes], requirements: str, environment: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Return the missing dependencies of packages, each with its first dependent. `metadata` is the
    METADATA of each package.

    Markers are evaluated for the target, for the extras that the requirements list.
    """
    there = dict(map(_parse_metadata, metadata))
    extras = _collect_extras(requirements)
    unmet: dict[str, str] = {}
    for owner, dependencies in sorted(there.items()):
        for requirement in dependencies:
            name = canonicalize_name(requirement.name)
            if name not in there and _is_needed(requirement, extras.get(owner, ()), environment):
                unmet.setdefault(name, owner)
    return tuple(sorted(unmet.items()))


def list_with_dependencies(
    metadata: Iterable[bytes], requirements: Iterable[str], environment: Mapping[str, str]
) -> frozenset[str]:
    """List the packages of requirements with all their dependencies that have METADATA here."""
    there = dict(map(_parse_metadata, metadata))
    waiting = [*filter(None, map(parse_requirement, requirements))]
    needed: dict[str, set[str]] = {}
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name not in there or (name in needed and one.extras <= needed[name]):
            continue
        extras = needed.setdefault(name, set())
        extras.update(one.extras)
        waiting += (it for it in there[name] if _is_needed(it, extras, environment))
    return frozenset(needed)


def read_package_name(metadata: bytes) -> str:
    """Return the normalized package name in METADATA."""
    return _parse_metadata(metadata)[0]


def _collect_extras(requirements: str) -> Mapping[str, set[str]]:
    extras: dict[str, set[str]] = {}
    for requirement in filter(None, map(parse_requirement, list_requirement_lines(requirements))):
        extras.setdefault(canonicalize_name(requirement.name), set()).update(requirement.extras)
    return extras


def _parse_metadata(content: bytes) -> tuple[str, tuple[Requirement, ...]]:
    """Return the name and the dependencies of a package."""
    header = BytesHeaderParser().parsebytes(content)
    # An invalid text of a package that pip accepted is no dependency that can be checked.
    found = map(parse_requirement, map(str, header.get_all("Requires-Dist", [])))
    name = canonicalize_name(str(header.get("Name", "")))
    return name, tuple(requirement for requirement in found if requirement is not None)


def _is_needed(
    requirement: Requirement, extras: Iterable[str], environment: Mapping[str, str]
) -> bool:
    return any(
        is_marker_met(requirement, environment, extra, otherwise=False) for extra in ("", *extras)
    )
