"""Projects in Python that grow by random edits, with every way to import and to miss a module."""

import random
from pathlib import Path

from tests.support.runtimes_project import python, write

FOLDERS = (
    "api",
    "api/src",
    "api/src/pkg",
    "api/pkg",
    "api/pkg/sub",
    "api/pkg/__pycache__",
    "api/data",
    "api/data/.venv/lib",
    "api/data/__pycache__",
    "libs/shared",
    "libs/shared/deep",
    "libs/shared/node_modules",
)
MODULES = ("a", "b", "pkg", "sub", "json", "__init__")
IMPORTS = (
    "import a",
    "import json",
    "import pkg.sub.a",
    "from pkg import a, b",
    "from pkg import *",
    "from pkg.sub import b",
    "from . import a",
    "from .pkg import sub",
    "from .. import b",
    "import src.pkg.b",
    "import pkg.__pycache__.a",
    "from pkg.__pycache__ import b",
    "importlib.import_module('pkg.b')",
    "importlib.import_module('.a', 'pkg')",
    "importlib.import_module(f'pkg.{1}')",
    "import shared.a",
    "from shared.deep import a, b",
    "from shared import b",
    "__all__ = ['a', 'sub']",
)
INCLUDE = ("../libs/shared/a.py", "../libs/shared/deep/**", "data/**", "data/.venv/lib/*.py")
INPUTS = python("src/hello.handler", include=INCLUDE)


def source(dice: random.Random) -> str:
    return "\n".join(
        [*dice.sample(IMPORTS, dice.randint(0, 4)), f"at = handler = {dice.randint(0, 99)}"]
    )


def edit(workspace: Path, dice: random.Random) -> None:
    files = sorted(path for path in workspace.rglob("*.py") if path.stem != "hello")
    if files and dice.random() < 0.4:
        dice.choice(files).unlink()
        return
    name = "src/hello" if dice.random() < 0.1 else ""
    name = f"api/{name}" if name else f"{dice.choice(FOLDERS)}/{dice.choice(MODULES)}"
    write(workspace, {f"{name}.py": source(dice)})
