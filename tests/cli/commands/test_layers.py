"""Layers of the project, by whole commands: plans, simulated deploys, and calls on this machine."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.git import under_git
from tests.support.in_process import compose, project
from tests.support.project import Project
from tests.support.wheels import environment, write_wheel

pytestmark = pytest.mark.slow

HANDLER = """\
import { word } from "greeting";
import { execFileSync } from "node:child_process";
export const handler = async () => word + execFileSync("tool").toString().trim();
"""
CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: nodejs22.x}
layers:
  - {name: shared, packages: [greeting]}
  - {name: tools, build: {command: sh tools.sh, inputs: [tools.sh]}}
functions:
  - {name: one, entry: one.ts, layers: [shared, tools]}
  - {name: two, entry: two.mjs, layers: [shared, tools]}
"""
TOOL = "mkdir $FABRIC_OUT_DIR/bin; printf '#!/bin/sh\\necho %s' > $FABRIC_OUT_DIR/bin/tool; "
TOOLS = TOOL + "chmod +x $FABRIC_OUT_DIR/bin/tool\n"
SHARED = "layer:shop/shared@cloud1-lambda"


def installed(word: str) -> dict[str, str]:
    return {
        "package.json": '{"dependencies": {"greeting": "*"}}',
        "node_modules/greeting/package.json": f'{{"name": "greeting", "version": "{word}.0.0"}}',
        "node_modules/greeting/index.js": f"exports.word = '{word}';",
    }


def shop(folder: Path, config: str = CONFIG, **files: str) -> Project:
    sources = {"one.ts": HANDLER, "two.mjs": HANDLER, "tools.sh": TOOLS % "!", **installed("1")}
    return project(folder / "shop", config, {**sources, **files})


def result(made: Project, *words: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    done = made.json(*words, env=env or {})
    assert done.code == 0, done.out + done.err
    found: dict[str, Any] = done.result
    return found


def answers(made: Project, *words: str) -> list[object]:
    rows = [result(made, "invoke", *words, "--function", name) for name in ("one", "two")]
    return [row["response"] for row in rows]


def planned(made: Project) -> dict[str, str]:
    rows = result(made, "plan")["tasks"]
    return {row["id"]: row["reason"] for row in rows if row["action"] != "skip"}


def test_a_layer_is_shared_by_functions_from_plan_to_removal(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert planned(made)[SHARED] == "known after layer-archive:shop/shared@cloud1-lambda"
    result(made, "deploy")
    assert answers(made, "run") == ["1!", "1!"]
    assert planned(made) == {}

    made.write(installed("2"))
    result(made, "package")
    assert planned(made)[SHARED] == "files of the layer changed"
    row = result(made, "plan")["services"][0]["functions"][0]
    assert row["change"] == "update"
    assert row["fields"]["layers"][1] == "files of the layer changed"
    assert made.fabric("explain", SHARED).out.startswith(f"{SHARED}: run, files of the layer")
    rows = result(made, "deploy")["deployments"][0]["functions"]
    assert {one["status"] for one in rows} == {"updated"}
    assert answers(made, "run") == ["2!", "2!"]
    assert result(made, "deploy")["summary"]["ran"] == 0

    result(made, "rollback")
    assert answers(made, "run") == ["1!", "1!"]
    result(made, "remove", "--yes")
    assert list((made.root / ".fabric/archives").iterdir()) == []


def test_an_edit_of_a_function_leaves_its_layers_alone(tmp_path: Path) -> None:
    made = shop(tmp_path)
    result(made, "deploy")
    made.write({"one.ts": HANDLER + "// edited\nconsole.log(1);\n"})
    assert not [one for one in planned(made) if one.startswith("layer")]


def test_local_calls_find_packages_and_programs_of_layers(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert answers(made, "local") == ["1!", "1!"]
    made.write({"tools.sh": TOOLS % "?"})
    assert answers(made, "local") == ["1?", "1?"]


def test_a_layer_that_fails_breaks_only_functions_that_attach_it(tmp_path: Path) -> None:
    config = CONFIG.replace("entry: two.mjs, layers: [shared, tools]", "entry: plain.mjs")
    made = shop(tmp_path, config, **{"plain.mjs": "export const handler = async () => 7;"})
    made.write({"tools.sh": "exit 3\n"})
    assert result(made, "invoke", "local", "--function", "two")["response"] == 7
    done = made.json("invoke", "local", "--function", "one")
    assert done.code == 1
    assert "layer `tools` of `shop`: the command" in done.error["message"]


def test_a_failed_layer_is_reported_at_its_place(tmp_path: Path) -> None:
    made = shop(tmp_path, CONFIG.replace("greeting]", "none]"))
    [problem] = made.json("deploy").error["problems"]
    assert (problem["code"], problem["where"]["line"]) == ("layer/missing-package", 4)


def test_another_provider_packs_the_packages_and_warns(tmp_path: Path) -> None:
    config = CONFIG.replace("cloud1-lambda", "cloud2-functions")
    made = shop(tmp_path, config)
    warnings = [one["code"] for one in result(made, "plan")["warnings"]]
    assert warnings.count("config/layers-ignored") == 2
    result(made, "package")
    with zipfile.ZipFile(made.root / ".fabric/build/shop/one.zip") as bundle:
        assert b'require("greeting")' not in bundle.read("one.js")


def test_a_custom_command_cannot_publish_layers(tmp_path: Path) -> None:
    made = shop(tmp_path)
    real = {"FABRIC_REAL_DEPLOY": "1", "FABRIC_CLOUD1_DEPLOY_CMD": "./deploy.sh"}
    done = made.json("deploy", env=real)
    problems = done.error["problems"]
    assert {one["code"] for one in problems} == {"config/unfit"}, problems
    assert "which only built-in deploys publish" in problems[0]["message"]


PYTHON = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
layers: [{name: num, packages: [num]}]
functions: [{name: one, entry: one.py, layers: [num]}]
"""
SUM = """\
import num, deep, own

def handler(event, context):
    return [num.VERSION, deep.VERSION, own.VERSION]
"""


@pytest.mark.parametrize("lock", ["num==1.0\ndeep==1.0\nown==1.0\n", "num\nown\n"])
def test_a_python_layer_has_the_versions_of_the_lock(lock: str, tmp_path: Path) -> None:
    for name, needs in (("num", ["deep"]), ("deep", []), ("own", [])):
        write_wheel(tmp_path / "index", name, needs)
    made = project(tmp_path / "shop", PYTHON, {"one.py": SUM, "requirements.txt": lock})
    env = {k: v for k, v in environment(tmp_path / "index").items() if k.startswith("PIP_")}
    result(made, "deploy", env=env)
    with zipfile.ZipFile(made.root / ".fabric/build/shop/one.zip") as bundle:
        assert [one for one in bundle.namelist() if one.endswith(".py")] == ["one.py", "own.py"]
    found = result(made, "invoke", "run", "--function", "one", env=env)
    assert found["response"] == ["1.0", "1.0", "1.0"]
    assert json.loads((made.root / ".fabric/dev.json").read_text())["deployments"]


def test_a_layer_outside_of_a_service_affects_it(tmp_path: Path) -> None:
    made = compose(tmp_path, api=(), web=())
    made.write({"tools/run": "1"})
    path = made.root / "api/fabric.yml"
    text = path.read_text().replace("entry:", "layers: [x], entry:")
    path.write_text(f"{text}layers: [{{name: x, path: ../tools}}]\n")
    under_git(made)
    assert made.fabric("compose", "package").code == 0
    assert not made.json("compose", "plan", "--affected").result["services"]
    made.write({"tools/run": "2"})
    rows = made.json("compose", "plan", "--affected").result["services"]
    assert [one["service"] for one in rows] == ["api"]


def test_a_saved_plan_knows_the_inputs_of_layers(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.fabric("plan", "--out", "plan.json").code == 0
    assert made.fabric("deploy", "--plan", "plan.json").code == 0
    made.write({"tools.sh": TOOLS % "?"})
    assert made.fabric("plan", "--out", "plan.json").code == 0
    made.write({"tools.sh": TOOLS % "!!"})
    assert made.json("deploy", "--plan", "plan.json").error["code"] == "plan/stale"


def test_each_target_has_its_own_versions(tmp_path: Path) -> None:
    spare = "providerOverrides: {spare: {name: cloud1-lambda}}\n"
    made = shop(tmp_path, f"{CONFIG}{spare}fabric: {{targets: [cloud1-lambda, spare]}}\n")
    result(made, "deploy")
    assert result(made, "deploy")["summary"]["ran"] == 0
    for label in ("cloud1-lambda", "spare"):
        rows = result(made, "plan", "--provider", label)["tasks"]
        assert {one["id"] for one in rows if one["kind"] == "layer"} == {
            f"layer:shop/{name}@{label}" for name in ("shared", "tools")
        }
