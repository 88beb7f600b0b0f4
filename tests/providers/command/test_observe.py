"""Providers that fabric does not deploy to itself: a plan says so, with the reason."""

import pytest

from fabric.config.rules.deployable import plan_problems
from tests.support.config_texts import loaded


@pytest.mark.parametrize("version", ["18", "20", "22", "24"])
def test_a_runtime_that_hints_name_is_one(version: str) -> None:
    head = f"service: shop\nprovider: {{name: host1, runtime: nodejs{version}.x}}\n"
    assert not plan_problems(loaded(f"{head}functions: [{{name: a, entry: a.ts}}]\n"))
