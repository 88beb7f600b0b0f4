"""A module of the archive, and which of its names is the handler."""

import importlib
import os
import sys
from types import ModuleType

from fabric.runtimes.python.calling.said import Said


class LoadedHandler:
    def __init__(self, found: object, name: str, convention: str, said: Said) -> None:
        self.found = found
        self.name = name
        self.convention = convention
        self.said = said


def load_module(said: Said) -> ModuleType:
    top, *others = import_roots(said.folder, said.module)
    # Behind Python's own library, which is loaded where providers know the top alone.
    sys.path[:] = [top, *sys.path, *others, *said.brought]
    return importlib.import_module(said.module.replace("/", "."))


def import_roots(folder: str, module: str) -> list[str]:
    """Where the build looked for imports too: the top, the entry's folder, and those between."""
    parts = module.split("/")[:-1]
    deepest_first = range(len(parts), 0, -1)
    return [folder, *(os.path.join(folder, *parts[:depth]) for depth in deepest_first)]


def named_in(module: ModuleType, said: Said) -> LoadedHandler:
    """What takes events; whoever knows of other conventions looks closer."""
    name = _name(module, said)
    found = getattr(module, name)
    if not callable(found):
        raise TypeError(f"{said.module} has no function {name}: it is {found!r:.80}")
    return LoadedHandler(found, name, "event", said)


def _name(module: ModuleType, said: Said) -> str:
    if said.name != "handler" or hasattr(module, said.name):
        return said.name
    return next((name for name in said.names if hasattr(module, name)), said.name)
