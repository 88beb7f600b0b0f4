"""Directories of the checkout in requirements.txt."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.packages.requirement_files import VendorSource, read_public_source
from tests.support.runtimes_project import write

LIB = (
    '[project]\nname = "My_Lib"\ndependencies = ["idna"]\noptional-dependencies = {fast = ["x"]}\n'
)


def read(folder: Path, text: str, files: dict[str, str] | None = None) -> VendorSource:
    write(folder, {"api/requirements.txt": text, "lib/pyproject.toml": LIB, **(files or {})})
    return read_public_source(folder, "api")


@pytest.mark.parametrize(
    ("line", "needs"),
    [
        ("../lib", "idna"),
        ("-e ../lib  # ours", "idna"),
        ("--editable=../lib[fast]", "idna x"),
        ("-e file:../lib", "idna"),
        ("my-lib[fast] @ file:../lib", "idna x"),
    ],
)
def test_a_directory_is_copied_and_its_dependencies_count(
    tmp_path: Path, line: str, needs: str
) -> None:
    found = read(tmp_path, f"click\n{line}\n")
    assert found.text.split() == ["click", *needs.split()]
    assert found.folders == (("my-lib", "lib"),)
    assert "lib/pyproject.toml" in found.seen.files


def test_a_project_that_lists_itself_is_copied_once(tmp_path: Path) -> None:
    own = '[project]\nname = "api"\ndependencies = ["flask", "my-lib @ file:../lib"]\n'
    found = read(tmp_path, "-e .\n", {"api/pyproject.toml": own})
    assert found.text.split() == ["flask", "idna"]
    assert found.folders == (("api", "api"), ("my-lib", "lib"))


def test_a_directory_without_dependencies_is_enough(tmp_path: Path) -> None:
    found = read(tmp_path, "-e .\n", {"api/pyproject.toml": '[project]\nname = "api"\n'})
    assert (found.text, found.folders) == ("", (("api", "api"),))


def test_a_lock_of_fabric_keeps_the_directories(tmp_path: Path) -> None:
    first = read(tmp_path, "../lib\n")
    lock = f"# Locked by fabric from {first.file} 0\nidna==3.7\n"
    found = read(tmp_path, "../lib\n", {"api/requirements.lock": lock})
    assert found.folders == (("my-lib", "lib"),)
    found = read(tmp_path, "../lib\n", {"api/requirements.lock": "idna==3.7\n"})
    assert (found.text, found.folders) == ("idna==3.7\n", ())


SOURCES = LIB + "[tool.uv.sources]\nidna = {workspace = true}\n"


@pytest.mark.parametrize(
    ("line", "files", "code"),
    [
        ("../gone", {}, "input/package-path"),
        ("../../lib", {"../lib/pyproject.toml": LIB}, "input/package-path"),
        ("../lib", {"lib/pyproject.toml": "[project]\n"}, "input/package-source"),
        ("../lib", {"lib/pyproject.toml": SOURCES}, "input/package-source"),
        ("../lib", {"lib/pyproject.toml": "="}, "input/bad-toml"),
        ("../lib[slow]", {}, "input/unknown-group"),
        ("-e git+https://git.example/x@abc#egg=x", {}, "input/package-source"),
        ("x @ git+https://git.example/x@abc", {}, "input/package-source"),
        ("hg+https://git.example/x@abc", {}, "input/package-source"),
        ("./x-1.0-py3-none-any.whl", {"api/x-1.0-py3-none-any.whl": ""}, "input/package-path"),
    ],
)
def test_directories_that_cannot_be_copied_are_refused(
    tmp_path: Path, line: str, files: dict[str, str], code: str
) -> None:
    with pytest.raises(FabricError) as caught:
        read(tmp_path / "workspace", f"{line}\n", files)
    assert caught.value.first.code == code
    assert caught.value.first.hint or code == "input/bad-toml"


def test_the_password_of_a_repository_is_not_printed(tmp_path: Path) -> None:
    with pytest.raises(FabricError) as caught:
        read(tmp_path, "x @ git+https://user:a-password@git.example/x@abc\n")
    assert "git.example/x@abc" in caught.value.first.message
    assert "a-password" not in caught.value.first.message
