"""Imports of a function that its own archive does not satisfy. Loads no parser."""

import os
import re
from collections.abc import Iterable, Iterator

from fabric.runtimes.contract import Built, ImportedModule

_CODE = re.compile(r"\.(py|pyc|so|[\w-]+\.so)$")


def find_unsatisfied_imports(built: Built) -> tuple[ImportedModule, ...]:
    """Return the imported modules that no file provides, each once, at its first place."""
    there = set(_list_modules(file.path for file in built.files))
    missing: dict[tuple[str, str], ImportedModule] = {}
    for one in built.wanted:
        if there.isdisjoint(one.places):
            missing.setdefault((one.module, one.file), one)
    return tuple(missing.values())


def _list_modules(paths: Iterable[str]) -> Iterator[str]:
    """Yield the modules of the archive. For Python, every non-empty directory is a package, even
    without `__init__.py`."""
    yield "."
    for path in paths:
        if _CODE.search(path):
            yield _CODE.sub("", path)
        folder = os.path.dirname(path)
        while folder:
            yield folder
            folder = os.path.dirname(folder)
