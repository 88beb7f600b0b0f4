"""A repository on two machines: folders and homes of their own, and nothing else in common."""

import shutil
from dataclasses import replace
from pathlib import Path

from tests.support import in_process
from tests.support.git import under_git
from tests.support.project import Project

SECRET = "hush-hush-4711"  # noqa: S105
CONFIG = f"""\
service: shop
provider: {{name: cloud1-lambda, runtime: python3.11}}
env: {{GREETING: "{SECRET}"}}
functions:
  - {{name: one, entry: src/one.handler}}
  - {{name: two, entry: src/two.handler}}
"""


def first_machine(folder: Path, config: str = CONFIG) -> Project:
    """With everything committed."""
    made = in_process.project(folder / "first", config)
    under_git(made)
    return made


def another_machine(first: Project, folder: Path) -> Project:
    """A clean checkout of the same commit, elsewhere."""
    root, home = folder / "elsewhere" / "deep" / "checkout", folder / "another-home"
    shutil.copytree(first.root, root, ignore=shutil.ignore_patterns(".fabric"), symlinks=True)
    home.mkdir(parents=True)
    return replace(first, root=root, home=home)
