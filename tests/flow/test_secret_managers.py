"""Values of a secret manager reach functions and nothing else, and are asked for each time."""

import json
from pathlib import Path

import pytest

from tests.support.plugin_package import with_plugins
from tests.support.project import Done, Project, project

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
env: {TOKEN: "${secret:TOKEN}"}
functions:
  - {name: one, entry: one.py}
secrets: {TOKEN: "vault://team/token"}
addons:
  - {name: mail, secrets: {MAIL_KEY: "vault://mail/key"}}
"""
HANDLER = """\
import os


def handler(event, context):
    return [len(os.environ["TOKEN"]), os.environ["MAIL_KEY"][::-1]]
"""


class Shop:
    def __init__(self, folder: Path) -> None:
        self.project: Project = project(folder, CONFIG, {"one.py": HANDLER})
        self._vault = folder / "vault.json"
        self._env = {**with_plugins(folder), "VAULT_FILE": str(self._vault)}
        self.keeps("a-secret-token")

    def keeps(self, token: str) -> None:
        self._vault.write_text(json.dumps({"team/token": token, "mail/key": "tnatropmi-yrev"}))

    def fabric(self, *words: str) -> Done:
        return self.project.json(*words, env=self._env)

    @property
    def calls(self) -> list[str]:
        path = self._vault.with_suffix(".calls")
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_functions_receive_values_from_the_secret_manager(shop: Shop) -> None:
    assert shop.fabric("deploy").code == 0
    (shop.project.root / "event.json").write_text("{}")
    done = shop.fabric("invoke", "run", "--event", "event.json")
    assert done.result["response"] == [14, "very-important"]


def test_the_value_is_in_no_file_and_in_no_output(shop: Shop) -> None:
    said = [shop.fabric(*words) for words in (("deploy",), ("plan",), ("config", "show"))]
    assert [one.code for one in said] == [0, 0, 0]
    files = [path for path in shop.project.root.rglob("*") if path.is_file()]
    assert files
    for text in (*(one.out + one.err for one in said), *map(str, map(Path.read_bytes, files))):
        assert "a-secret-token" not in text


def test_each_secret_is_read_once_per_command_and_a_new_value_is_deployed(shop: Shop) -> None:
    shop.fabric("deploy")
    assert sorted(shop.calls) == ["mail/key", "team/token"]
    assert shop.fabric("deploy").result["summary"]["ran"] == 0
    assert len(shop.calls) == 4
    shop.keeps("another-token")
    assert shop.fabric("deploy").result["summary"]["ran"] > 0


def test_read_only_commands_do_not_call_the_secret_manager(shop: Shop) -> None:
    assert shop.fabric("validate").code == 0
    assert shop.fabric("config", "show").code == 0
    assert shop.fabric("releases").code == 0
    assert shop.calls == []


def test_failing_secret_manager_is_reported_with_its_error(shop: Shop) -> None:
    shop.project.write({"fabric.yml": CONFIG.replace("team/token", "team/gone")})
    done = shop.fabric("deploy")
    assert (done.code, done.error["code"]) == (1, "plugin/failed")
    assert "`TOKEN`: the plugin `vault` failed: KeyError: 'team/gone'" in done.error["message"]
    assert done.error["where"]["line"] == 3


def test_an_addon_needs_the_manager_that_is_installed_to_answer(shop: Shop) -> None:
    shop.project.write({"fabric.yml": CONFIG.replace("mail/key", "mail/gone")})
    error = shop.fabric("plan").error
    assert error["code"] == "plugin/failed"
    assert error["message"].startswith("addon `mail`: `MAIL_KEY`: the plugin `vault` failed")


@pytest.mark.parametrize("command", ["plan", "validate"])
def test_unknown_scheme_is_rejected_with_the_nearest_name(shop: Shop, command: str) -> None:
    shop.project.write({"fabric.yml": CONFIG.replace("vault://team", "vaul://team")})
    done = shop.fabric(command)
    assert (done.code, done.error["code"]) == (65, "config/secret-plugin")
    assert done.error["hint"] == "did you mean `vault`?"
