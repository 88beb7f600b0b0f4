"""The platform that Python packages are selected for."""

import pytest

from fabric.model.builds.python_target import PythonTarget
from fabric.model.problems import FabricError


def test_wheels_up_to_the_target_glibc_are_requested() -> None:
    flags = PythonTarget("3.12", "arm64", 28).flags()
    names = [flags[at + 1] for at, flag in enumerate(flags) if flag == "--platform"]
    assert names[0] == "manylinux_2_28_aarch64"
    assert {"manylinux_2_17_aarch64", "manylinux2014_aarch64"} < set(names)
    assert "manylinux_2_34_aarch64" not in names


def test_only_wheels_are_requested_and_never_sources() -> None:
    assert "--only-binary=:all:" in PythonTarget("3.12", "").flags()
    assert "--python-version=3.12" in PythonTarget("3.12", "").flags()


@pytest.mark.parametrize(
    ("architecture", "machine"),
    [("", "x86_64"), ("x86_64", "x86_64"), ("arm64", "aarch64"), ("aarch64", "aarch64")],
)
def test_an_architecture_has_the_name_that_wheels_use(architecture: str, machine: str) -> None:
    assert PythonTarget("3.12", architecture).machine == machine


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(FabricError, match="unsupported architecture for Python packages: `riscv`"):
        _ = PythonTarget("3.12", "riscv").machine


def test_the_title_has_version_machine_and_glibc() -> None:
    assert PythonTarget("3.12", "arm64", 34).title == "3.12-aarch64-glibc2.34"


@pytest.mark.parametrize(
    ("python", "full", "short"), [("3.12", "3.12.0", "3.12"), ("3.9.7", "3.9.7", "3.9")]
)
def test_markers_describe_the_target_and_not_this_machine(
    python: str, full: str, short: str
) -> None:
    markers = PythonTarget(python, "arm64").markers()
    assert markers["python_full_version"] == markers["implementation_version"] == full
    assert markers["python_version"] == short
    assert (markers["platform_machine"], markers["sys_platform"]) == ("aarch64", "linux")
