"""The SSH library Fabric in the same environment is found, and named with what to do."""

from collections.abc import Mapping
from importlib.metadata import Distribution
from pathlib import Path, PurePath

from fabric.model.distribution import DISTRIBUTION
from fabric.system.mixed_installation import SSH_MODULE, find_mixed_installation


class Installed(Distribution):
    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def read_text(self, filename: str) -> str | None:
        return self._files.get(filename)

    def locate_file(self, path: object) -> PurePath:  # type: ignore[override]
        return Path(str(path))


def named(name: str) -> Installed:
    return Installed({"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 3.2.2\n"})


def test_an_environment_of_our_own_is_fine(tmp_path: Path) -> None:
    assert find_mixed_installation(tmp_path, [named(DISTRIBUTION), named("fabric-tools")]) is None


def test_the_library_beside_us_is_named_with_its_version(tmp_path: Path) -> None:
    problem = find_mixed_installation(tmp_path, [named(DISTRIBUTION), named("Fabric")])
    assert problem is not None
    assert "SSH library Fabric 3.2.2" in problem.message
    assert f"uv tool install {DISTRIBUTION}" in problem.hint


def test_files_of_the_library_in_our_package_are_worse(tmp_path: Path) -> None:
    (tmp_path / SSH_MODULE).touch()
    problem = find_mixed_installation(tmp_path, [])
    assert problem is not None
    assert str(tmp_path) in problem.message


def test_no_module_of_ours_has_the_name_of_one_of_theirs() -> None:
    import fabric

    assert fabric.__file__
    assert not (Path(fabric.__file__).parent / SSH_MODULE).exists()
