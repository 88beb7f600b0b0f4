"""Requirement texts as values: what is pinned, and the lock that fabric writes. Reads no disk."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from fabric.model.hashing import digest_bytes
from fabric.model.secrecy import without_userinfo

_WHERE = re.compile(r"--?(i|f|extra|index|find)")
LOCK_FILE = "requirements.lock"
_CONSTRAINT = "#: constraint "
_LOCAL = re.compile(
    r"(?:-e|--editable)[ =]|\.{0,2}/|file:|[A-Za-z0-9._-]+(?:\[[^\]]*\])?\s*@\s*file:"
)
_MADE_BY = "# Locked by fabric from "
_TARGETS = "# For "
_PINNED = re.compile(
    r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[^\]]*\])?\s*===?\s*[^\s*;,]+(\s*[;\\].*|\s.*)?$"
)
_BARE = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(;[^#]*)?(#.*)?$")


class Pin(Struct, frozen=True):
    """`marker` says on which of the targets that a lock is for this version counts."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    marker: str = ""

    @property
    def line(self) -> str:
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        marker = f" ; {self.marker}" if self.marker else ""
        hashes = "".join(f" --hash=sha256:{item}" for item in sorted(self.hashes))
        return f"{normal_name(self.name)}{extras}=={self.version}{marker}{hashes}"


def is_pinned(text: str) -> bool:
    """Whether every requirement names one version; options (`-r`, `-e`, …) are never pinned."""
    return all(_PINNED.match(line) for line in requirement_lines(text))


def has_hashes(text: str) -> bool:
    return "--hash=" in text


def requirement_lines(text: str) -> tuple[str, ...]:
    """Logical lines without comments, and without the options that only say where to look."""
    return tuple(line for line in _lines(text) if not _WHERE.match(line))


def index_lines(text: str) -> tuple[str, ...]:
    """The options that say where to look."""
    return tuple(line for line in _lines(text) if _WHERE.match(line))


def constraint_line(line: str) -> str:
    """A line of a constraints file as it stands in one text with the requirements."""
    return f"{_CONSTRAINT}{line}\n"


def constraint_lines(text: str) -> tuple[str, ...]:
    """What bounds versions, and asks for nothing."""
    lines = (line.removeprefix(_CONSTRAINT) for line in text.splitlines() if _bounds(line))
    return tuple(lines)


def _bounds(line: str) -> bool:
    return line.startswith(_CONSTRAINT)


def bare_names(text: str, among: Iterable[str]) -> tuple[str, ...]:
    """Those of these packages that are asked for without a version, or anything else."""
    wanted = frozenset(among)
    names = (bare_name(line) for line in requirement_lines(text))
    return tuple(sorted({name for name in names if name in wanted}))


def bare_name(line: str) -> str:
    """The package that a line asks for in any version; empty for all other lines."""
    match = _BARE.match(line)
    return normal_name(match[1]) if match else ""


def without_packages(text: str, names: Iterable[str]) -> str:
    """The text without the lines that ask for one of these in any version."""
    left_out = frozenset(names)
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if bare_name(line) not in left_out)


def lock_name(without: Iterable[str]) -> str:
    """A lock without what a provider brings is another one than that with it."""
    names = "-".join(without)
    return f"requirements.without-{names}.lock" if names else LOCK_FILE


def _lines(text: str) -> Iterator[str]:
    joined = re.sub(r"\\\r?\n", " ", text)
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in joined.splitlines())
    return filter(None, lines)


def pinned_names(text: str) -> frozenset[str]:
    names = (re.match(r"[A-Za-z0-9._-]+", line) for line in requirement_lines(text))
    return frozenset(normal_name(match[0]) for match in names if match)


def normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def project_requirements(pyproject: str) -> str:
    """`[project.dependencies]` as a requirements text. Raises ValueError for bad TOML."""
    if not pyproject:
        return ""
    import tomllib  # few projects have one: the others pay for no parser

    dependencies = tomllib.loads(pyproject).get("project", {}).get("dependencies", [])
    return "".join(f"{item}\n" for item in dependencies)


def local_paths(text: str) -> tuple[str, ...]:
    """Lines that name a directory or file in place of a package: `-e .`, `./libs/foo`."""
    return tuple(line for line in requirement_lines(text) if _LOCAL.match(line))


def render_lock(
    source_name: str, source: str, pins: Iterable[Pin], targets: Iterable[str] = ()
) -> str:
    """`targets` are those that its versions and hashes were chosen for."""
    ordered = sorted(pins, key=lambda pin: (normal_name(pin.name), pin.version))
    head = f"{_MADE_BY}{source_name} {_fingerprint(source)}"
    return "\n".join(
        [head, _TARGETS + " ".join(sorted(targets)), *(pin.line for pin in ordered), ""]
    )


def lacks_target(text: str, target: str) -> bool:
    """Whether a lock of fabric's own was made for other targets: its hashes are of other wheels."""
    if not is_own_lock(text):
        return False
    lines = (line for line in text.splitlines() if line.startswith(_TARGETS))
    return target not in next(lines, "").removeprefix(_TARGETS).split(" ")


def is_own_lock(text: str) -> bool:
    return text.startswith(_MADE_BY)


def lock_is_current(lock: str, sources: Iterable[tuple[str, str]]) -> bool:
    """A lock of somebody else always counts; fabric's own only for the text that it was made of."""
    if not is_own_lock(lock):
        return True
    heads = {f"{_MADE_BY}{name} {_fingerprint(text)}" for name, text in sources}
    return lock.partition("\n")[0] in heads


def _fingerprint(source: str) -> str:
    # A digest of a password would be as good as the password to who tries them all.
    shown = without_userinfo(source)
    lines = (*requirement_lines(shown), *map(constraint_line, constraint_lines(shown)))
    return digest_bytes("\n".join(lines).encode())
