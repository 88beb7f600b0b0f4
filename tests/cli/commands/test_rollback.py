"""`fabric rollback`: all that a way back needs is looked at before the first change."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support.in_process import compose, project
from tests.support.moving_provider import moving_provider
from tests.support.orders import recorder
from tests.support.project import Project, handler

STATE = ".fabric/state/shop/dev/cloud1-lambda.state.json"
ONE = '  - {name: one, entry: one.handler, env: {MOOD: "${env:MOOD,good}", AGE: "7"}}\n'
TWO = "  - {name: two, entry: two.handler}\n"
HEAD = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
"""
SOURCES = {"one.py": handler("one"), "two.py": handler("two")}


def shop(folder: Path, functions: str = ONE + TWO) -> Project:
    made = project(folder, HEAD + functions, SOURCES)
    assert made.json("deploy").code == 0
    return made


def functions_of(made: Project) -> dict[str, dict[str, Any]]:
    state = json.loads((made.root / STATE).read_text())
    return {one["name"]: one for one in state["functions"]}


def without_one(made: Project) -> None:
    made.write({"fabric.yml": HEAD + TWO})
    assert made.json("deploy").code == 0


@pytest.mark.parametrize("flags", [(), ("--with-current-environment",)])
def test_values_of_a_function_no_longer_configured_are_named_as_unknown(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    made = shop(tmp_path)
    without_one(made)
    before = made.tree(".fabric/state")
    done = made.json("rollback", *flags)
    assert done.code == 1
    assert done.error["code"] == "rollback/environment"
    assert done.error["message"] == (
        "the config no longer contains `shop/one`, so the values of AGE, MOOD are not known"
    )
    assert made.tree(".fabric/state") == before


def test_a_function_without_variables_comes_back_though_no_config_names_it(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"fabric.yml": HEAD + ONE})
    assert made.json("deploy").code == 0
    assert made.json("rollback").code == 0
    assert set(functions_of(made)) == {"one", "two"}


def test_function_added_back_to_the_config_is_restored_with_its_values(
    tmp_path: Path,
) -> None:
    made = shop(tmp_path)
    was = functions_of(made)["one"]["environment"]
    without_one(made)
    made.write({"fabric.yml": HEAD + ONE + TWO})
    assert made.json("rollback").code == 0
    assert functions_of(made)["one"]["environment"] == was


def test_variable_no_longer_configured_is_omitted_only_with_the_flag(
    tmp_path: Path,
) -> None:
    made = shop(tmp_path)
    made.write({"fabric.yml": HEAD + ONE.replace(', AGE: "7"', "") + TWO})
    assert made.json("deploy").code == 0
    refused = made.json("rollback")
    assert "the config no longer sets AGE" in refused.error["message"]
    done = made.fabric("rollback", "--with-current-environment")
    assert done.code == 0
    assert "`shop/one` is restored without AGE" in done.err
    assert set(functions_of(made)["one"]["environment"]) == {"MOOD"}


def test_unchanged_function_needs_no_previous_values(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"two.py": handler("newer")})
    assert made.json("deploy").code == 0
    assert made.json("rollback", env={"MOOD": "bad"}).code == 0


def test_missing_archive_stops_the_whole_rollback(tmp_path: Path) -> None:
    made = shop(tmp_path)
    first = functions_of(made)
    made.write({"one.py": handler("newer"), "two.py": handler("newer")})
    assert made.json("deploy").code == 0
    lost = first["two"]["artifactSha256"]
    (made.root / f".fabric/archives/{lost}.zip").unlink()
    before = made.tree(".fabric/state")
    done = made.json("rollback")
    assert done.error["code"] == "state/archive-missing"
    assert "`shop/two`" in done.error["message"]
    assert lost[:12] in done.error["message"]
    assert made.tree(".fabric/state") == before


def test_missing_archive_is_also_searched_in_the_backend(tmp_path: Path) -> None:
    made = project(tmp_path, f"{HEAD}{ONE}backend: {{kind: sql}}\n", SOURCES)
    assert made.json("deploy").code == 0
    made.write({"one.py": handler("newer")})
    assert made.json("deploy").code == 0
    shutil.rmtree(made.root / ".fabric/archives")
    assert made.json("rollback").code == 0
    shutil.rmtree(made.root / ".fabric/archives")
    with sqlite3.connect(made.root / ".fabric/state.db") as database:
        database.execute("DELETE FROM fabric_state WHERE key LIKE '%zip'")
    done = made.json("rollback")
    assert done.error["code"] == "state/archive-missing"
    assert " or " in done.error["message"]


def test_moved_upstream_address_does_not_count_as_a_changed_value(tmp_path: Path) -> None:
    made = compose(tmp_path, a=(), b=("a",))
    provider = moving_provider(tmp_path / "provider")
    assert made.json("compose", "deploy", env=provider.env()).code == 0
    made.write({"b/main.py": handler("newer")})
    assert made.json("compose", "deploy", env=provider.env()).code == 0
    config = (made.root / "a/fabric.yml").read_text()
    made.write({"a/fabric.yml": config.replace("cloud1-lambda", "edge1-workers")})
    moved = {name.replace("CLOUD1", "EDGE1"): text for name, text in provider.env().items()}
    env = {**provider.env(), **moved}
    assert made.json("compose", "deploy", "--service", "a", env=env).code == 0
    done = made.json("rollback", "-c", "b/fabric.yml", env=env)
    assert done.code == 0, done.out
    given = provider.environments["b"]
    assert given["SERVICE_A_URL"] == provider.addresses["a"]
    assert given["FABRIC_OUTPUT_A_CLOUD1_LAMBDA_ENDPOINT"] == provider.addresses["a"]
    [warning] = done.result["warnings"]
    assert warning["code"] == "rollback/upstream-moved"
    assert "FABRIC_OUTPUT_A_CLOUD1_LAMBDA_ENDPOINT" in warning["message"]


@pytest.mark.parametrize("moved", [("a",), ()])
def test_new_addresses_of_upstreams_are_named_in_a_warning(
    moved: tuple[str, ...], tmp_path: Path
) -> None:
    made = compose(tmp_path, a=(), b=("a",))
    provider = moving_provider(tmp_path / "provider")
    assert made.json("compose", "deploy", env=provider.env()).code == 0
    made.write({f"{one}/main.py": handler("newer") for one in (*moved, "b")})
    assert made.json("compose", "deploy", env=provider.env()).code == 0
    done = made.json("rollback", "-c", "b/fabric.yml", env=provider.env())
    found = [(row["code"], row["message"]) for row in done.result["warnings"]]
    names = "`FABRIC_OUTPUT_A_CLOUD1_LAMBDA_ENDPOINT`, `SERVICE_A_URL`"
    message = f"`b` receives the current URLs of its dependencies: {names}"
    assert found == ([("rollback/upstream-moved", message)] if moved else [])
    assert provider.environments["b"]["SERVICE_A_URL"] == provider.addresses["a"]


COUNTED = """\
service: shop
provider: {name: host1, runtime: python3.11}
functions:
  - {name: one, entry: src/one.py, tags: {v: first}, reservedConcurrency: 3}
"""


def test_rollback_restores_concurrency_and_records_current_tags(
    tmp_path: Path,
) -> None:
    made, tool = project(tmp_path, COUNTED), recorder(tmp_path / "tool")
    env = {"FABRIC_REAL_DEPLOY": "1", "FABRIC_HOST1_DEPLOY_CMD": tool.line("deploy")}
    assert made.fabric("deploy", env=env).code == 0
    newer = COUNTED.replace("first", "second").replace("Concurrency: 3", "Concurrency: 9")
    made.write({"fabric.yml": newer})
    assert made.fabric("deploy", env=env).code == 0
    back = made.fabric("rollback", env=env)
    assert back.code == 0, back.err
    [row] = tool.order["functions"]
    assert row["reservedConcurrency"] == 3
    assert row["tags"] == {"v": "second"}
    assert "one gets its current tags" in back.err
    fields = made.json("plan", env=env).result["services"][0]["functions"][0]["fields"]
    assert "tags" not in fields
    assert "concurrency" in fields
