"""Which modules can be imported from the files of packages."""

import pytest

from fabric.tasks.unknown_imports import encode_modules


@pytest.mark.parametrize(
    ("paths", "modules"),
    [
        (["six.py", "six-1.16.dist-info/METADATA"], "six"),
        (["yaml/__init__.py", "yaml/loader.py", "_yaml/__init__.py"], "_yaml yaml"),
        (["fast.cpython-312-x86_64-linux-gnu.so", "slow.abi3.so"], "fast slow"),
        (["google/auth/__init__.py", "google/cloud/storage/__init__.py"],
         "google.auth google.cloud.storage"),
        (["ns/one.py", "ns/data.json"], "ns.one"),
        (["numpy.libs/libgfortran.so", "README.md"], ""),
    ],
)  # fmt: skip
def test_package_modules_are_those_that_can_be_imported(paths: list[str], modules: str) -> None:
    assert encode_modules(paths) == ("modules", modules)
