"""The lock file names a version of everything that checks and tests install."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements-dev.lock"


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def read_locked() -> dict[str, str]:
    rows = (line for line in LOCK.read_text().splitlines() if not line.startswith("#"))
    pairs = (row.partition("==") for row in rows)
    return {normalize(name): version for name, _, version in pairs}


def test_each_direct_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {normalize(re.split(r"[\[<>=!~; ]", one, maxsplit=1)[0]) for one in wanted}
    assert names - read_locked().keys() <= {"serverless-fabric"}


def test_each_row_is_an_exact_version() -> None:
    assert all(read_locked().values())
