"""Packages that do not come from the index are never looked up there; unread locks are named."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.runtimes.packages.requirements import Pin, read_project_requirements, render_lock
from tests.support.in_process import project
from tests.support.package_index import PackageIndex, serve_index
from tests.support.project import Project, handler

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.12}
functions: [{name: one, entry: one.py}]
"""
MEMBER = '[project]\nname = "api"\nversion = "1"\ndependencies = ["core", "click"]\n'
REFUSED = {
    "a member of a workspace": MEMBER + "[tool.uv.sources]\ncore = {workspace = true}\n",
    "a path": MEMBER + '[tool.uv.sources]\ncore = {path = "../core", editable = true}\n',
    "a repository": MEMBER + '[tool.uv.sources]\ncore = {git = "https://git.example/core"}\n',
    "another index": MEMBER + '[tool.uv.sources]\ncore = [{index = "ours"}]\n',
    "a path of Poetry": MEMBER + '[tool.poetry.dependencies]\ncore = {path = "../core"}\n',
    "a repository of Poetry": MEMBER + '[tool.poetry.dependencies]\ncore = {git = "../core"}\n',
    "another spelling": MEMBER.replace('"core"', '"Core[fast]>=1"')
    + "[tool.uv.sources]\nCORE = {workspace = true}\n",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PackageIndex]:
    """An index without packages."""
    (tmp_path / "index").mkdir()
    with serve_index(tmp_path / "index") as served:
        yield served


def shop(folder: Path, **files: str) -> Project:
    made = project(folder, CONFIG, {"one.py": handler("one")})
    made.write({name.replace("__", "."): text for name, text in files.items()})
    return made


@pytest.mark.parametrize("words", [("plan",), ("build",), ("package",), ("deploy",)], ids=" ".join)
@pytest.mark.parametrize("origin", REFUSED)
def test_a_package_from_elsewhere_is_refused_by_name_and_never_looked_up(
    tmp_path: Path, index: PackageIndex, origin: str, words: tuple[str, ...]
) -> None:
    made = shop(tmp_path, pyproject__toml=REFUSED[origin])
    done = made.json(*words, env=index.settings)
    assert done.code == 65
    assert done.error["code"] == "input/package-source"
    assert "`core`" in done.error["message"]
    assert index.requests == []


@pytest.mark.parametrize(
    "table",
    [
        "[tool.uv.workspace]\nmembers = ['*']\n",
        "[ tool.uv.workspace ]\nmembers = ['*']\n",
        "[tool.uv]\nworkspace = {members = ['*']}\n",
    ],
)
def test_the_sources_of_the_workspace_above_count(
    tmp_path: Path, index: PackageIndex, table: str
) -> None:
    made = shop(tmp_path, pyproject__toml=MEMBER)
    root = f"{table}[tool.uv.sources]\ncore = {{workspace = true}}\n"
    (made.root.parent / "pyproject.toml").write_text(root)
    assert made.json("package", env=index.settings).error["code"] == "input/package-source"
    assert index.requests == []


def test_requirement_with_its_own_source_is_rejected(tmp_path: Path, index: PackageIndex) -> None:
    made = shop(tmp_path, pyproject__toml=REFUSED["a path"], requirements__txt="Core\n")
    assert made.json("package", env=index.settings).error["code"] == "input/package-source"
    assert index.requests == []


@pytest.mark.parametrize("table", ["uv.index", "poetry.source"])
def test_an_index_of_another_tool_is_named(tmp_path: Path, table: str) -> None:
    url = "https://user:a-password@ours.example/simple"
    source = f'{MEMBER}[[tool.{table}]]\nname = "ours"\nurl = "{url}"\n'
    done = shop(tmp_path, pyproject__toml=source).fabric("plan")
    assert "vendor/index-ignored" in done.err
    assert "`ours`" in done.err
    assert "a-password" not in done.err + done.out


def test_a_lock_that_an_earlier_run_wrote_is_refused_too(
    tmp_path: Path, index: PackageIndex
) -> None:
    """It may hold the package of somebody else."""
    source = REFUSED["a path"]
    made = shop(tmp_path, pyproject__toml=MEMBER)
    text = read_project_requirements(source)
    made.write({"requirements.lock": render_lock("pyproject.toml", text, [Pin("core", "9")])})
    made.write({"pyproject.toml": source})
    assert made.json("package", env=index.settings).error["code"] == "input/package-source"


@pytest.mark.parametrize("line", ["./libs/foo", "-e .", "--editable=./x", "foo @ file:./libs/foo"])
def test_a_path_in_requirements_is_refused_with_its_line(
    tmp_path: Path, index: PackageIndex, line: str
) -> None:
    made = shop(tmp_path, requirements__txt=f"click==8.1.7\n{line}\n")
    done = made.json("package", env=index.settings)
    assert (done.code, done.error["code"]) == (65, "input/package-path")
    assert f"`{line}`" in done.error["message"]
    assert index.requests == []


def test_a_pipfile_without_a_lock_is_an_error(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"Pipfile": "[packages]\n"})
    done = made.json("plan")
    assert done.error["code"] == "input/lock-missing"
    assert (done.error["message"], done.error["hint"]) == (
        "`Pipfile` has no lock",
        "run: pipenv lock",
    )
    made.write({"requirements.txt": "click==8.1.7\n"})
    warnings = made.json("plan").result["services"][0]["warnings"]
    assert warnings == ["ignoring `Pipfile`: versions come from `requirements.txt`"]


def test_exported_lock_suppresses_the_ignored_lock_warning(tmp_path: Path) -> None:
    made = shop(tmp_path, requirements__lock="click==8.1.7 --hash=sha256:" + "a" * 64 + "\n")
    made.write({"uv.lock": "", "pyproject.toml": REFUSED["a path"]})
    done = made.json("plan")
    assert done.code == 0
    assert "lock-ignored" not in done.err
