"""Packages that others can do without: where they are not installed, they stay outside of a bundle.

A framework asks for them when they are wanted, and tells then that they are missing.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fabric.runtimes.entry import EntryFile
from fabric.runtimes.nodejs.lookups import package_folder
from fabric.runtimes.nodejs.tsconfig import package_name, read_jsonc

_UNRESOLVED = re.compile(r'Could not resolve "([^"./][^"]*)"')


def not_installed(entry: EntryFile, answer: Mapping[str, Any]) -> frozenset[str]:
    """What a failed build lacks, if it lacks nothing but what its packages declare as optional."""
    errors = [] if answer["ok"] else answer["errors"]
    names = [_optional(entry, error) for error in errors]
    return frozenset(names) if all(names) else frozenset()


def _optional(entry: EntryFile, error: Mapping[str, Any]) -> str:
    """The package that an error is about; empty where it is no optional one of who asks for it."""
    missing, spot = _UNRESOLVED.match(error["text"]), error.get("place")
    if not missing or not spot:
        return ""
    asking = package_folder(os.path.normpath(os.path.join(entry.root, spot["file"])))
    name = package_name(missing[1])
    return name if asking and name in _declared(f"{asking}/package.json") else ""


def _declared(manifest: str) -> Iterator[str]:
    document = read_jsonc(manifest)
    peers = document.get("peerDependenciesMeta")
    for name, said in (peers if isinstance(peers, dict) else {}).items():
        if isinstance(said, dict) and said.get("optional") is True:
            yield name
    optional = document.get("optionalDependencies")
    yield from optional if isinstance(optional, dict) else ()
