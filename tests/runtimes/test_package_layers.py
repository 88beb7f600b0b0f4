"""Layers of packages: an upgrade changes one layer."""

from collections.abc import Sequence

import pytest

from fabric.model.names import Digest
from fabric.runtimes.archive import PackedFile, pack_file
from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.package_layers import find_module, group_packages


def _package(name: str, size: int, version: int = 1) -> list[PackedFile]:
    """A package of one module with so many packed bytes, and its metadata."""
    module = PackedFile(
        path=f"{name}/__init__.py",
        sha256=Digest(f"{name} {version}"),
        size=size,
        crc=0,
        deflated=bytes(size),
    )
    return [module, pack_file(BuiltFile(f"{name}-{version}.0.dist-info/METADATA", b""))]


def _contents(files: Sequence[PackedFile]) -> set[frozenset[tuple[str, str]]]:
    return {
        frozenset((one.path, one.sha256) for one in group) for group in group_packages(files, {})
    }


def test_small_packages_share_one_layer() -> None:
    files = [file for name in ("click", "flask", "jinja2") for file in _package(name, 1000)]
    assert len(group_packages(files, {})) == 1


def test_an_upgrade_of_one_of_many_packages_changes_one_layer() -> None:
    names = [f"package{number}" for number in range(12)]
    files = [file for name in names for file in _package(name, 4 << 20)]
    kept = [one for one in files if not one.path.startswith("package5")]
    before, after = _contents(files), _contents([*kept, *_package("package5", 5 << 20, 2)])
    assert len(before) > 2
    assert len(before - after) == 1


def test_a_large_package_has_a_separate_layer() -> None:
    groups = group_packages([*_package("small", 10), *_package("numpy", 11 << 20)], {})
    assert [{one.path.split("/")[0] for one in group} for group in groups] == [
        {"small", "small-1.0.dist-info"},
        {"numpy", "numpy-1.0.dist-info"},
    ]


def test_files_of_no_package_are_in_a_layer_too() -> None:
    [group] = group_packages([pack_file(BuiltFile("loose.py", b"1"))], {})
    assert [one.path for one in group] == ["loose.py"]


def test_files_of_a_wheel_stay_together() -> None:
    paths = ("google/cloud/storage.py", "google_cloud_storage-2.0.dist-info/METADATA")
    files = [file for one in range(30) for file in _package(f"other{one}", 2 << 20)]
    own = [pack_file(BuiltFile(one, b"1")) for one in paths]
    groups = group_packages([*files, *own], dict.fromkeys(paths, "google-cloud-storage"))
    assert len(groups) > 2
    assert sum(any(one.path in paths for one in group) for group in groups) == 1


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("numpy/core/a.so", "numpy"),
        ("numpy.libs/lib.so", "numpy"),
        ("numpy-2.1.3.dist-info/METADATA", "numpy"),
        ("six.py", "six"),
        ("_cffi_backend.cpython-312-x86_64-linux-gnu.so", "_cffi_backend"),
        ("PyYAML-6.0.dist-info/METADATA", "pyyaml"),
    ],
)
def test_without_wheels_files_belong_to_their_module(path: str, module: str) -> None:
    assert find_module(path) == module
