"""Packages of git repositories: built once, for all functions that need them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.support.git_packages import PackageRepository
from tests.support.in_process import project
from tests.support.package_index import PackageIndex, serve_index
from tests.support.project import Project, handler
from tests.support.wheels import write_wheel

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.12}
functions:
  - {name: one, entry: one.py}
  - {name: two, entry: two.py, architecture: arm64}
"""
LOCK = """\
version = 1
requires-python = ">=3.11"
[[package]]
name = "kit"
version = "1.0"
source = {{ git = "{url}?branch=main#{commit}" }}
[[package]]
name = "shop"
version = "1"
source = {{ virtual = "." }}
dependencies = [{{ name = "kit" }}]
"""
PYPROJECT = '[project]\nname = "shop"\nversion = "1"\ndependencies = ["kit"]\n'


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PackageIndex]:
    folder = tmp_path / "index"
    write_wheel(folder, "plain")
    # The package of the repository is in the index, too, with another owner.
    write_wheel(folder, "kit", version="9.0")
    write_wheel(folder, "around", ["kit"])
    with serve_index(folder) as served:
        yield served


@pytest.fixture
def repository(tmp_path: Path) -> PackageRepository:
    return PackageRepository(tmp_path / "kit", requires=["plain"])


def shop(folder: Path, files: dict[str, str]) -> Project:
    made = project(folder / "shop", CONFIG, {"one.py": handler("one"), "two.py": handler("two")})
    made.write(files)
    return made


def names(made: Project, function: str) -> set[str]:
    with ZipFile(made.root / f".fabric/build/shop/{function}.zip") as archive:
        return set(archive.namelist())


def kinds(data: dict[str, Any]) -> list[str]:
    return [one["id"].partition(":")[0] for one in data["tasks"] if one["action"] != "skip"]


def test_requirements_are_locked_with_the_dependencies_of_a_repository(
    tmp_path: Path, index: PackageIndex, repository: PackageRepository
) -> None:
    made = shop(tmp_path, {"requirements.txt": f"{repository.line}\naround\n"})
    first = made.json("package", env=index.settings)
    assert first.code == 0
    lock = (made.root / "requirements.lock").read_text()
    assert [line.split("==")[0] for line in lock.splitlines()[2:]] == [
        "around",
        "plain",
        repository.line,
    ]
    for function in ("one", "two"):
        assert {"kit.py", "plain.py", "around.py"} <= names(made, function)
        assert not any("kit-9.0" in name for name in names(made, function))
    requests = len(index.requests)
    assert "Nothing to do" in made.fabric("package", env=index.settings).out
    assert len(index.requests) == requests


def test_a_lock_names_the_commit_and_a_new_one_is_built_once(
    tmp_path: Path, index: PackageIndex
) -> None:
    repository = PackageRepository(tmp_path / "kit")
    lock = LOCK.format(url=repository.url, commit=repository.commit)
    made = shop(tmp_path, {"pyproject.toml": PYPROJECT, "uv.lock": lock})
    assert made.json("package", env=index.settings).code == 0
    assert "kit.py" in names(made, "one")
    assert index.requests == []
    commit = repository.change("second")
    made.write({"uv.lock": LOCK.format(url=repository.url, commit=commit)})
    plan = made.json("plan", env=index.settings).result
    assert kinds(plan).count("git-wheel") == 1
    told = made.fabric("explain", "package:shop/one", env=index.settings).out
    assert f"git-wheel:kit-{commit[:7]}-" in told
    assert "not built yet" in told


def test_a_compiled_wheel_for_another_system_is_rejected_by_name(
    tmp_path: Path, index: PackageIndex
) -> None:
    repository = PackageRepository(tmp_path / "kit", tag="cp38-abi3-win_amd64")
    lock = LOCK.format(url=repository.url, commit=repository.commit)
    made = shop(tmp_path, {"pyproject.toml": PYPROJECT, "uv.lock": lock})
    done = made.json("package", env=index.settings)
    assert done.code != 0
    assert done.error["code"] == "vendor/no-wheel"
    assert "`kit`" in done.error["message"]


def test_a_login_is_nowhere_in_the_cache(
    tmp_path: Path, index: PackageIndex, repository: PackageRepository
) -> None:
    url = "https://me:a-password@127.0.0.1:1/x"
    made = shop(tmp_path, {"requirements.lock": f"kit @ git+{url}@{repository.commit}\n"})
    done = made.fabric("package", env=index.settings)
    assert done.code != 0
    assert "a-password" not in done.out + done.err
    assert "git/unreachable" in done.err
    stored = [one for one in (made.root / ".fabric").rglob("*") if one.is_file()]
    stored += [one for one in made.home.rglob("*") if one.is_file()]
    assert stored
    assert not any(b"a-password" in one.read_bytes() for one in stored)


def test_a_lock_without_hashes_is_used_unchanged(
    tmp_path: Path, index: PackageIndex, repository: PackageRepository
) -> None:
    lock = f"{repository.line}\nplain==1.0\n"
    made = shop(tmp_path, {"requirements.lock": lock})
    done = made.json("package", env=index.settings)
    assert done.code == 0
    assert {"kit.py", "plain.py"} <= names(made, "one")
    assert (made.root / "requirements.lock").read_text() == lock
    assert made.json("package", env=index.settings).result["summary"]["ran"] == 0


def test_two_commits_of_a_package_are_rejected(
    tmp_path: Path, index: PackageIndex, repository: PackageRepository
) -> None:
    first = repository.line
    repository.change("second")
    made = shop(tmp_path, {"requirements.txt": f"{first}\n{repository.line}\n"})
    error = made.json("plan", env=index.settings).error
    assert error["code"] == "input/package-source"
    assert "lists two versions of `kit`, git+file://" in error["message"]
    other = f'{first.replace("@ git", "[all] @ git")} ; sys_platform == "win32"'
    made.write({"requirements.txt": f"{other}\n{repository.line}\n"})
    assert made.json("plan", env=index.settings).code == 0


def uv_settings(index: PackageIndex) -> dict[str, str]:
    """pip does not accept `file:` URLs in metadata."""
    return {name: index.settings[name] for name in ("PIP_INDEX_URL", "PIP_CONFIG_FILE")}


def test_a_package_from_git_can_need_another_that_is_listed(
    tmp_path: Path, index: PackageIndex, repository: PackageRepository
) -> None:
    other = 'gone @ git+https://127.0.0.1:1/gone@main ; sys_platform == "win32"'
    top = PackageRepository(tmp_path / "top", name="top", requires=[repository.line, other])
    made = shop(tmp_path, {"requirements.txt": f"{top.line}\n{repository.line}\n"})
    assert made.json("package", env=uv_settings(index)).code == 0
    assert {"top.py", "kit.py", "plain.py"} <= names(made, "one")


def test_a_package_that_another_needs_from_git_must_be_listed(
    tmp_path: Path, index: PackageIndex, repository: PackageRepository
) -> None:
    top = PackageRepository(tmp_path / "top", name="top", requires=[repository.line])
    made = shop(tmp_path, {"requirements.txt": f"{top.line}\n"})
    error = made.json("package", env=uv_settings(index)).error
    assert error["code"] == "vendor/incomplete"
    assert "`top` needs `kit` from git" in error["message"]
    assert error["hint"] == f"list `{repository.line}` in the requirements"


def test_a_repository_for_another_system_is_not_cloned(
    tmp_path: Path, index: PackageIndex, repository: PackageRepository
) -> None:
    other = f'gone @ git+https://127.0.0.1:1/x@{repository.commit} ; sys_platform == "win32"'
    made = shop(tmp_path, {"requirements.txt": f"{other}\n{repository.line}\n"})
    assert made.json("package", env=index.settings).code == 0
    assert other in (made.root / "requirements.lock").read_text()
