"""`remove --function`, and `remove` where the values of a deploy are not at hand."""

from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Project
from tests.support.tool import Tool


def live(made: Project) -> list[str]:
    found = made.json("state", "pull").result
    return [one["name"] for one in found["functions"]]


def test_single_function_is_removed_and_others_stay(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("deploy").code == 0
    done = made.json("remove", "--function", "two")
    assert done.result == {
        "stage": "dev",
        "removed": [],
        "absent": [],
        "functions": [{"service": "shop", "provider": "cloud1-lambda", "function": "two"}],
    }
    assert live(made) == ["one"]
    outputs = made.json("outputs").result["services"][0]["outputs"]
    assert "arn_one" in outputs
    assert "arn_two" not in outputs
    assert made.fabric("invoke", "run", "--function", "one").code == 0
    assert made.fabric("deploy").code == 0
    assert live(made) == ["one", "two"]
    assert "arn_two" in made.json("outputs").result["services"][0]["outputs"]


def test_removed_function_can_be_restored_by_rollback(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("deploy").code == 0
    assert made.fabric("remove", "--function", "two").code == 0
    assert made.fabric("rollback").code == 0
    assert live(made) == ["one", "two"]


def test_the_last_functions_take_the_service_with_them(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("deploy").code == 0
    done = made.json("remove", "--function", "two", "--function", "one")
    assert done.result["removed"] == [{"service": "shop", "provider": "cloud1-lambda"}]
    assert made.json("state", "pull").error["code"] == "state/not-found"


def test_function_not_live_is_no_error_but_unknown_function_is(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("deploy", "--function", "one").code == 0
    assert "Nothing to remove." in made.fabric("remove", "--function", "two").out
    done = made.json("remove", "--function", "tow")
    assert (done.code, done.error["code"]) == (64, "usage/unknown-function")
    assert done.error["hint"] == "did you mean `two`?"
    assert live(made) == ["one"]


def test_a_service_that_is_deployed_as_a_whole_is_not_taken_apart(tmp_path: Path) -> None:
    made, tool = project(tmp_path), Tool(tmp_path / "tool")
    assert made.fabric("deploy", env=tool.env()).code == 0
    done = made.json("remove", "--function", "two", env=tool.env())
    assert (done.code, done.error["code"]) == (1, "remove/whole-service")
    assert live(made) == ["one", "two"]


NEEDY = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11, region: "${env:REGION,eu-west-1}"}
env: {TOKEN: "${env:SHOP_TOKEN}", PASS: "${secret:SHOP_PASS}", KIND: "${param:kind}"}
resources: [{name: db, type: database, connectionEnv: DB_URL, envVar: DATABASE}]
addons: [{name: mail, secrets: {MAIL_KEY: secret://MAIL}}]
extensions: {cloud1-lambda: {tracing: "${env:TRACING}"}}
functions:
  - {name: one, entry: src/one.py, env: {MORE: "${env:MORE}"}}
"""
VALUES = {"SHOP_TOKEN": "a1b2", "SHOP_PASS": "c3d4", "DB_URL": "x", "MAIL": "m"}


@pytest.mark.parametrize("words", [("releases",), ("outputs",), ("state", "pull"), ("remove",)])
def test_records_are_found_without_the_values_of_a_deploy(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    made = project(tmp_path, NEEDY)
    env = {**VALUES, "TRACING": "on", "MORE": "more"}
    assert made.fabric("deploy", "--param", "kind=x", env=env).code == 0
    assert made.json("plan").error["code"] == "config/unset-variable"
    done = made.json(*words)
    assert done.code == 0, done.err
    assert "SHOP_TOKEN" not in done.out + done.err


def test_variables_of_the_record_location_must_be_set(tmp_path: Path) -> None:
    made = project(tmp_path, NEEDY.replace("service: shop", 'service: "${env:SERVICE}"'))
    assert made.json("remove").error["code"] == "config/unset-variable"


def test_neither_runtime_nor_entry_nor_region_is_needed_to_find_records(tmp_path: Path) -> None:
    open_config = NEEDY.replace("runtime: python3.11", 'runtime: "${env:RUNTIME}"')
    open_config = open_config.replace("eu-west-1}", "}").replace("${env:REGION,}", "${env:REGION}")
    open_config = open_config.replace("src/one.py", '"${env:FOLDER}/one.py"')
    made = project(
        tmp_path, open_config.replace("service: shop", 'params: {a: "${env:A}"}\nservice: shop')
    )
    env = {
        **VALUES,
        "TRACING": "on",
        "MORE": "more",
        "RUNTIME": "python3.11",
        "REGION": "eu-west-1",
    }
    done = made.fabric("deploy", "--param", "kind=x", env={**env, "FOLDER": "src"})
    assert done.code == 0, done.err
    assert made.json("releases").result["releases"]
    assert made.json("remove").result["removed"]
