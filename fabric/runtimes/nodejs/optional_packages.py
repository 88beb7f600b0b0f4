"""Optional dependencies of packages: if they are not installed, they stay outside the bundle.

A framework loads them on demand and then reports the missing ones.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fabric.runtimes.entry import EntryFile
from fabric.runtimes.nodejs.lookups import package_folder
from fabric.runtimes.nodejs.tsconfig import package_name, read_jsonc

_UNRESOLVED = re.compile(r'Could not resolve "([^"./][^"]*)"')


def find_missing_optionals(entry: EntryFile, answer: Mapping[str, Any]) -> frozenset[str]:
    """Return the packages missing in a failed build, if all of them are declared optional."""
    errors = [] if answer["ok"] else answer["errors"]
    names = [_find_optional_package(entry, error) for error in errors]
    return frozenset(names) if all(names) else frozenset()


def _find_optional_package(entry: EntryFile, error: Mapping[str, Any]) -> str:
    """Return the package of an error; empty if its importer does not declare it optional."""
    missing, spot = _UNRESOLVED.match(error["text"]), error.get("place")
    if not missing or not spot:
        return ""
    asking = package_folder(os.path.normpath(os.path.join(entry.root, spot["file"])))
    name = package_name(missing[1])
    return name if asking and name in _list_declared(f"{asking}/package.json") else ""


def _list_declared(manifest: str) -> Iterator[str]:
    document = read_jsonc(manifest)
    peers = document.get("peerDependenciesMeta")
    for name, said in (peers if isinstance(peers, dict) else {}).items():
        if isinstance(said, dict) and said.get("optional") is True:
            yield name
    optional = document.get("optionalDependencies")
    yield from optional if isinstance(optional, dict) else ()
