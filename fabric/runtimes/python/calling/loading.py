"""Load a module of the archive and find its handler."""

import importlib
import sys
from types import ModuleType

from fabric.runtimes.python.calling.handler_settings import HandlerSettings


class LoadedHandler:
    def __init__(self, found: object, name: str, convention: str, said: HandlerSettings) -> None:
        self.found = found
        self.name = name
        self.convention = convention
        self.said = said


def load_module(said: HandlerSettings) -> ModuleType:
    # The import path of hosts: the top of the archive, and no folder below it.
    sys.path[:] = [said.folder, *sys.path, *said.brought]
    return importlib.import_module(said.module.replace("/", "."))


def find_handler(module: ModuleType, said: HandlerSettings) -> LoadedHandler:
    """Find the handler that takes events; callers with other conventions check further."""
    name = _name(module, said)
    found = getattr(module, name)
    if not callable(found):
        raise TypeError(f"{said.module} has no function {name}: it is {found!r:.80}")
    return LoadedHandler(found, name, "event", said)


def _name(module: ModuleType, said: HandlerSettings) -> str:
    if said.name != "handler" or hasattr(module, said.name):
        return said.name
    return next((name for name in said.names if hasattr(module, name)), said.name)
