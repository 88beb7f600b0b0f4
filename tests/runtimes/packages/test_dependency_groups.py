"""Groups and extras of a pyproject.toml without a lock."""

from pathlib import Path

import pytest

from fabric.model.builds.python_target import OptionalDependencies, PythonTarget
from fabric.model.problems import FabricError
from fabric.runtimes.packages.dependency_groups import read_dependencies
from fabric.runtimes.packages.requirement_files import (
    PackageFolders,
    PackageRequest,
    VendorSource,
    read_public_source,
)
from tests.support.runtimes_project import write

PROJECT = """\
[project]
name = "My_App"
dependencies = ["flask>=3"]
[project.optional-dependencies]
fast = ["orjson"]
all = ["my-app[fast,all]", "rich"]
[dependency-groups]
Worker = ["celery", {include-group = "base"}]
base = ["redis", "flask>=3"]
circle = [{include-group = "circle"}]
odd = [{unknown = "x"}, 3]
"""
TARGET = PythonTarget("3.12", "x86_64", 34)


@pytest.mark.parametrize(
    ("groups", "extras", "expected"),
    [
        ((), (), "flask>=3"),
        (("worker",), (), "flask>=3 celery redis"),
        ((), ("fast",), "flask>=3 orjson"),
        ((), ("all",), "flask>=3 rich orjson"),
        (("base", "odd"), ("Fast",), "flask>=3 orjson redis"),
    ],
)
def test_chosen_groups_and_extras_count_beside_the_main_dependencies(
    groups: tuple[str, ...], extras: tuple[str, ...], expected: str
) -> None:
    found = read_dependencies(PROJECT)
    assert found.list_lines(OptionalDependencies(groups, extras)) == tuple(expected.split())


def read(folder: Path, files: dict[str, str], *groups: str, extra: str = "") -> VendorSource:
    write(folder, files)
    optional = OptionalDependencies(groups, (extra,) if extra else ())
    return read_public_source(folder, ".", PackageRequest(target=TARGET, optional=optional))


@pytest.mark.parametrize(
    ("files", "group", "message"),
    [
        ({"pyproject.toml": PROJECT}, "prod", "`pyproject.toml` has `base`, `circle`, `odd`, `wor"),
        (
            {"pyproject.toml": PROJECT, "requirements.txt": "a\n"},
            "base",
            "`requirements.txt` has n",
        ),
        ({"requirements.lock": "a==1\n"}, "base", "`requirements.lock` has none"),
        ({}, "base", "`pyproject.toml` has none"),
    ],
)
def test_an_unknown_group_is_an_error_with_those_that_exist(
    tmp_path: Path, files: dict[str, str], group: str, message: str
) -> None:
    with pytest.raises(FabricError) as caught:
        read(tmp_path, files, group)
    assert caught.value.first.code == "input/unknown-group"
    assert message in caught.value.first.message
    with pytest.raises(FabricError, match="unknown extra `x`"):
        read(tmp_path, files, extra="x")


def test_a_group_that_includes_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match="`circle` includes itself"):
        read(tmp_path, {"pyproject.toml": PROJECT}, "circle")


def test_each_choice_has_a_lock_of_its_own(tmp_path: Path) -> None:
    read(tmp_path, {"pyproject.toml": PROJECT})
    found = read(tmp_path, {}, "worker", extra="fast")
    assert "requirements.with-extra-fast-group-worker.lock" in found.seen.absent


def test_sources_of_chosen_groups_are_never_looked_up_in_an_index(tmp_path: Path) -> None:
    files = {"pyproject.toml": PROJECT + "[tool.uv.sources]\ncelery = {workspace = true}\n"}
    assert read(tmp_path, files).text == "flask>=3\n"
    with pytest.raises(FabricError) as caught:
        read(tmp_path, files, "worker")
    assert caught.value.first.code == "input/package-source"


PYLOCK = 'lock-version = "1.0"\n[[packages]]\nname = "core"\ndirectory = { path = "./PATH" }\n'


def test_a_lock_of_a_group_is_read_for_the_group(tmp_path: Path) -> None:
    files = {f"{one}/x": "" for one in ("main", "worker")}
    files["pylock.toml"] = PYLOCK.replace("PATH", "main")
    files["pylock.worker.toml"] = PYLOCK.replace("PATH", "worker")
    assert read(tmp_path, files).folders == (("core", "main"),)
    found = read(tmp_path, files, "worker")
    assert (found.folders, found.warnings) == ((("core", "worker"),), ())
    write(tmp_path / "shop/api", {"pylock.worker.toml": ""})
    assert PackageFolders(tmp_path, "shop", ["worker"]).of("api/x.py").folder == "shop/api"
    assert PackageFolders(tmp_path, "shop").of("api/x.py").folder == "shop"


def test_an_outdated_group_is_refused(tmp_path: Path) -> None:
    files = {"pyproject.toml": PROJECT.replace("flask>=3", "core"), "core/x": ""}
    files["pylock.toml"] = PYLOCK.replace("PATH", "core")
    assert read(tmp_path, files).folders == (("core", "core"),)
    with pytest.raises(FabricError, match="redis") as caught:
        read(tmp_path, files, "base")
    assert caught.value.first.code == "input/lock-outdated"
