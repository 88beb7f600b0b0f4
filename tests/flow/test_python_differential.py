"""The same promise for Python: what was seen decides, over random edits."""

import random
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.archive import content_digest
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Seen
from tests.support.runtimes_project import digests, python, unchanged, write

EDITS = 150
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


RUNTIMES = Runtimes(Path("no-tools"), {}, install=False)


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


def clean_build(workspace: Path) -> tuple[str, Seen] | None:
    try:
        built = RUNTIMES.build(workspace, INPUTS)
    except FabricError:
        return None
    return content_digest(built.files), built.seen


@pytest.mark.parametrize("seed", range(8))
def test_equal_look_ups_mean_equal_bytes(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    write(tmp_path, {"api/src/hello.py": source(dice)})
    skipped = rebuilt = 0
    for number in range(EDITS):
        before = clean_build(tmp_path)
        assert before is not None
        known = digests(tmp_path, before[1])
        edit(tmp_path, dice)
        after = clean_build(tmp_path)
        if unchanged(tmp_path, before[1], known):
            skipped += 1
            assert after is not None, number
            assert after[0] == before[0], number
        else:
            rebuilt += 1
    assert skipped > 5
    assert rebuilt > 5
