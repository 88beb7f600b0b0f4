"""Python packages in git repositories, with a build backend that needs no other package."""

from collections.abc import Iterable
from pathlib import Path

from tests.support.git import commit, git
from tests.support.project import Project
from tests.support.wheels import ANY

_PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
_BACKEND = """\
import os, pathlib, zipfile


def build_wheel(folder, settings=None, metadata=None):
    info = "{name}-1.0.dist-info"
    file = "{name}-1.0-{tag}.whl"
    needs = "".join(f"Requires-Dist: {{one}}\\n" for one in {requires!r})
    with zipfile.ZipFile(os.path.join(folder, file), "w") as wheel:
        wheel.writestr("{name}.py", pathlib.Path("module.py").read_text())
        wheel.writestr(
            f"{{info}}/METADATA", "Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n" + needs)
        wheel.writestr(f"{{info}}/WHEEL", "Wheel-Version: 1.0\\nTag: {tag}\\n")
        wheel.writestr(f"{{info}}/RECORD", "")
    return file
"""


class PackageRepository:
    """A repository with one package, whose module contains `VALUE`."""

    def __init__(
        self, folder: Path, *, name: str = "kit", tag: str = ANY, requires: Iterable[str] = ()
    ) -> None:
        self.name = name
        self._made = Project(folder, folder.parent / f"{folder.name}-home")
        folder.mkdir(parents=True)
        git(self._made, "init", "-q", "-b", "main")
        backend = _BACKEND.format(name=name, tag=tag, requires=list(requires))
        self._made.write({"pyproject.toml": _PROJECT, "backend.py": backend})
        self.url = folder.as_uri()
        self.commit = self.change("first")

    def change(self, value: str) -> str:
        """Commit another value, and return the commit."""
        self._made.write({"module.py": f"VALUE = '{value}'\n"})
        commit(self._made, value)
        self.commit = git(self._made, "rev-parse", "HEAD").strip()
        return self.commit

    def write(self, files: dict[str, str]) -> str:
        self._made.write(files)
        return self.change("more")

    @property
    def line(self) -> str:
        return f"{self.name} @ git+{self.url}@{self.commit}"

    def add_link(self, path: str, target: str) -> None:
        """Add a submodule at a commit."""
        git(self._made, "update-index", "--add", "--cacheinfo", f"160000,{target},{path}")
        git(self._made, "commit", "-qm", "link")
        self.commit = git(self._made, "rev-parse", "HEAD").strip()

    def drop_last_commit(self) -> None:
        """Make the last commit unreachable from each branch, as a force push does."""
        git(self._made, "reset", "-q", "--hard", "HEAD~1")
