"""Packages in the checkout: which modules are copied, and which files are noticed."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.packages.locks.checkout import copy_packages
from tests.support.runtimes_project import digests, names, unchanged, write

PROJECT = '[project]\nname = "my-core"\n[build-system]\nbuild-backend = "hatchling.build"\n'
CORE = (("my-core", "libs/core"),)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("src/my_core/__init__.py", "src/my_core/data.json", "setup.py"),
         ["my_core/__init__.py", "my_core/data.json"]),
        (("src/other.py", "src/my_core.egg-info/PKG-INFO"), ["other.py"]),
        (("my_core/__init__.py", "my_core/__pycache__/a.pyc", "my_core/b.pyc", "tests/test_a.py"),
         ["my_core/__init__.py"]),
        (("My_Core.py", "conftest.py"), ["My_Core.py"]),
        (("my_core/__init__.py", "my_core/.env"), ["my_core/__init__.py"]),
    ],
)  # fmt: skip
def test_the_modules_of_a_package_are_copied(
    files: tuple[str, ...], expected: list[str], tmp_path: Path
) -> None:
    write(tmp_path / "libs/core", {**dict.fromkeys(files, ""), "pyproject.toml": PROJECT})
    assert names(copy_packages(tmp_path, CORE)) == expected


def test_each_edit_and_each_new_module_is_noticed(tmp_path: Path) -> None:
    write(
        tmp_path / "libs/core", {"src/my_core/__init__.py": "", "pyproject.toml": PROJECT, "a": ""}
    )
    seen = copy_packages(tmp_path, CORE).seen
    known = digests(tmp_path, seen)
    write(tmp_path, {"libs/core/a": "changed", "libs/core/tests/test_a.py": ""})
    assert unchanged(tmp_path, seen, known)
    for name in ("pyproject.toml", "src/my_core/__init__.py", "src/my_core/new.py"):
        before = (tmp_path / "libs/core" / name).read_text() if "new" not in name else None
        write(tmp_path / "libs/core", {name: "changed"})
        assert not unchanged(tmp_path, seen, known)
        if before is not None:
            write(tmp_path / "libs/core", {name: before})


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"lib/my_core.py": "", "pyproject.toml": PROJECT}, "no Python module of package"),
        ({"pyproject.toml": PROJECT}, "no Python module of package `my-core` found in `libs/core`"),
        ({"src/my_core.py": "", "pyproject.toml": PROJECT.replace("hatchling.build", "maturin")},
         "`maturin`"),
    ],
)  # fmt: skip
def test_a_package_that_cannot_be_copied_is_refused_by_name(
    files: dict[str, str], words: str, tmp_path: Path
) -> None:
    write(tmp_path / "libs/core", files)
    with pytest.raises(FabricError) as caught:
        copy_packages(tmp_path, CORE)
    assert caught.value.first.code == "input/package-source"
    assert words in caught.value.first.message
    assert caught.value.first.hint
    assert str(caught.value.first.where) == "libs/core/pyproject.toml"


def test_a_link_to_the_outside_is_refused(tmp_path: Path) -> None:
    work = write(tmp_path / "work", {"libs/core/src/my_core/__init__.py": ""})
    (tmp_path / "secret.py").write_text("")
    (work / "libs/core/src/my_core/secret.py").symlink_to(tmp_path / "secret.py")
    with pytest.raises(FabricError) as caught:
        copy_packages(work, CORE)
    assert caught.value.first.code == "build/include-outside"


def test_a_missing_directory_is_reported_as_such(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match="not found: `libs/core`"):
        copy_packages(tmp_path, CORE)
