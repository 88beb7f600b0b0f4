"""Secrets in triggers: the state does not contain them, so releases take them from the config."""

from pathlib import Path

import pytest

from tests.support import in_process
from tests.support.project import Done, Project, handler

_CONFIG = """service: shop
provider: {name: cloud1-lambda, runtime: python3.12}
functions:
  a: {entry: a.py}
  b:
    entry: b.py
    triggers: [{type: cron, schedule: rate(1 hour), input: {key: "${env:SHOP_PASSWORD}"}}]
"""


class Shop:
    def __init__(self, folder: Path) -> None:
        sources = {"a.py": handler("a"), "b.py": handler("b")}
        self.project: Project = in_process.project(folder, _CONFIG, sources)

    def run(self, word: str, *words: str) -> Done:
        return self.project.json(*words, env={"SHOP_PASSWORD": word})


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    assert shop.run("word-one-of-b", "deploy").code == 0
    return shop


def test_a_deploy_of_one_function_needs_the_deployed_secrets_of_the_others(shop: Shop) -> None:
    shop.project.write({"a.py": handler("changed")})
    shown = shop.project.fabric("plan", "--function", "a", env={"SHOP_PASSWORD": "word-two-of-b"})
    assert (
        "warning[deploy/unknown-trigger] function `b` has a trigger with a secret"
        in shown.out + shown.err
    )
    refused = shop.run("word-two-of-b", "deploy", "--function", "a")
    assert refused.error["code"] == "deploy/unknown-trigger"
    assert "omit --function" in refused.error["hint"]
    assert shop.run("word-one-of-b", "deploy", "--function", "a").code == 0
    assert shop.run("word-two-of-b", "deploy").code == 0


def test_a_rollback_across_a_changed_secret_of_a_trigger_uses_current_values_only_if_allowed(
    shop: Shop,
) -> None:
    assert shop.run("word-two-of-b", "deploy").code == 0
    refused = shop.run("word-two-of-b", "rollback")
    assert refused.error["code"] == "deploy/unknown-trigger"
    assert "--with-current-environment" in refused.error["hint"]
    assert shop.run("word-two-of-b", "rollback", "--with-current-environment").code == 0


def test_a_deploy_that_must_be_able_to_roll_back_keeps_secrets_of_triggers(shop: Shop) -> None:
    refused = shop.run("word-two-of-b", "deploy", "--rollback-on-failure")
    assert refused.error["code"] == "rollback/no-way-back"
    assert "a secret in its triggers changes" in refused.error["message"]
    assert shop.run("word-two-of-b", "deploy", "--no-rollback-on-failure").code == 0
