"""Requirement texts as values: what is pinned, and the lock that fabric writes. Reads no disk."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass

from fabric.model.hashing import digest_bytes

LOCK_FILE = "requirements.lock"
_MADE_BY = "# Locked by fabric from "
_PINNED = re.compile(
    r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[^\]]*\])?\s*===?\s*[^\s*;,]+(\s*[;\\].*|\s.*)?$"
)


@dataclass(frozen=True, slots=True)
class Pin:
    name: str
    version: str
    hashes: tuple[str, ...] = ()


def is_pinned(text: str) -> bool:
    """Whether every requirement names one version; options (`-r`, `-e`, …) are never pinned."""
    return all(_PINNED.match(line) for line in requirement_lines(text))


def has_hashes(text: str) -> bool:
    return "--hash=" in text


def requirement_lines(text: str) -> tuple[str, ...]:
    """Logical lines without comments, and without the options that only say where to look."""
    joined = re.sub(r"\\\r?\n", " ", text)
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in joined.splitlines())
    return tuple(
        line for line in lines if line and not re.match(r"--?(i|f|extra|index|find)", line)
    )


def pinned_names(text: str) -> frozenset[str]:
    names = (re.match(r"[A-Za-z0-9._-]+", line) for line in requirement_lines(text))
    return frozenset(normal_name(match[0]) for match in names if match)


def normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def project_requirements(pyproject: str) -> str:
    """`[project.dependencies]` as a requirements text. Raises ValueError for bad TOML."""
    dependencies = tomllib.loads(pyproject).get("project", {}).get("dependencies", [])
    return "".join(f"{item}\n" for item in dependencies)


def render_lock(source_name: str, source: str, pins: Iterable[Pin]) -> str:
    lines = [f"{_MADE_BY}{source_name} {_fingerprint(source)}"]
    for pin in sorted(pins, key=lambda pin: normal_name(pin.name)):
        hashes = "".join(f" --hash=sha256:{item}" for item in sorted(pin.hashes))
        lines.append(f"{normal_name(pin.name)}=={pin.version}{hashes}")
    return "\n".join([*lines, ""])


def lock_is_current(lock: str, sources: Iterable[tuple[str, str]]) -> bool:
    """A lock of somebody else always counts; fabric's own only for the text that it was made of."""
    if not lock.startswith(_MADE_BY):
        return True
    heads = {f"{_MADE_BY}{name} {_fingerprint(text)}" for name, text in sources}
    return lock.partition("\n")[0] in heads


def _fingerprint(source: str) -> str:
    return digest_bytes("\n".join(requirement_lines(source)).encode())
