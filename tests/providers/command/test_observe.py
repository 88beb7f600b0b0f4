"""Providers that fabric does not deploy to itself: a plan says so, with the reason."""

from pathlib import Path

import pytest

from fabric.config.rules.deployable import plan_problems
from fabric.model.catalog import PROVIDERS, ProviderFacts
from fabric.providers.registry import REAL_PROVIDERS
from tests.support.config_texts import loaded
from tests.support.in_process import project


@pytest.mark.parametrize(
    "facts", [one for one in PROVIDERS if one.id not in REAL_PROVIDERS], ids=lambda facts: facts.id
)
def test_plan_fails_if_no_deployer_is_available(facts: ProviderFacts, tmp_path: Path) -> None:
    made = project(tmp_path / "project")
    text = (made.root / "fabric.yml").read_text().replace("cloud1-lambda", facts.id)
    made.write({"fabric.yml": text})
    for words in (("plan",), ("deploy",)):
        done = made.json(*words, env={facts.real_deploy_variable: "1"})
        assert len(done.error["problems"]) == 1, done.out
        (problem,) = done.error["problems"]
        assert (done.code, problem["code"]) == (1, "deploy/no-deployer"), done.out
        assert "are not built in" in problem["message"]
        assert facts.deploy_command_variable in problem["hint"]
        assert problem["where"]["line"] > 0
    command = {facts.real_deploy_variable: "1", facts.deploy_command_variable: "true"}
    assert made.json("plan", env=command).code == 0


@pytest.mark.parametrize("version", ["18", "20", "22", "24"])
def test_a_runtime_that_hints_name_is_one(version: str) -> None:
    head = f"service: shop\nprovider: {{name: host1, runtime: nodejs{version}.x}}\n"
    assert not plan_problems(loaded(f"{head}functions: [{{name: a, entry: a.ts}}]\n"))
