"""Values of deploys that records keep sealed, and ways back that need them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.in_process import compose, project
from tests.support.moving_provider import MovingProvider, moving_provider
from tests.support.project import Done, Project, handler

KEY, OTHER_KEY = "1f" * 32, "2e" * 32
SECRETS = ("canary-old-4711", "canary-new-4712")
STATE = ".fabric/state/shop/dev/cloud1-lambda.state.json"
CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: one, entry: one.handler, env: {MOOD: "${env:MOOD}", SIZE: "7"}}
"""
WITHOUT = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: two, entry: one.handler}
"""


def env(mood: str, key: str = KEY) -> dict[str, str]:
    return {"MOOD": mood} | ({"FABRIC_STATE_KEY": key} if key else {})


def shop(folder: Path, key: str = KEY) -> Project:
    made = project(folder, CONFIG, {"one.py": handler("one")})
    assert made.json("deploy", env=env(SECRETS[0], key)).code == 0
    return made


def function_of(made: Project, name: str = "one") -> dict[str, Any]:
    state = json.loads((made.root / STATE).read_text())
    found = next(one for one in state["functions"] if one["name"] == name)
    assert isinstance(found, dict)
    return found


def told(done: Done) -> list[str]:
    keys = (KEY, base64.b64encode(bytes.fromhex(KEY)).decode())
    return [one for one in (*SECRETS, *keys) if one in done.out + done.err]


def written(made: Project) -> list[str]:
    files = [path for path in made.root.rglob("*") if path.is_file()]
    every = (*SECRETS, KEY)
    return [str(path) for path in files for one in every if one.encode() in path.read_bytes()]


# Kept values.


def test_rollback_with_a_key_restores_previous_values(tmp_path: Path) -> None:
    made = shop(tmp_path)
    was = function_of(made)
    assert made.json("deploy", env=env(SECRETS[1])).code == 0
    assert function_of(made)["environment"] != was["environment"]
    done = made.json("rollback", env=env(SECRETS[1]))
    assert done.code == 0, done.out
    assert function_of(made) == was
    assert made.json("plan", env=env(SECRETS[0])).result["summary"]["run"] == 0


def test_with_a_key_a_rollback_needs_no_variable_of_today(tmp_path: Path) -> None:
    made = shop(tmp_path)
    was = function_of(made)
    assert made.json("deploy", env=env(SECRETS[1])).code == 0
    done = made.json("rollback", env={"FABRIC_STATE_KEY": KEY})
    assert done.code == 0, done.out
    assert function_of(made) == was
    refused = made.json("rollback", env={})
    assert refused.error["code"] == "config/unset-variable"


def test_with_a_key_a_function_that_no_config_names_comes_back_with_its_values(
    tmp_path: Path,
) -> None:
    made = shop(tmp_path)
    was = function_of(made)
    made.write({"fabric.yml": WITHOUT})
    assert made.json("deploy", env=env("")).code == 0
    assert made.json("rollback", env=env("")).code == 0
    assert function_of(made) == was


def test_no_value_and_no_key_is_in_any_output_or_file(tmp_path: Path) -> None:
    made = shop(tmp_path)
    commands = (
        ("plan",),
        ("plan", "--out", "plan.json"),
        ("deploy", "--events", "events"),
        ("state", "pull"),
        ("state", "backup"),
        ("rollback", "--events", "more"),
        ("releases",),
        ("runs", "show"),
    )
    for words in commands:
        for done in (made.fabric(*words, env=env(SECRETS[1])), made.json(*words, env=env("x"))):
            assert told(done) == [], words
    assert written(made) == []


def test_wrong_or_missing_key_is_named(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy", env=env(SECRETS[1])).code == 0
    for key, said in ((OTHER_KEY, "another key"), ("", "FABRIC_STATE_KEY is not set")):
        done = made.json("rollback", env=env(SECRETS[1], key))
        assert done.error["code"] == "rollback/environment"
        assert said in done.error["message"]


def test_current_values_are_used_with_the_flag(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy", env=env(SECRETS[1])).code == 0
    was = function_of(made)
    assert made.json("rollback", "--with-current-environment", env=env(SECRETS[1])).code == 0
    assert function_of(made)["environment"] == was["environment"]
    assert made.json("rollback", env=env("third")).code == 0


def test_without_a_key_records_are_as_they_ever_were(tmp_path: Path) -> None:
    made = shop(tmp_path, key="")
    assert "sealedValues" not in function_of(made)
    assert made.json("plan", env=env(SECRETS[0])).result["summary"]["run"] == 0


def test_new_key_does_not_trigger_a_deploy(tmp_path: Path) -> None:
    made = shop(tmp_path, key="")
    before = made.tree(".fabric/state")
    assert made.json("deploy", env=env(SECRETS[0])).result["summary"]["ran"] == 0
    assert made.tree(".fabric/state") == before
    assert made.json("deploy", "--force", env=env(SECRETS[0])).code == 0
    assert "sealedValues" in function_of(made)


def test_a_backup_carries_sealed_values_along(tmp_path: Path) -> None:
    made = shop(tmp_path)
    was = function_of(made)
    assert made.json("deploy", env=env(SECRETS[1])).code == 0
    assert made.json("state", "backup", env=env(SECRETS[1])).code == 0
    assert made.json("deploy", "--force", env=env("third")).code == 0
    done = made.json("state", "restore", "--file", ".fabric/state-backup.json", env=env("third"))
    assert done.code == 0, done.out
    assert made.json("rollback", env=env("third")).code == 0
    assert function_of(made) == was


def test_migration_copies_sealed_values_to_another_backend(tmp_path: Path) -> None:
    made = shop(tmp_path)
    was = function_of(made)
    assert (
        made.json("state", "migrate", "--from", "local", "--to", "sql", env=env(SECRETS[0])).code
        == 0
    )
    moved = made.json("state", "pull", "--backend", "sql", env=env(SECRETS[0])).result
    assert moved["functions"][0]["sealedValues"] == was["sealedValues"]


@pytest.mark.parametrize("command", ["deploy", "plan", "rollback"])
def test_invalid_key_stops_a_command_first(command: str, tmp_path: Path) -> None:
    made = shop(tmp_path)
    before = made.tree(".fabric/state")
    done = made.json(command, env=env(SECRETS[1], "canary-no-key"))
    assert (done.code, done.error["code"]) == (64, "usage/bad-value")
    assert "canary" not in done.out + done.err
    assert made.tree(".fabric/state") == before


# Nobody is handed the key.


def test_a_binding_finds_no_key(tmp_path: Path) -> None:
    config = CONFIG.replace("${env:MOOD}", "${env:FABRIC_STATE_KEY}")
    made = project(tmp_path, config, {"one.py": handler("one")})
    done = made.json("deploy", env=env("x"))
    assert done.code == 65
    assert "FABRIC_STATE_KEY" in done.error["message"]


def test_deploy_commands_and_build_commands_are_not_handed_the_key(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    build = f'  command: [sh, -c, "env >> {seen}; cp one.py $FABRIC_OUT_DIR"]\n'
    made = project(tmp_path / "shop", f"{CONFIG}build:\n{build}", {"one.py": handler("one")})
    script = tmp_path / "deploy.sh"
    script.write_text(f'env >> {seen}\ncat >> {seen}\necho \'{{"endpoint": "https://x"}}\'\n')
    real = {"FABRIC_CLOUD1_REAL_DEPLOY": "1", "FABRIC_CLOUD1_DEPLOY_CMD": f"sh {script}"}
    assert made.json("deploy", env={**env("calm"), **real}).code == 0
    told_there = seen.read_text()
    assert "FABRIC_OUT_DIR" in told_there
    assert "FABRIC_FUNCTION_ENV_JSON" in told_there
    assert "STATE_KEY" not in told_there
    assert KEY not in told_there


# A way back after a failure.


def two_services(folder: Path) -> tuple[Project, MovingProvider]:
    """`b` is deployed after `a`, and refuses."""
    made = compose(folder, a=(), b=("a",))
    config = (made.root / "a/fabric.yml").read_text()
    made.write({"a/fabric.yml": config.replace("main.py}", 'main.py, env: {MOOD: "${env:MOOD}"}}')})
    return made, moving_provider(folder / "provider")


def after_a_failure(
    made: Project, provider: MovingProvider, key: str, *flags: str
) -> tuple[Done, list[str]]:
    first = made.json("compose", "deploy", env={**provider.env(), **env(SECRETS[0], key)})
    assert first.code == 0, first.out
    made.write({"b/main.py": handler("newer")})
    provider.refuses("b")
    before = len(provider.log)
    words = ("compose", "deploy", "--rollback-on-failure", *flags)
    done = made.json(*words, env={**provider.env(), **env(SECRETS[1], key)})
    return done, provider.log[before:]


def test_failed_deploy_with_a_key_is_rolled_back_to_previous_values(tmp_path: Path) -> None:
    made, provider = two_services(tmp_path)
    done, calls = after_a_failure(made, provider, KEY)
    assert calls == ["live a", "live a"]
    assert provider.environments["a"]["MOOD"] == SECRETS[0]
    rows = {row["service"]: row["status"] for row in done.document["result"]["deployments"]}
    assert rows["a"] == "rolled-back"


def test_deploy_that_cannot_be_rolled_back_is_rejected_without_a_key(
    tmp_path: Path,
) -> None:
    made, provider = two_services(tmp_path)
    done, calls = after_a_failure(made, provider, "")
    assert (done.code, done.error["code"], calls) == (1, "rollback/no-way-back", [])
    assert "`a/main`" in done.error["message"]
    assert "MOOD" in done.error["message"]
    assert "FABRIC_STATE_KEY" in done.error["hint"]
    assert "--no-rollback-on-failure" in done.error["hint"]


def test_unchanged_values_can_be_rolled_back_without_a_key(tmp_path: Path) -> None:
    made = project(tmp_path, CONFIG, {"one.py": handler("one")})
    assert made.json("deploy", env=env("calm", "")).code == 0
    made.write({"one.py": handler("newer")})
    assert made.json("deploy", "--rollback-on-failure", env=env("calm", "")).code == 0


def test_plan_warns_if_a_requested_rollback_is_impossible(tmp_path: Path) -> None:
    made = shop(tmp_path, key="")
    moved = env(SECRETS[1], "")
    plain = made.json("plan", env=moved)
    told_plan = made.json("plan", env={**moved, "FABRIC_ROLLBACK_ON_FAILURE": "1"})
    assert "no-way-back" not in plain.err
    assert told_plan.code == 0
    assert "warning[rollback/no-way-back] a rollback of `shop/one`" in told_plan.err
    assert told(told_plan) == []


def test_function_removed_with_its_values_cannot_be_rolled_back(tmp_path: Path) -> None:
    made = shop(tmp_path, key="")
    made.write({"fabric.yml": WITHOUT})
    done = made.json("deploy", "--rollback-on-failure", env=env("", ""))
    assert done.error["code"] == "rollback/no-way-back"
    assert "is not in the config" in done.error["message"]
    assert made.json("deploy", "--no-rollback-on-failure", env=env("", "")).code == 0


def test_lost_archive_of_a_live_function_prevents_rollback(tmp_path: Path) -> None:
    made = shop(tmp_path)
    sha256 = function_of(made)["artifactSha256"]
    (made.root / f".fabric/archives/{sha256}.zip").unlink()
    made.write({"one.py": handler("newer")})
    done = made.json("deploy", "--rollback-on-failure", env=env(SECRETS[0]))
    assert done.error["code"] == "rollback/no-way-back"
    assert sha256[:12] in done.error["message"]
