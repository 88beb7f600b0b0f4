"""Deploys through the real command line: what is written, what is skipped, what is refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fabric.model.catalog import PROVIDER_IDS
from fabric.system.schemas import read_schema_text
from tests.support.in_process import project
from tests.support.moving_provider import moving_provider
from tests.support.project import PYTHON, Project, handler, service
from tests.support.tool import Tool

STATE = ".fabric/state/shop/dev/cloud1-lambda.state.json"
RECEIPT = ".fabric/dev.json"
DEPLOY_RECORD = ".fabric/deploy/cloud1-lambda/deployment.json"
ROUTE = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: one, entry: src/one.handler, triggers: [{type: http, route: "GET:/one"}]}
  - {name: two, entry: src/two.handler}
"""


def read(made: Project, name: str) -> dict[str, Any]:
    found = json.loads((made.root / name).read_text())
    assert isinstance(found, dict)
    return found


def statuses(result: dict[str, Any]) -> dict[str, str]:
    functions = [one for row in result["deployments"] for one in row["functions"]]
    return {one["name"]: one["status"] for one in functions}


def deployed(tmp_path: Path, config: str = ROUTE) -> Project:
    made = project(tmp_path, config)
    assert made.json("deploy").code == 0
    return made


# What a deploy leaves behind.


def test_simulated_deploy_prints_the_service_addresses(tmp_path: Path) -> None:
    made = project(tmp_path, ROUTE)
    (row,) = made.json("deploy").result["deployments"]
    assert (row["mode"], row["status"]) == ("simulated", "deployed")
    assert row["endpoint"] == "https://shop-dev.cloud1-lambda.fabric.example"
    assert row["outputs"]["url_one"] == f"{row['endpoint']}/one"
    assert row["outputs"]["arn_two"] == "cloud1-lambda:local:function:shop-dev-two"
    assert row["deploymentId"].startswith("cloud1-lambda-dev-")


@pytest.mark.parametrize("provider", PROVIDER_IDS)
def test_every_provider_can_be_deployed_to_and_removed_from(provider: str, tmp_path: Path) -> None:
    made = project(tmp_path, PYTHON.replace("cloud1-lambda", provider))
    assert statuses(made.json("deploy").result) == {"one": "created", "two": "created"}
    assert made.json("plan").result["summary"]["run"] == 0
    assert made.json("remove").result["removed"] == [{"service": "shop", "provider": provider}]


def test_a_deploy_leaves_a_record_a_state_and_a_receipt(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    state, receipt, record = (read(made, name) for name in (STATE, RECEIPT, DEPLOY_RECORD))
    assert (state["service"], state["stage"], state["provider"]) == ("shop", "dev", "cloud1-lambda")
    assert (state["version"], state["lifecycle"], state["pending"]) == (1, "deployed", [])
    assert (receipt["version"], receipt["stage"]) == (2, "dev")
    (entry,) = receipt["deployments"]
    assert entry["deploymentId"] == state["deploymentId"] == record["deploymentId"]
    assert record["provider"] == "cloud1-lambda"
    assert record["endpoint"] == state["endpoint"]
    assert set(entry["artifacts"]) == {"one", "two"}


def test_state_file_conforms_to_its_schema(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    made.write({"src/one.py": handler("newer")})
    made.fabric("deploy")
    rules = json.loads(read_schema_text("state"))
    assert list(jsonschema.Draft7Validator(rules).iter_errors(read(made, STATE))) == []
    assert read(made, STATE)["versions"] != {}


def test_state_files_are_private_to_their_owner(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    for path in (made.root / ".fabric/state").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert made.leftovers() == []


def test_deployed_archives_are_stored_by_digest(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    kept = {path.stem for path in (made.root / ".fabric/archives").iterdir()}
    assert kept == {one["artifactSha256"] for one in read(made, STATE)["functions"]}


# What is skipped.


def test_unchanged_deploy_writes_nothing(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    before = made.tree(".fabric/state")
    result = made.json("deploy").result
    assert statuses(result) == {"one": "unchanged", "two": "unchanged"}
    assert (result["summary"]["ran"], result["deployments"][0]["status"]) == (0, "unchanged")
    assert made.tree(".fabric/state") == before


def test_only_the_edited_function_is_deployed(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    made.write({"src/two.py": handler("other")})
    assert statuses(made.json("deploy").result) == {"one": "unchanged", "two": "updated"}
    assert made.json("plan").result["summary"]["run"] == 0


def test_cached_nothing_to_do_is_rechecked_if_the_state_moves(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    for _ in range(3):
        assert made.json("deploy").result["summary"]["ran"] == 0
    (made.root / STATE).rename(made.root / "aside.json")
    assert made.json("deploy").error["code"] == "state/missing"
    assert made.fabric("state", "rm", "--yes").code == 0
    assert statuses(made.json("deploy").result) == {"one": "created", "two": "created"}
    assert made.json("deploy").result["summary"]["ran"] == 0
    assert made.json("deploy", env={"FABRIC_HOST1_REAL_DEPLOY": "1"}).code == 0
    assert made.json("deploy", env={"CLOUD1_REGION": "eu"}).result["summary"]["ran"] > 0


def test_force_deploys_unchanged_functions(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    assert statuses(made.json("deploy", "--force").result) == {"one": "updated", "two": "updated"}


def test_a_lost_cache_redeploys_nothing(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    before = read(made, STATE)["deploymentId"]
    shutil.rmtree(made.root / ".fabric/cache")
    result = made.json("deploy").result
    assert statuses(result) == {"one": "unchanged", "two": "unchanged"}
    assert read(made, STATE)["deploymentId"] == before


def test_single_function_deploy_keeps_the_rest_of_the_receipt(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    (before,) = read(made, RECEIPT)["deployments"]
    made.write({"src/one.py": handler("1"), "src/two.py": handler("2")})
    assert statuses(made.json("deploy", "--function", "one").result) == {"one": "updated"}
    (after,) = read(made, RECEIPT)["deployments"]
    assert after["artifacts"]["two"] == before["artifacts"]["two"]
    assert after["artifacts"]["one"] != before["artifacts"]["one"]
    assert statuses(made.json("deploy").result) == {"one": "unchanged", "two": "updated"}


def test_a_first_deploy_of_one_function_knows_only_that_one(tmp_path: Path) -> None:
    made = project(tmp_path, ROUTE)
    assert made.json("deploy", "--function", "two").code == 0
    assert [one["name"] for one in read(made, STATE)["functions"]] == ["two"]


def test_a_function_that_no_config_names_is_deleted(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    made.write({"fabric.yml": service("shop", "src/one").replace("name: src/one", "name: one")})
    plan = made.json("plan").result
    changes = {one["name"]: one["change"] for one in plan["services"][0]["functions"]}
    assert changes["two"] == "delete"
    assert plan["summary"]["delete"] == 1
    assert statuses(made.json("deploy").result)["two"] == "deleted"
    assert [one["name"] for one in read(made, STATE)["functions"]] == ["one"]


# What a plan says of it.


def test_a_plan_names_the_fields_that_change(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    made.write({"fabric.yml": ROUTE.replace("two.handler}", "two.handler, memory: 512}")})
    one, two = made.json("plan").result["services"][0]["functions"]
    assert (one["change"], one["fields"]) == ("none", {})
    assert (two["change"], two["fields"]["memory"]) == ("update", ["0", "512"])
    assert "memory: provider default -> 512" in made.fabric("plan").out


def test_plan_reports_a_changed_variable_without_its_value(tmp_path: Path) -> None:
    config = ROUTE.replace("two.handler}", "two.handler, env: {MOOD: was-merry}}")
    made = deployed(tmp_path, config)
    made.write({"fabric.yml": config.replace("was-merry", "is-glum")})
    done = made.json("plan")
    two = done.result["services"][0]["functions"][1]
    assert two["fields"]["env.MOOD"] == ["(set)", "(another value)"]
    assert "is-glum" not in done.out + made.fabric("plan").out
    stored = (path for path in (made.root / ".fabric").rglob("*") if path.is_file())
    assert not any(b"was-merry" in path.read_bytes() for path in stored)


def test_a_plan_of_an_edit_marks_only_that_function(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    made.write({"src/two.py": handler("other")})
    one, two = made.json("plan").result["services"][0]["functions"]
    assert (one["change"], two["change"]) == ("none", "update")
    assert "code" in two["fields"]


def test_detailed_exit_code_follows_the_live_state(tmp_path: Path) -> None:
    made = project(tmp_path, ROUTE)
    assert made.fabric("plan", "--detailed-exitcode").code == 2
    assert made.fabric("deploy").code == 0
    assert made.fabric("plan", "--detailed-exitcode").code == 0


def test_repeated_plan_detects_deploys_in_between(tmp_path: Path) -> None:
    made = project(tmp_path, ROUTE)
    first = made.json("plan").result["summary"]["create"]
    made.fabric("package")
    assert made.json("plan").result["summary"]["create"] == first == 2
    made.fabric("deploy")
    assert made.json("plan").result["summary"]["create"] == 0
    shutil.rmtree(made.root / ".fabric/state")
    assert made.json("plan").error["code"] == "state/missing"
    assert made.fabric("state", "rm", "--yes").code == 0
    assert made.json("plan").result["summary"]["create"] == 2


def test_unsupported_trigger_is_rejected_with_the_provider_name(tmp_path: Path) -> None:
    made = project(
        tmp_path, PYTHON.replace("one.handler}", "one.handler, triggers: [{type: amqp}]}")
    )
    done = made.json("deploy")
    assert done.code == 65
    assert "cloud1-lambda" in done.out


# Stages.


def test_stages_and_previews_are_separate_deployments(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    assert made.json("deploy", "--preview", "pr-7").result["stage"] == "pr-7"
    assert read(made, ".fabric/pr-7.json")["stage"] == "pr-7"
    assert made.json("remove", "--stage", "pr-7").code == 0
    assert not (made.root / ".fabric/pr-7.json").exists()
    assert (made.root / RECEIPT).exists()


def test_remove_takes_everything_of_its_stage_and_may_be_repeated(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    first = made.json("remove").result
    assert first["removed"] == [{"service": "shop", "provider": "cloud1-lambda"}]
    for name in (STATE, RECEIPT, DEPLOY_RECORD, f"{STATE}.bak"):
        assert not (made.root / name).exists()
    again = made.json("remove")
    assert (again.code, again.result["removed"]) == (0, [])
    assert again.result["absent"] == [{"service": "shop", "provider": "cloud1-lambda"}]
    assert made.json("deploy").code == 0


def test_the_deploy_record_of_another_stage_survives_a_removal(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    made.json("deploy", "--stage", "other")
    made.json("remove", "--stage", "dev")
    assert read(made, DEPLOY_RECORD)["stage"] == "other"


# Going back.


def test_a_rollback_needs_neither_the_source_nor_the_cache(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    first = read(made, STATE)
    made.write({"src/one.py": handler("newer")})
    made.fabric("deploy")
    shutil.rmtree(made.root / "src")
    shutil.rmtree(made.root / ".fabric/cache")
    done = made.json("rollback", "--to", first["deploymentId"])
    assert done.result["to"] == first["deploymentId"]
    state = read(made, STATE)
    assert [one["artifactSha256"] for one in state["functions"]] == [
        one["artifactSha256"] for one in first["functions"]
    ]
    called = made.json("invoke", "run", "--function", "one")
    assert called.result["response"] == "one"


def test_releases_are_listed_newest_first(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    made.write({"src/one.py": handler("newer")})
    made.fabric("deploy")
    rows = made.json("releases").result["releases"]
    assert [row["current"] for row in rows] == [True, False]
    assert rows[0]["deploymentId"] == read(made, STATE)["deploymentId"]


def test_rollback_names_variables_with_changed_values(tmp_path: Path) -> None:
    config = ROUTE.replace("two.handler}", 'two.handler, env: {MOOD: "${env:MOOD,good}"}}')
    made = deployed(tmp_path, config)
    made.fabric("deploy", env={"MOOD": "bad"})
    before = made.tree(".fabric/state/shop")
    done = made.json("rollback", env={"MOOD": "bad"})
    assert done.error["code"] == "rollback/environment"
    assert "MOOD" in done.error["message"]
    assert made.tree(".fabric/state/shop") == before
    assert made.json("rollback", "--with-current-environment", env={"MOOD": "bad"}).code == 0


def test_rollback_to_an_unknown_deployment_is_rejected(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    assert made.json("rollback", "--to", "nope").error["code"] == "rollback/unknown"
    assert made.json("rollback").error["code"] == "rollback/unknown"


# Calling.


def test_a_deployed_function_is_called_from_its_archive(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    shutil.rmtree(made.root / "src")
    result = made.json("invoke", "run", "--function", "one").result
    assert (result["response"], result["simulated"], result["function"]) == ("one", True, "one")


def test_nothing_is_called_without_a_receipt(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    (made.root / RECEIPT).unlink()
    done = made.json("invoke", "run", "--function", "one")
    assert (done.code, done.error["code"]) == (1, "invoke/not-deployed")


def test_a_function_that_is_not_there_gets_the_nearest_name(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    done = made.json("invoke", "run", "--function", "tow")
    assert (done.code, done.error["hint"]) == (1, "did you mean `two`?")


# Commands in place of a provider.


def test_the_command_runs_only_in_real_mode(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    env = tool.env() | {"FABRIC_CLOUD1_REAL_DEPLOY": "0", "FABRIC_REAL_DEPLOY": "1"}
    assert made.json("deploy", env=env).result["deployments"][0]["mode"] == "simulated"
    other = tool.env("EDGE1")
    assert made.json("deploy", env=other).result["deployments"][0]["mode"] == "simulated"
    assert tool.calls == []


def test_the_answer_of_the_command_becomes_the_record(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    tool.answers({"endpoint": "https://live.example", "bucket": "b-1"})
    (row,) = made.json("deploy", env=tool.env()).result["deployments"]
    assert (row["mode"], row["endpoint"]) == ("command", "https://live.example")
    assert row["outputs"]["bucket"] == "b-1"
    assert read(made, RECEIPT)["deployments"][0]["endpoint"] == "https://live.example"
    (call,) = tool.calls
    assert (call["FABRIC_SERVICE"], call["FABRIC_STAGE"]) == ("shop", "dev")
    artifacts = json.loads(call["FABRIC_ARTIFACTS_JSON"])
    assert [one["function"] for one in artifacts] == ["one", "two"]
    assert all(Path(one["path"]).is_file() for one in artifacts)


def test_deploy_command_runs_once_per_service_and_gets_the_changes(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    made.json("deploy", env=tool.env())
    made.json("deploy", env=tool.env())
    assert len(tool.calls) == 1
    made.write({"src/two.py": handler("other")})
    assert statuses(made.json("deploy", env=tool.env()).result) == {
        "one": "unchanged",
        "two": "updated",
    }
    changed = json.loads(tool.calls[1]["FABRIC_ARTIFACTS_JSON"])
    assert {one["function"]: one["changed"] for one in changed} == {"one": False, "two": True}


def test_one_function_of_a_command_is_named_to_it(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    made.json("deploy", "--function", "two", env=tool.env())
    (call,) = tool.calls
    assert call["FABRIC_FUNCTION"] == "two"
    assert Path(call["FABRIC_ARTIFACT"]).is_file()


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        ("no json", 0, "deploy/command-output"),
        ('{"endpoint": "https://x"}{}', 0, "deploy/command-output"),
        ('{"place": "x"}', 0, "deploy/command-output"),
        ('{"endpoint": "https://x"}', 3, "deploy/command-failed"),
    ],
)
def test_invalid_command_output_fails_the_deploy_with_a_reason(
    answer: str, code: int, said: str, tmp_path: Path
) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    tool.answers(answer, code)
    done = made.json("deploy", env=tool.env())
    assert (done.code, done.error["code"]) == (1, said)
    assert done.document["result"]["deployments"][0]["status"] == "failed"
    assert read(made, STATE)["lifecycle"] == "failed"


def test_a_failed_command_is_called_again(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    made.json("deploy", env=tool.env())
    made.write({"src/two.py": handler("other")})
    tool.answers("", 1)
    assert made.json("deploy", env=tool.env()).code == 1
    made.write({"src/two.py": "def handler(event, context):\n    return 'two'\n"})
    tool.answers({"endpoint": "https://live.example"})
    assert made.json("deploy", env=tool.env()).code == 0
    assert len(tool.calls) == 3, "what a failed call left is not known: it is made sure of"


def test_destroy_command_removes_a_command_deployment(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    made.json("deploy", env=tool.env())
    assert made.json("remove", env=tool.env()).code == 0
    assert tool.calls[-1]["argv"] == ["destroy"]
    assert not (made.root / STATE).exists()


def test_without_a_destroy_command_nothing_is_removed(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    made.json("deploy", env=tool.env())
    env = {name: value for name, value in tool.env().items() if "DESTROY" not in name}
    done = made.json("remove", env=env)
    assert done.code == 1
    assert "FABRIC_CLOUD1_DESTROY_CMD" in done.out
    assert (made.root / STATE).exists()


@pytest.mark.parametrize("env", [{}, {"FABRIC_REAL_DEPLOY": "1"}], ids=["none", "global"])
def test_real_deployment_is_removed_only_with_its_provider_switch(
    env: dict[str, str], tmp_path: Path
) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    made.json("deploy", env=tool.env())
    before = made.tree(".fabric/state")
    done = made.json("remove", env=env)
    assert done.code == 1
    assert "FABRIC_CLOUD1_REAL_DEPLOY" in done.error["hint"]
    assert made.tree(".fabric/state") == before
    assert len(tool.calls) == 1


def test_simulated_deploy_does_not_replace_a_real_deployment(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    made.json("deploy", env=tool.env())
    before = made.tree(".fabric/state")
    done = made.json("deploy")
    assert (done.code, done.error["code"]) == (1, "deploy/mode-mismatch")
    assert "FABRIC_CLOUD1_REAL_DEPLOY" in done.error["hint"]
    assert made.tree(".fabric/state") == before


def test_real_mode_without_a_role_names_the_variable(tmp_path: Path) -> None:
    done = project(tmp_path, ROUTE).json("deploy", env={"FABRIC_CLOUD1_REAL_DEPLOY": "1"})
    assert done.code != 0
    assert "FABRIC_CLOUD1_LAMBDA_ROLE_ARN" in done.out


def test_real_mode_without_credentials_names_all_of_them(tmp_path: Path) -> None:
    made = project(tmp_path, PYTHON.replace("cloud1-lambda", "cloud3-functions"))
    done = made.json("deploy", env={"FABRIC_CLOUD3_REAL_DEPLOY": "1"})
    assert done.code == 77
    assert "CLOUD3_TENANT_ID, CLOUD3_CLIENT_ID" in done.out


# Rollback after a failure.


def test_a_failure_takes_the_release_before_back_just_as_it_was(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    made.json("deploy", env=tool.env())
    before = {name: (made.root / name).read_text() for name in (RECEIPT, DEPLOY_RECORD)}
    state = read(made, STATE)
    made.write({"fabric.yml": UNHEALTHY, "src/two.py": handler("broken")})
    done = made.json("deploy", "--rollback-on-failure", env=tool.env())
    assert done.code == 1
    assert done.document["result"]["rolledBack"] is True
    assert done.document["result"]["deployments"][0]["status"] == "rolled-back"
    assert {name: (made.root / name).read_text() for name in before} == before
    after = read(made, STATE)
    moving = ("serial", "fence", "checksum")
    assert {k: v for k, v in after.items() if k not in moving} == {
        k: v for k, v in state.items() if k not in moving
    }
    put_back = json.loads(tool.calls[-1]["FABRIC_ARTIFACTS_JSON"])
    assert {one["sha256"] for one in put_back} == {
        one["artifactSha256"] for one in state["functions"]
    }


def test_a_failed_first_deploy_is_removed_again(tmp_path: Path) -> None:
    made, tool = project(tmp_path, UNHEALTHY), Tool(tmp_path / "tool")
    done = made.json("deploy", "--rollback-on-failure", env=tool.env())
    assert done.document["result"]["rolledBack"] is True
    assert tool.calls[-1]["argv"] == ["destroy"]
    assert not (made.root / STATE).exists()
    assert not (made.root / RECEIPT).exists()


def test_failed_deploy_is_not_rolled_back_without_the_flag(tmp_path: Path) -> None:
    made, tool = project(tmp_path, UNHEALTHY), Tool(tmp_path / "tool")
    done = made.json("deploy", env=tool.env())
    assert (done.code, done.error["code"]) == (2, "deploy/unhealthy")
    assert len(tool.calls) == 1
    assert read(made, STATE)["lifecycle"] == "failed"


def test_failed_rollback_names_the_command_to_run(tmp_path: Path) -> None:
    made, provider = project(tmp_path, ROUTE), moving_provider(tmp_path / "provider")
    made.json("deploy", env=provider.env())
    name = read(made, STATE)["deploymentId"]
    provider.refuses("shop")
    made.write({"src/two.py": handler("broken")})
    done = made.json("deploy", "--rollback-on-failure", env=provider.env())
    hints = [one["hint"] for one in done.error["problems"]]
    assert any(f"fabric rollback --to {name}" in hint for hint in hints)
    assert done.document["result"]["rolledBack"] is False


UNHEALTHY = ROUTE + "deploy: {healthCheck: {enabled: true, url: 'http://127.0.0.1:1/health'}}\n"


def test_a_first_deploy_that_failed_on_the_way_can_be_removed(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    tool.answers("", 1)
    made.json("deploy", env=tool.env())
    assert read(made, STATE)["functions"][0]["artifactSha256"] == "", "it may be there or not"
    assert read(made, RECEIPT)["deployments"][0]["artifacts"] == {}
    tool.answers("", 0)
    assert made.json("remove", env=tool.env()).code == 0
    assert tool.calls[-1]["argv"] == ["destroy"]


def test_failed_first_deploy_runs_destroy_and_names_the_remove_command(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    tool.answers("", 1)
    done = made.json("deploy", "--rollback-on-failure", env=tool.env())
    assert tool.calls[-1]["argv"] == ["destroy"]
    hints = [one["hint"] for one in done.error["problems"]]
    assert any("fabric remove --stage dev" in hint for hint in hints)


# Copies of the artifacts.


def test_artifacts_are_copied_whether_there_is_something_to_do_or_not(tmp_path: Path) -> None:
    made = project(tmp_path, ROUTE)
    for folder in ("one", "two"):
        assert made.json("deploy", "--out", folder).code == 0
    made.json("package", "--out", "packages")
    assert made.tree("packages") == made.tree("one") == made.tree("two") != {}


def test_failed_artifact_copies_do_not_hide_the_live_deployment(tmp_path: Path) -> None:
    made = project(tmp_path, ROUTE)
    made.write({"taken": "by a file"})
    done = made.json("deploy", "--out", "taken")
    assert done.code == 73
    assert done.document["result"]["deployments"][0]["status"] == "deployed"


# Saved plans.


def test_a_saved_plan_is_carried_out_while_it_fits(tmp_path: Path) -> None:
    made = project(tmp_path, ROUTE)
    assert made.fabric("plan", "--out", "plan.json").code == 0
    assert made.json("deploy", "--plan", "plan.json").code == 0


@pytest.mark.parametrize(
    ("moves", "named"),
    [
        ({"src/two.py": handler("other")}, "src/two.py changed"),
        (
            {"fabric.yml": ROUTE.replace("two.handler}", "two.handler, memory: 512}")},
            "deploy:shop/two",
        ),
    ],
    ids=["input", "config"],
)
def test_stale_saved_plan_names_what_changed(
    moves: dict[str, str], named: str, tmp_path: Path
) -> None:
    made = project(tmp_path, ROUTE)
    made.fabric("build")
    made.fabric("plan", "--out", "plan.json")
    made.write(moves)
    done = made.json("deploy", "--plan", "plan.json")
    assert (done.code, done.error["code"]) == (1, "plan/stale")
    assert named in done.error["message"]
    assert not (made.root / STATE).exists()


def test_a_saved_plan_does_not_survive_a_deploy(tmp_path: Path) -> None:
    made = project(tmp_path, ROUTE)
    made.fabric("plan", "--out", "plan.json")
    made.fabric("deploy")
    assert "was updated" in made.json("deploy", "--plan", "plan.json").error["message"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"formatVersion": 1}'])
def test_invalid_saved_plan_is_rejected(text: str, tmp_path: Path) -> None:
    made = project(tmp_path, ROUTE)
    made.write({"plan.json": text})
    done = made.json("deploy", "--plan", "plan.json")
    assert (done.code, done.error["code"]) == (65, "input/bad-plan")


# Other machines.

SHARED = ROUTE + "backend: {kind: sql, sqlConnectionStringEnv: STATE_URL}\n"


def test_a_machine_that_built_nothing_knows_that_nothing_is_to_be_done(tmp_path: Path) -> None:
    env = {"STATE_URL": f"sqlite:////{tmp_path}/shared.db"}
    first = project(tmp_path / "first", SHARED)
    assert first.json("deploy", env=env).code == 0
    second = project(tmp_path / "second", SHARED)
    assert second.json("plan", env=env).result["summary"] == {
        "create": 0, "update": 0, "delete": 0, "unchanged": 2,
        "tasks": 7, "run": 0, "skip": 7, "wait": 0,
    }  # fmt: skip
    result = second.json("deploy", env=env).result
    assert (result["summary"]["ran"], result["deployments"][0]["status"]) == (0, "unchanged")
    assert not (second.root / ".fabric/build").exists()


def test_machine_with_different_sources_deploys_only_the_difference(tmp_path: Path) -> None:
    env = {"STATE_URL": f"sqlite:////{tmp_path}/shared.db"}
    project(tmp_path / "first", SHARED).json("deploy", env=env)
    second = project(tmp_path / "second", SHARED)
    second.write({"src/two.py": handler("other")})
    assert statuses(second.json("deploy", env=env).result) == {"one": "unchanged", "two": "updated"}


def test_a_rollback_on_another_machine_takes_archives_from_the_state(tmp_path: Path) -> None:
    env = {"STATE_URL": f"sqlite:////{tmp_path}/shared.db"}
    first = project(tmp_path / "first", SHARED)
    first.json("deploy", env=env)
    first.write({"src/one.py": handler("newer")})
    first.json("deploy", env=env)
    second = project(tmp_path / "second", SHARED)
    shutil.rmtree(second.root / "src")
    assert second.json("rollback", env=env).code == 0
    called = second.json("invoke", "run", "--function", "one", env=env)
    assert called.result["response"] == "one"


# What a failed command leaves behind.


def test_a_failed_first_deploy_can_be_removed(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    tool.answers("", 3)
    assert made.json("deploy", env=tool.env()).code == 1
    tool.answers({"endpoint": "https://live.example"})
    assert made.json("remove", env=tool.env()).result["removed"] != []
    assert tool.calls[-1]["argv"] == ["destroy"]
    assert made.json("state", "list").result["records"] == []
    assert not (made.root / RECEIPT).exists()


def test_function_not_created_by_a_failed_deploy_is_created_next_time(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    made.json("deploy", env=tool.env())
    made.write({"fabric.yml": ROUTE.replace("name: two", "name: deux")})
    tool.answers("", 3)
    assert made.json("deploy", env=tool.env()).code == 1
    tool.answers({"endpoint": "https://live.example"})
    planned = made.json("plan", env=tool.env()).result
    changes = {one["name"]: one["change"] for one in planned["services"][0]["functions"]}
    assert changes["deux"] == "create"
    assert statuses(made.json("deploy", env=tool.env()).result)["deux"] == "created"


def test_failed_first_call_is_rolled_back(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    tool.fails_once()
    done = made.json("deploy", "--rollback-on-failure", env=tool.env())
    assert done.document["result"]["rolledBack"] is True
    assert tool.calls[-1]["argv"] == ["destroy"]
    assert not (made.root / STATE).exists()


def test_command_rollback_restores_only_functions_of_that_deployment(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    made.json("deploy", env=tool.env())
    made.write({"fabric.yml": ROUTE.replace("name: two", "name: deux")})
    made.json("deploy", env=tool.env())
    assert made.json("rollback", env=tool.env()).result["functions"] == ["one", "two"]


def test_outputs_come_from_the_latest_command_output(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    tool.answers({"endpoint": "https://first.example", "extra": "x"})
    made.json("deploy", env=tool.env())
    tool.answers({"endpoint": "https://second.example"})
    made.write({"src/one.py": handler("newer")})
    (row,) = made.json("deploy", env=tool.env()).result["deployments"]
    assert "extra" not in row["outputs"]
    assert row["outputs"]["url_one"] == "https://second.example/one"


@pytest.mark.parametrize("was_live", [True, False])
def test_unknown_status_after_a_failure_is_reported_not_skipped(
    was_live: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    if was_live:
        made.json("deploy", env=tool.env())
    tool.answers("", 1)
    made.write({"src/two.py": handler("half")})
    made.json("deploy", env=tool.env())
    made.write({"src/two.py": handler("half again")})
    done = made.json("deploy", "--rollback-on-failure", env=tool.env())
    (named,) = (one for one in done.error["problems"] if one["code"] == "rollback/incomplete")
    words = named["hint"].partition("fabric ")[2].split()
    assert words[0] == ("rollback" if was_live else "remove")
    tool.answers({"endpoint": "https://live.example"})
    assert made.json(*words, env=tool.env()).code == 0


# A provider that the config has moved away from.


def test_deployment_left_at_another_provider_is_reported(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    moved = PYTHON.replace("cloud1-lambda", "cloud2-functions")
    made.write({"fabric.yml": moved})
    for words in (("plan",), ("plan",), ("deploy",)):
        done = made.json(*words)
        assert done.code == 0, done.out
        assert "warning[deploy/left-behind]" in done.err
        assert "fabric remove --stage dev --provider cloud1-lambda" in done.err
    assert made.json("remove", "--stage", "dev", "--provider", "cloud1-lambda").code == 0
    assert not (made.root / STATE).exists()


def test_a_service_that_was_renamed_is_not_left_there_in_silence(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    made.write({"fabric.yml": PYTHON.replace("service: shop", "service: store")})
    for words in (("plan",), ("deploy",)):
        done = made.json(*words)
        assert done.code == 0, done.out
        assert "warning[deploy/left-behind]" in done.err
        assert "`service: shop`" in done.err
    made.write({"old.yml": PYTHON})
    assert made.json("remove", "-c", "old.yml", "--stage", "dev").code == 0
    assert not (made.root / STATE).exists()


def test_two_services_in_one_folder_are_not_taken_for_a_rename(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    made.write({"other.yml": PYTHON.replace("service: shop", "service: store")})
    assert "left-behind" not in made.json("plan", "-c", "other.yml").err


def test_a_provider_that_the_config_names_is_not_left_behind(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    moved = PYTHON.replace("cloud1-lambda", "cloud2-functions")
    override = "providerOverrides: {cloud1-lambda: {name: cloud1-lambda}}\n"
    made.write({"fabric.yml": moved + override})
    done = made.json("plan")
    assert done.result["summary"]["create"] == 2
    assert "left-behind" not in done.err
