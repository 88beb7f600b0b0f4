"""Wheels that are built from repositories. The build backend needs no other package."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from fabric.model.builds.python_target import PythonTarget
from fabric.model.problems import FabricError
from fabric.runtimes.packages.git_sources import GitSource, list_git_sources, parse_git_line
from fabric.runtimes.packages.git_wheels import (
    DependencyReader,
    GitWheel,
    ListedSource,
    build_git_wheel,
    check_wheel_system,
    read_listing_files,
)
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.git_packages import PackageRepository

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ENV = {
    "PATH": ENVIRONMENT["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "PIP_CONFIG_FILE": "/dev/null",
    "PIP_NO_INDEX": "1",
}


def build(line: str, tool: str = "uv", *, text: str = "", **env: str) -> GitWheel:
    source = parse_git_line(line)
    assert isinstance(source, GitSource)
    listed = ListedSource(source, {"requirements.txt": f"six==1\n{line}\n{text}"})
    return build_git_wheel(listed, {**ENV, "FABRIC_PIP": tool, **env})


@pytest.mark.slow
def test_uv_and_pip_build_equal_files(tmp_path: Path) -> None:
    repository = PackageRepository(tmp_path / "kit")
    wheels = [build(repository.line, tool) for tool in ("uv", "pip")]
    first, second = [{file.path: file.content for file in one.list_files()} for one in wheels]
    assert first == second
    assert first["kit.py"] == b"VALUE = 'first'\n"
    assert [one.system.split(" ")[1:] for one in wheels] == [["py3-none-any"]] * 2


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_a_build_gets_settings_of_the_network_and_no_credentials(tmp_path: Path, tool: str) -> None:
    repository = PackageRepository(tmp_path / "kit")
    repository.write({"backend.py": "import os\nraise SystemError(sorted(os.environ))\n"})
    with pytest.raises(FabricError) as caught:
        build(
            repository.line,
            tool,
            text="--extra-index-url https://${INDEX_LOGIN}@index.example/simple\n",
            INDEX_LOGIN="user",
            HTTPS_PROXY="http://127.0.0.1:9",
            **dict.fromkeys(("CLOUD1_SECRET_ACCESS_KEY", "GITHUB_TOKEN"), "x"),
        )
    frame = caught.value.first.frame
    assert "'HTTPS_PROXY'" in frame
    assert "'SOURCE_DATE_EPOCH'" in frame
    assert not any(name in frame for name in ("CLOUD1", "GITHUB_TOKEN"))


def test_a_package_with_another_name_is_rejected_with_its_line(tmp_path: Path) -> None:
    repository = PackageRepository(tmp_path / "kit")
    with pytest.raises(FabricError) as caught:
        build(repository.line.replace("kit @", "kat @"))
    problem = caught.value.first
    assert (problem.code, problem.where and problem.where.line) == ("vendor/wrong-package", 2)


def test_a_failed_build_is_reported_with_its_output(tmp_path: Path) -> None:
    repository = PackageRepository(tmp_path / "kit")
    repository.write({"backend.py": "raise SystemError('no compiler here')\n"})
    with pytest.raises(FabricError) as caught:
        build(repository.line)
    assert caught.value.first.code == "vendor/build-failed"
    assert "no compiler here" in caught.value.first.frame


def test_a_missing_git_is_reported_with_the_package(tmp_path: Path) -> None:
    repository = PackageRepository(tmp_path / "kit")
    with pytest.raises(FabricError, match="cannot start `git`.* `kit` from git") as caught:
        build(repository.line, PATH=str(tmp_path))
    assert caught.value.first.where is not None


def test_a_missing_subdirectory_is_reported(tmp_path: Path) -> None:
    repository = PackageRepository(tmp_path / "kit")
    with pytest.raises(FabricError, match="no directory `lib`"):
        build(f"{repository.line}#subdirectory=lib")


@pytest.mark.parametrize(
    ("needed", "expected"),
    [
        (f"kit[all] @ git+https://git.example/kit.git@{COMMIT}", "Requires-Dist: kit[all]"),
        ("kit @ git+https://git.example/kit@main", "Requires-Dist: kit"),
        (
            'kit @ git+https://git.example/x@main ; extra == "x"',
            'Requires-Dist: kit @ git+https://git.example/x@main ; extra == "x"',
        ),
        ("six>=1", "Requires-Dist: six>=1"),
        (f"kit @ git+https://git.example/kit@{'a' * 40}", ""),
        ("kit @ git+https://git.example/x@main", ""),
    ],
)
def test_a_dependency_from_git_is_that_of_the_requirements(
    tmp_path: Path, needed: str, expected: str
) -> None:
    top = PackageRepository(tmp_path / "top", name="top", requires=[needed])
    sources = list_git_sources((top.line, f"kit @ git+https://git.example/kit@{COMMIT}"))
    reader = DependencyReader(
        sources=sources, targets=[PythonTarget("3.12", "x86_64")], folder=tmp_path
    )
    listed = ListedSource(sources[0], {"requirements.txt": top.line})
    if not expected:
        with pytest.raises(FabricError, match="`top` needs `kit` from git"):
            reader.write_line(listed, {**ENV, "FABRIC_PIP": "uv"})
        return
    line = reader.write_line(listed, {**ENV, "FABRIC_PIP": "uv"})
    file = tmp_path / "top-1.0-py3-none-any.whl"
    assert line == f"top @ {file.as_uri()}\n"
    with ZipFile(file) as archive:
        metadata = archive.read("top-1.0.dist-info/METADATA").decode().splitlines()
    assert metadata[3:] == [expected]


def test_a_subdirectory_that_is_a_link_out_of_the_repository_is_rejected(tmp_path: Path) -> None:
    other = PackageRepository(tmp_path / "other")
    repository = PackageRepository(tmp_path / "kit")
    (tmp_path / "kit" / "lib").symlink_to(tmp_path / "other")
    repository.change("link")
    assert other.commit
    with pytest.raises(FabricError, match="no directory `lib`"):
        build(f"{repository.line}#subdirectory=lib")


@pytest.mark.parametrize(
    ("system", "target"),
    [
        ("36 py3-none-any", PythonTarget("3.12", "arm64")),
        ("36 py2-none-any py3-none-any", PythonTarget("3.9", "x86_64")),
        ("34 cp312-cp312-linux_x86_64", PythonTarget("3.12", "x86_64", 34)),
        ("34 cp38-abi3-linux_x86_64", PythonTarget("3.12", "x86_64", 34)),
        ("36 cp312-cp312-manylinux_2_17_x86_64", PythonTarget("3.12", "x86_64", 34)),
    ],
)
def test_a_wheel_for_the_target_is_used(system: str, target: PythonTarget) -> None:
    check_wheel_system("kit", system, target)


@pytest.mark.parametrize(
    ("system", "target"),
    [
        ("34 cp312-cp312-linux_x86_64", PythonTarget("3.12", "arm64", 34)),
        ("34 cp311-cp311-linux_x86_64", PythonTarget("3.12", "x86_64", 34)),
        ("36 cp312-cp312-linux_x86_64", PythonTarget("3.12", "x86_64", 34)),
        ("36 cp312-cp312-manylinux_2_35_x86_64", PythonTarget("3.12", "x86_64", 34)),
        ("34 cp312-cp312-musllinux_1_2_x86_64", PythonTarget("3.12", "x86_64", 34)),
        (" cp312-cp312-macosx_14_0_arm64", PythonTarget("3.12", "arm64", 34)),
    ],
)
def test_a_wheel_for_another_system_is_rejected_by_name(system: str, target: PythonTarget) -> None:
    with pytest.raises(FabricError, match="built wheel of `kit` is for") as caught:
        check_wheel_system("kit", system, target)
    assert caught.value.first.code == "vendor/no-wheel"


def test_deleted_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("six\n")
    found = read_listing_files(tmp_path, ["requirements.txt", "uv.lock"])
    assert found == {"requirements.txt": "six\n"}
