"""Wheels as files: their names, and the dependencies that no other wheel meets."""

import zipfile
from pathlib import Path

import pytest

from fabric.model.python_target import PythonTarget
from fabric.runtimes.wheels import list_unmet_dependencies, read_wheel_name
from tests.support.wheels import write_wheel

TARGET = PythonTarget("3.12", "arm64").markers()


def unmet(folder: Path, requirements: str) -> tuple[tuple[str, str], ...]:
    found = [zipfile.ZipFile(one) for one in folder.glob("*/*.whl")]
    metadata = [one.read(name) for one in found for name in one.namelist() if "METADATA" in name]
    return list_unmet_dependencies(metadata, requirements, TARGET)


@pytest.mark.parametrize(
    ("requires", "listed", "missing"),
    [
        ("late", "app==1.0", True),
        ("Late.Name>=2", "app==1.0", True),
        ("other", "app==1.0", False),
        ("late ; python_version >= '3.12'", "app==1.0", True),
        ("late ; python_version < '3.12'", "app==1.0", False),
        ("late ; platform_machine == 'x86_64'", "app==1.0", False),
        ("late ; extra == 'more'", "app==1.0", False),
        ("late ; extra == 'more'", "App[More]==1.0 --hash=sha256:00", True),
    ],
)
def test_a_dependency_that_the_target_needs_and_no_wheel_meets_is_unmet(
    requires: str, listed: str, tmp_path: Path, *, missing: bool
) -> None:
    write_wheel(tmp_path, "app", [requires])
    write_wheel(tmp_path, "other")
    found = unmet(tmp_path, listed)
    assert bool(found) is missing
    assert all(owner == "app" for _, owner in found)


def test_a_dependency_that_cannot_be_parsed_is_not_checked(tmp_path: Path) -> None:
    odd = ["late (>=1.0dev-r5", "dep (>=1.0.*)", "x ; sys_platform ~= 'linux'", "y ; 'x' in extras"]
    write_wheel(tmp_path, "app", [*odd, "needed"])
    assert unmet(tmp_path, "app==1.0") == (("needed", "app"),)


def test_the_name_of_a_wheel_is_normalized() -> None:
    assert read_wheel_name("Zope.Interface-5.0-py3-none-any.whl") == "zope-interface"
    assert read_wheel_name("alpha-2004d-py3-none-any.whl") == "alpha"
