"""A service with one function, of any provider and language."""

from pathlib import Path

from tests.support.in_process import project
from tests.support.project import Project

HEAD = "# the shop\nservice: shop\nprovider: {name: PROVIDER, runtime: RUNTIME}  # here\n"
ONE = "functions:\n  - name: one  # first\n    entry: src/one.ENDING\n\n# the end\n"
RUNTIMES = {"ts": "nodejs20.x", "js": "nodejs20.x", "py": "python3.11"}


def shop(folder: Path, provider: str = "cloud1-lambda", lang: str = "py") -> Project:
    config = HEAD.replace("PROVIDER", provider).replace("RUNTIME", RUNTIMES[lang])
    return project(folder, config + ONE.replace("ENDING", lang), {f"src/one.{lang}": "\n"})


def read(made: Project, name: str = "fabric.yml") -> str:
    return (made.root / name).read_bytes().decode()
