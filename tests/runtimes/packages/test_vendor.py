"""Real packages, as they were fetched from the index: for the target, never for this machine."""

from pathlib import Path

import pytest

from fabric.model.task_inputs import VendorInputs
from fabric.runtimes.archive import build_archive
from fabric.runtimes.packages.requirement_files import find_source
from fabric.runtimes.packages.vendor import vendor
from tests.support.downloads import COMPILED, PIP_OFFLINE
from tests.support.runtimes_project import names, write

# Each starts pip, some a few times.
pytestmark = pytest.mark.slow


def inputs(source: str, python: str = "3.12", platform: str = "arm64") -> VendorInputs:
    return VendorInputs("shop", "api", source, python, platform)


def test_wheels_are_the_targets(tmp_path: Path) -> None:
    built = vendor(tmp_path, inputs(f"{COMPILED}\n"), PIP_OFFLINE)
    assert "markupsafe/_speedups.cpython-312-aarch64-linux-gnu.so" in names(built)
    assert not any("__pycache__" in name or name.endswith("/RECORD") for name in names(built))
    assert built.warnings == ()


def test_unpinned_requirements_are_locked_and_the_lock_gives_the_same_bytes(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"api/requirements.txt": "markupsafe>=3  # newest\n"})
    before = find_source(tmp_path, "api")
    assert before is not None
    first = vendor(tmp_path, inputs(before.text), PIP_OFFLINE)
    assert [problem.code for problem in first.warnings] == ["vendor/locked"]
    after = find_source(tmp_path, "api")
    assert after is not None
    assert after.file == "api/requirements.lock"
    second = vendor(tmp_path, inputs(after.text), PIP_OFFLINE)
    assert second.warnings == ()
    assert build_archive(first.files) == build_archive(second.files)
    other = vendor(tmp_path, inputs(after.text, platform="x86_64"), PIP_OFFLINE)
    assert "markupsafe/_speedups.cpython-312-x86_64-linux-gnu.so" in names(other)
