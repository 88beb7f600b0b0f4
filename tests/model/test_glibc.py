"""Which wheels run at a provider: by the C library that its images have."""

import pytest

from fabric.model.catalog import PROVIDERS, find_glibc_version, find_provider_facts
from fabric.model.python_target import PythonTarget


@pytest.mark.parametrize(
    ("provider", "python", "glibc"),
    [
        ("cloud1-lambda", "3.9", 26),
        ("cloud1-lambda", "3.11", 26),
        ("cloud1-lambda", "3.12", 34),
        ("cloud1-lambda", "3.13.1", 34),
        ("cloud2-functions", "3.12", 35),
        ("cluster-orchestrator", "3.11", 36),
        ("cloud6-functions", "3.12", 17),
    ],
)
def test_each_runtime_has_a_c_library(provider: str, python: str, glibc: int) -> None:
    facts = find_provider_facts(provider)
    assert facts
    assert find_glibc_version(facts, python) == glibc


def test_no_provider_is_older_than_the_oldest_wheels() -> None:
    assert all(
        find_glibc_version(facts, f"3.{minor}") >= 17 for facts in PROVIDERS for minor in range(20)
    )


def test_wheels_up_to_the_target_glibc_are_requested() -> None:
    flags = PythonTarget("3.12", "arm64", 28).flags()
    names = [flags[at + 1] for at, flag in enumerate(flags) if flag == "--platform"]
    assert names[0] == "manylinux_2_28_aarch64"
    assert {"manylinux_2_17_aarch64", "manylinux2014_aarch64"} < set(names)
    assert "manylinux_2_34_aarch64" not in names
