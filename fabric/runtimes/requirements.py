"""Requirement texts as values: pins, and locks that fabric writes. Reads no disk."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from fabric.model.hashing import hash_bytes
from fabric.model.secrecy import redact_userinfo

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
    """A pinned version."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    # Selects the targets of a lock that it is for.
    marker: str = ""

    @property
    def line(self) -> str:
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        marker = f" ; {self.marker}" if self.marker else ""
        hashes = "".join(f" --hash=sha256:{item}" for item in sorted(self.hashes))
        return f"{normalize_package_name(self.name)}{extras}=={self.version}{marker}{hashes}"


def is_pinned(text: str) -> bool:
    """Return whether every requirement names one version; options (`-r`, `-e`, …) are never
    pinned."""
    return all(_PINNED.match(line) for line in list_requirement_lines(text))


def has_hashes(text: str) -> bool:
    return "--hash=" in text


def list_requirement_lines(text: str) -> tuple[str, ...]:
    """Return logical lines without comments and without index options."""
    return tuple(line for line in _split_lines(text) if not _WHERE.match(line))


def list_index_lines(text: str) -> tuple[str, ...]:
    """Return the options that select package indexes."""
    return tuple(line for line in _split_lines(text) if _WHERE.match(line))


def format_constraint_line(line: str) -> str:
    """Format a line of a constraints file for a text with the requirements."""
    return f"{_CONSTRAINT}{line}\n"


def list_constraint_lines(text: str) -> tuple[str, ...]:
    """Return the lines that constrain versions without requiring a package."""
    lines = (line.removeprefix(_CONSTRAINT) for line in text.splitlines() if _is_constraint(line))
    return tuple(lines)


def _is_constraint(line: str) -> bool:
    return line.startswith(_CONSTRAINT)


def find_bare_names(text: str, among: Iterable[str]) -> tuple[str, ...]:
    """Return those of these packages that are required without a version or anything else."""
    wanted = frozenset(among)
    names = (parse_bare_name(line) for line in list_requirement_lines(text))
    return tuple(sorted({name for name in names if name in wanted}))


def parse_bare_name(line: str) -> str:
    """Return the package that a line requires in any version; empty for all other lines."""
    match = _BARE.match(line)
    return normalize_package_name(match[1]) if match else ""


def remove_packages(text: str, names: Iterable[str]) -> str:
    """Return the text without the lines that require one of these in any version."""
    left_out = frozenset(names)
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if parse_bare_name(line) not in left_out)


def lock_name(without: Iterable[str]) -> str:
    """Return the name of a lock. A lock without the provider's packages has a different name."""
    names = "-".join(without)
    return f"requirements.without-{names}.lock" if names else LOCK_FILE


def _split_lines(text: str) -> Iterator[str]:
    joined = re.sub(r"\\\r?\n", " ", text)
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in joined.splitlines())
    return filter(None, lines)


def list_required_names(text: str) -> frozenset[str]:
    names = (re.match(r"[A-Za-z0-9._-]+", line) for line in list_requirement_lines(text))
    return frozenset(normalize_package_name(match[0]) for match in names if match)


def normalize_package_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def read_project_requirements(pyproject: str) -> str:
    """Return `[project.dependencies]` as a requirements text. Raises ValueError for bad TOML."""
    if not pyproject:
        return ""
    import tomllib  # few projects have one: the others pay for no parser

    dependencies = tomllib.loads(pyproject).get("project", {}).get("dependencies", [])
    return "".join(f"{item}\n" for item in dependencies)


def find_local_paths(text: str) -> tuple[str, ...]:
    """Return lines that name a directory or file in place of a package: `-e .`, `./libs/foo`."""
    return tuple(line for line in list_requirement_lines(text) if _LOCAL.match(line))


def render_lock(
    source_name: str, source: str, pins: Iterable[Pin], targets: Iterable[str] = ()
) -> str:
    """Render a lock. Its versions and hashes were chosen for `targets`."""
    ordered = sorted(pins, key=lambda pin: (normalize_package_name(pin.name), pin.version))
    head = f"{_MADE_BY}{source_name} {_hash_source(source)}"
    return "\n".join(
        [head, _TARGETS + " ".join(sorted(targets)), *(pin.line for pin in ordered), ""]
    )


def is_target_missing(text: str, target: str) -> bool:
    """Return whether a lock of fabric was made for other targets, so that its hashes are of other
    wheels."""
    if not is_own_lock(text):
        return False
    lines = (line for line in text.splitlines() if line.startswith(_TARGETS))
    return target not in next(lines, "").removeprefix(_TARGETS).split(" ")


def is_own_lock(text: str) -> bool:
    return text.startswith(_MADE_BY)


def lock_is_current(lock: str, sources: Iterable[tuple[str, str]]) -> bool:
    """Return whether a lock can be used. A lock of another tool always counts; fabric's only for
    its source text."""
    if not is_own_lock(lock):
        return True
    heads = {f"{_MADE_BY}{name} {_hash_source(text)}" for name, text in sources}
    return lock.partition("\n")[0] in heads


def _hash_source(source: str) -> str:
    # A digest of a password would be as good as the password to who tries them all.
    shown = redact_userinfo(source)
    lines = (
        *list_requirement_lines(shown),
        *map(format_constraint_line, list_constraint_lines(shown)),
    )
    return hash_bytes("\n".join(lines).encode())
