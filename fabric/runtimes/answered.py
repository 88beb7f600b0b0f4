"""Which of the modules that a function imports its own archive answers; loads no parser."""

import os
import re
from collections.abc import Iterable, Iterator

from fabric.runtimes.contract import Built, WantedModule

_CODE = re.compile(r"\.(py|pyc|so|[\w-]+\.so)$")


def not_in_archive(built: Built) -> tuple[WantedModule, ...]:
    """Those that none of the files answers; each once, at its first place."""
    there = set(_modules(file.path for file in built.files))
    missing: dict[tuple[str, str], WantedModule] = {}
    for one in built.wanted:
        if there.isdisjoint(one.places):
            missing.setdefault((one.module, one.file), one)
    return tuple(missing.values())


def _modules(paths: Iterable[str]) -> Iterator[str]:
    """Every folder that holds something is a package to Python, with or without `__init__.py`."""
    yield "."
    for path in paths:
        if _CODE.search(path):
            yield _CODE.sub("", path)
        folder = os.path.dirname(path)
        while folder:
            yield folder
            folder = os.path.dirname(folder)
