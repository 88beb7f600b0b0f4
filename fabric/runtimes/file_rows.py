"""Rows of lock files, and the bundler's fields of manifests: the parts that a bundle depends on.

A lock of a workspace contains the packages of all functions. Recording only the rows of a bundle's
own packages keeps its cached result when other rows change. A file that is not in a known form has
no rows: then the whole file counts.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from posixpath import basename
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from fabric.model.hashing import hash_fields

# The fields of a manifest that the bundler and fabric read for the project's own code. A package
# below node_modules and a packed one count with their whole manifest.
_FIELDS = frozenset(
    {"name", "type", "main", "module", "browser", "exports", "imports", "sideEffects", "tsconfig"}
)
# The only row of a manifest.
FIELDS_ROW = ""


class Rows(Struct, frozen=True):
    """The rows of one file, as texts. A place is a path relative to the directory of the lock."""

    by_place: Mapping[str, str]
    # By `name@version`, or by the name if the lock has no plain version (git, archives, paths).
    by_name: Mapping[str, frozenset[str]]

    def find(self, selector: str) -> tuple[str, ...]:
        """Return the texts of a selector; empty if the lock does not contain the package.

        The directory of an archive or an alias can have another name than its manifest.
        """
        place, _, package = selector.rpartition(" ")
        if (text := self.by_place.get(place)) is not None:
            return (text,)
        name, _, version = package.rpartition("@")
        names = {name, place.rpartition("node_modules/")[2]}
        keys = (key for one in names for key in (one, f"{one}@{version}"))
        return tuple(sorted(frozenset[str]().union(*(self.by_name.get(key, ()) for key in keys))))


def select_package(place: str, name: str, version: str) -> str:
    """Build the selector of an installed package. Each format uses the part that it knows."""
    return f"{place} {name}@{version}"


def hash_row(rows: Rows, selector: str) -> str:
    return hash_fields(rows.find(selector))


def read_rows(file: str, content: bytes) -> Rows | None:
    """Read the rows of a file, in the format of its name; None if it is not in a known form."""
    reader = _READERS.get(basename(file))
    if reader is None or b"\n<<<<<<< " in content:
        return None
    try:
        return reader(content)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return None


_Named: TypeAlias = Iterable[tuple[str, str]]


def _group_by_name(named: _Named) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for name, text in named:
        found.setdefault(name, set()).add(text)
    return {name: frozenset(texts) for name, texts in found.items()}


# package-lock.json, npm-shrinkwrap.json and node_modules/.package-lock.json


class _NpmRow(Struct, frozen=True, rename={"in_bundle": "inBundle"}):
    name: str | None = None
    version: str | None = None
    resolved: str | None = None
    integrity: str | None = None
    link: bool = False
    in_bundle: bool = False


class _NpmLock(Struct, frozen=True):
    lockfileVersion: int  # noqa: N815: npm's name
    packages: dict[str, _NpmRow]


def _read_npm_rows(content: bytes) -> Rows:
    lock = msgspec.json.decode(content, type=_NpmLock)
    if lock.lockfileVersion not in (2, 3):
        raise ValueError(lock.lockfileVersion)
    texts = {place: repr(row) for place, row in lock.packages.items()}
    # Packages in another place than npm's own, such as those of a linked installation.
    named = (
        (f"{row.name or place.rpartition('node_modules/')[2]}@{row.version}", texts[place])
        for place, row in lock.packages.items()
    )
    return Rows(texts, _group_by_name(named))


# pnpm-lock.yaml, versions 6 and 9: read by lines, because a YAML parser needs 150 times as long


_PNPM_VERSION = re.compile(r"^lockfileVersion: '?(?:6|9)\.\d+'?$", re.MULTILINE)
_PNPM_KEY = re.compile(r"(?:'([^'\n]+)'|([^\s'\"?&*!|>{\[#][^\n]*)):")
_PNPM_FIELD = re.compile(r"^    (name|version): '?([^'\n]+)'?$", re.MULTILINE)
_PNPM_RESOLUTION = re.compile(r"^    resolution:[^\n]*(?:\n {6}[^\n]*)*", re.MULTILINE)
_PNPM_PATCH = re.compile(r"\(patch_hash=[^)]*\)")


def _read_pnpm_rows(content: bytes) -> Rows:
    text = _decode(content)
    if not _PNPM_VERSION.search(text) or re.search(r"^---", text, re.MULTILINE):
        raise ValueError("unknown version")
    sections = dict(_split_sections(text))
    patches = [
        (_split_package(key)[0], body.strip())
        for key, body in _split_pnpm_entries(sections.get("patchedDependencies:", ""))
    ]
    entries = _split_pnpm_entries(sections.get("packages:", ""))
    named = (pair for key, body in entries for pair in _name_pnpm_row(key, body))
    return Rows({}, _group_by_name((*named, *patches)))


def _split_sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield the unindented lines of a text, each with the indented ones below."""
    for part in re.split(r"^(?=[^\s#])", text, flags=re.MULTILINE):
        head, _, body = part.partition("\n")
        yield head.rstrip(), body


def _split_pnpm_entries(body: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^  (?=\S)", body, flags=re.MULTILINE)[1:]:
        head, _, below = part.partition("\n")
        key = _PNPM_KEY.match(head)
        if key is None:
            raise ValueError(head)
        yield key[1] or key[2], head[key.end() :] + below


def _name_pnpm_row(key: str, body: str) -> Iterator[tuple[str, str]]:
    """Yield a row under its key and under its own name and version, which archives have."""
    resolution = _PNPM_RESOLUTION.search(body)
    if resolution is None:
        raise ValueError(key)
    base = key.lstrip("/").partition("(")[0]
    text = "\n".join((base, *_PNPM_PATCH.findall(key), resolution[0]))
    name, version = _split_package(base)
    own = dict(_PNPM_FIELD.findall(body))
    name, version = own.get("name", name), own.get("version", version)
    yield (f"{name}@{version}" if _is_plain(version) else name), text


# yarn.lock of Yarn 1, and of later versions


_YARN_KEY = re.compile(r'"([^"\n]+)"|([^\s",][^",\n]*)')
_YARN_FIELD = re.compile(
    r'^  (version|resolved|integrity|resolution|checksum):? "?([^"\n]*)"?$', re.MULTILINE
)


def _read_yarn_rows(content: bytes) -> Rows:
    text = _decode(content)
    sections = list(_split_sections(text))
    if "__metadata:" in dict(sections):
        return Rows({}, _group_by_name(_name_berry_rows(sections)))
    if not re.search(r"^# yarn lockfile v1$", text, re.MULTILINE):
        raise ValueError("unknown version")
    return Rows({}, _group_by_name(_name_classic_rows(sections[1:])))


def _name_berry_rows(sections: _Named) -> Iterator[tuple[str, str]]:
    for _, body in sections:
        row = dict(_YARN_FIELD.findall(body))
        if "resolution" in row:
            name = _split_package(row["resolution"])[0]
            text = f"{row['resolution']} {row.get('checksum', '')}"
            yield f"{name}@{row['version']}", text


def _name_classic_rows(sections: _Named) -> Iterator[tuple[str, str]]:
    for head, body in sections:
        if not head.endswith(":"):
            raise ValueError(head)
        row = dict(_YARN_FIELD.findall(body))
        text = f"{row.get('resolved', '')} {row.get('integrity', '')}"
        for name in {name for key in _YARN_KEY.findall(head[:-1]) for name in _list_names(*key)}:
            yield f"{name}@{row['version']}", text


def _list_names(quoted: str, plain: str) -> Iterator[str]:
    """Yield the name of a range, and that of the package behind an alias."""
    name, wanted = _split_package(quoted or plain)
    yield name
    if wanted.startswith("npm:"):
        yield _split_package(wanted.removeprefix("npm:"))[0]


# bun.lock


def _read_bun_rows(content: bytes) -> Rows:
    # JSON with trailing commas.
    lock = json.loads(re.sub(r",(?=\s*[}\]])", "", _decode(content)))
    if lock["lockfileVersion"] not in (0, 1, 2):
        raise ValueError(lock["lockfileVersion"])
    patches = lock.get("patchedDependencies", {})
    return Rows({}, _group_by_name(_name_bun_rows(lock["packages"].values(), patches)))


def _name_bun_rows(
    rows: Iterable[list[Any]], patches: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for row in rows:
        package = row[0]
        name, version = _split_package(package)
        text = json.dumps([package, row[-1], patches.get(package, "")])
        yield (package if _is_plain(version) else name), text


def _read_manifest_fields(content: bytes) -> Rows:
    """Read the fields in the order of the file: conditions of `exports` depend on it, and of two
    equal keys the bundler takes the first."""
    pairs = json.loads(content, object_pairs_hook=tuple)
    if not isinstance(pairs, tuple):
        raise TypeError("not an object")
    return Rows({FIELDS_ROW: repr([pair for pair in pairs if pair[0] in _FIELDS])}, {})


def _decode(content: bytes) -> str:
    return content.decode().replace("\r\n", "\n")


_NUMBER = re.compile(r"\d+\.\d+\.\d+(?:[-+][\w.+-]*)?")


def _is_plain(version: str) -> bool:
    """Return whether a version is a number, and not the source of an archive or a directory."""
    return _NUMBER.fullmatch(version) is not None


def _split_package(text: str) -> tuple[str, str]:
    """Split `name@version` at its first `@`, because URLs can contain others. The `@` of a scope
    does not count."""
    at = text.find("@", 1)
    return (text[:at], text[at + 1 :]) if at > 0 else (text, "")


_READERS: Mapping[str, Callable[[bytes], Rows]] = {
    "package-lock.json": _read_npm_rows,
    "npm-shrinkwrap.json": _read_npm_rows,
    ".package-lock.json": _read_npm_rows,
    "pnpm-lock.yaml": _read_pnpm_rows,
    "yarn.lock": _read_yarn_rows,
    "bun.lock": _read_bun_rows,
    "package.json": _read_manifest_fields,
}
