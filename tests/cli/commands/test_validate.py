"""`validate` and `config show`: a config is looked at, and nothing else happens."""

import json
from pathlib import Path

from tests.support.in_process import compose, project
from tests.support.project import service


def test_valid_config_is_reported_as_valid(tmp_path: Path) -> None:
    made = project(tmp_path)
    before = made.tree()
    done = made.json("validate", "--stage", "prod")
    assert done.code == 0
    assert (done.result["stage"], len(done.result["services"])) == ("prod", 1)
    assert "valid for stage `dev`" in made.fabric("validate").out
    assert made.tree() == before


def test_all_errors_are_reported_at_once_with_places(tmp_path: Path) -> None:
    made = compose(tmp_path, a=(), b=("a",))
    made.write({"a/fabric.yml": service("a").replace("functions", "functionz")})
    made.write({"b/fabric.yml": service("b").replace("cloud1-lambda", "cloud9")})
    done = made.json("validate", "-f", ".")
    assert done.code == 65
    files = {one["where"]["file"] for one in done.error["problems"]}
    assert files == {"a/fabric.yml", "b/fabric.yml"}


def test_errors_found_only_by_a_plan_are_reported_too(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write(
        {"fabric.yml": service("shop", "one").replace("entry: one.py", "entry: one.py, memory: 1")}
    )
    assert made.json("build", "--function", "nobody").error["code"] != "config/over-limit"
    assert made.json("validate").error["code"] == "config/over-limit"


def test_a_config_is_shown_with_its_stage_and_without_its_secrets(tmp_path: Path) -> None:
    made = project(tmp_path)
    text = service("shop", "one") + "env: {A: '${env:A_WORD}', API_TOKEN: '${secret:TOKEN}'}\n"
    made.write({"fabric.yml": text + "stages: {prod: {env: {B: late}}}\n"})
    env = {"A_WORD": "hello", "TOKEN": "hunter2"}
    done = made.json("config", "show", "--stage", "prod", env=env)
    shown = done.result["config"]["env"]
    assert (shown["A"], shown["B"]) == ("hello", "late")
    assert "hunter2" not in done.out
    words = made.fabric("config", "show", env=env).out
    assert "A: hello" in words
    assert "B:" not in words


def test_upstream_output_is_shown_by_name(tmp_path: Path) -> None:
    made = compose(tmp_path, a=(), b=("a",))
    made.write({"b/fabric.yml": service("b") + "env: {HOME_OF_A: '${env:SERVICE_A_URL}/x'}\n"})
    done = made.json("config", "show", cwd="b")
    assert json.dumps(done.result["config"]["env"]["HOME_OF_A"]).count("SERVICE_A_URL") == 1
    assert "\ue000" not in done.out
    assert "\\ue000" not in done.out


def test_a_real_mode_is_checked_for_settings_without_effect(tmp_path: Path) -> None:
    made = project(tmp_path)
    text = service("shop", "one") + "extensions: {cloud1-lambda: {roleArn: 'arn:x', colour: red}}\n"
    made.write({"fabric.yml": text})
    assert made.json("validate").code == 0
    real = {"FABRIC_CLOUD1_REAL_DEPLOY": "1"}
    done = made.json("validate", env=real)
    [problem] = done.error["problems"]
    assert problem["code"] == "config/unfit"
    assert problem == made.json("plan", env=real).error["problems"][0]


def test_a_setting_that_the_provider_does_not_have_is_reported_in_simulated_mode(
    tmp_path: Path,
) -> None:
    made = project(tmp_path)
    text = service("shop", "one").replace("entry: one.py", "entry: one.py, tracing: active")
    made.write({"fabric.yml": text})
    assert made.json("validate").code == 0
    made.write({"fabric.yml": text.replace("cloud1-lambda", "cloud2-functions")})
    done = made.json("validate")
    assert (done.code, done.error["problems"][0]["code"]) == (65, "config/unfit")
    route = text.replace(", tracing: active", ", triggers: [{type: http, route: $default}]")
    made.write({"fabric.yml": route})
    assert made.json("validate").code == 0
    made.write({"fabric.yml": route.replace("cloud1-lambda", "cloud2-functions")})
    assert "`$default`" in made.json("validate").error["message"]
    assert made.json("plan").code == 65
