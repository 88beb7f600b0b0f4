"""Archives of one stage in another one: no source, no build, equal digests."""

import json
import shutil
from pathlib import Path

from tests.support.git import git, under_git
from tests.support.in_process import compose, project
from tests.support.project import Project, handler, service
from tests.support.tool import Tool

STAGES = "env: {COLOR: '${stage}'}\nstages: {prod: {env: {COLOR: blue}}}\n"


def shop(folder: Path, more: str = STAGES) -> Project:
    made = project(folder)
    text = service("shop", "one", "two") + more
    made.write({"fabric.yml": text, "one.py": handler("one"), "two.py": handler("two")})
    return made


def forget_sources(made: Project) -> None:
    """What a machine has that was given only the configs and the state."""
    for one in made.root.rglob("*.py"):
        one.unlink()
    for name in ("cache", "build"):
        shutil.rmtree(made.root / ".fabric" / name, ignore_errors=True)


def archives(made: Project, stage: str) -> dict[str, str]:
    path = made.root / f".fabric/state/shop/{stage}/cloud1-lambda.state.json"
    return {one["name"]: one["artifactSha256"] for one in json.loads(path.read_text())["functions"]}


def test_the_archives_of_a_stage_are_deployed_without_sources(tmp_path: Path) -> None:
    made, tool = shop(tmp_path), Tool(tmp_path / "tool")
    assert made.json("deploy", env=tool.env()).code == 0
    forget_sources(made)
    done = made.json("promote", "dev", "prod", env=tool.env())
    result = done.result
    assert (result["from"], result["to"], result["stage"]) == ("dev", "prod", "prod")
    assert archives(made, "prod") == archives(made, "dev")
    assert {one["function"]: one["sha256"] for one in result["archives"]} == archives(made, "dev")
    assert "build:" not in done.err
    first, second = tool.calls
    assert first["FABRIC_ARTIFACTS_JSON"] != ""
    assert '"COLOR":"dev"' in first["FABRIC_FUNCTION_ENV_JSON"].replace(" ", "")
    assert '"COLOR":"blue"' in second["FABRIC_FUNCTION_ENV_JSON"].replace(" ", "")


def test_a_second_promotion_has_nothing_to_do(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy").code == 0
    for statuses in ({"deployed"}, {"unchanged"}):
        result = made.json("promote", "dev", "prod").result
        assert {one["status"] for one in result["deployments"]} == statuses


def test_a_promotion_is_planned_without_changes(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy").code == 0
    before = made.tree(".fabric/state")
    plan = made.json("promote", "dev", "prod", "--dry-run").result
    assert plan["summary"]["create"] == 2
    assert {one["kind"] for one in plan["tasks"]} == {"stored-archive", "deploy", "release"}
    assert made.tree(".fabric/state") == before
    assert made.json("promote", "dev", "prod").code == 0
    made.write({"two.py": handler("other")})
    assert made.json("deploy").code == 0
    plan = made.json("promote", "dev", "prod", "--dry-run").result
    changes = {one["name"]: one["change"] for one in plan["services"][0]["functions"]}
    assert changes == {"one": "none", "two": "update"}


def test_a_deploy_of_the_same_sources_changes_no_promoted_function(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy").code == 0
    assert made.json("promote", "dev", "prod").code == 0
    [row] = made.json("deploy", "--stage", "prod").result["deployments"]
    assert {one["status"] for one in row["functions"]} == {"unchanged"}


def test_only_changed_functions_are_deployed_and_can_be_rolled_back(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy").code == 0
    assert made.json("promote", "dev", "prod").code == 0
    before = archives(made, "prod")
    made.write({"two.py": handler("other")})
    assert made.json("deploy").code == 0
    [row] = made.json("promote", "dev", "prod").result["deployments"]
    assert {one["name"]: one["status"] for one in row["functions"]} == {
        "one": "unchanged",
        "two": "updated",
    }
    assert made.json("rollback", "--stage", "prod").code == 0
    assert archives(made, "prod") == before


def test_a_promoted_deployment_names_the_commit_of_its_archives(tmp_path: Path) -> None:
    made = under_git(shop(tmp_path))
    assert made.json("deploy").code == 0
    commit = git(made, "rev-parse", "HEAD").strip()
    made.write({"one.py": handler("later")})
    git(made, "commit", "-qam", "later")
    assert made.json("promote", "dev", "prod").code == 0
    rows = made.json("stages").result["stages"]
    assert {row["stage"]: row["commit"] for row in rows} == {"dev": commit, "prod": commit}


def test_an_archive_that_depends_on_its_stage_is_refused_by_name(tmp_path: Path) -> None:
    made = project(tmp_path)
    config = (
        "service: shop\nprovider: {name: cloud1-lambda, runtime: nodejs22.x}\n"
        "functions:\n  - {name: one, entry: one.js}\n"
        "  - {name: two, entry: one.js, build: {define: {STAGE: '\"${stage}\"'}}}\n"
    )
    made.write({"fabric.yml": config, "one.js": "export const handler = async () => 1;\n"})
    assert made.json("deploy").code == 0
    done = made.json("promote", "dev", "prod")
    assert (done.code, done.error["code"]) == (1, "promote/built-for-stage")
    [problem] = done.error["problems"]
    assert (
        "function `two` of `shop` is built differently for stage `prod`: define"
        in (problem["message"])
    )
    assert not (made.root / ".fabric/state/shop/prod").exists()


def test_a_function_that_is_not_deployed_is_refused_by_name(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy", "--function", "one").code == 0
    done = made.json("promote", "dev", "prod")
    assert (done.code, done.error["code"]) == (1, "promote/not-deployed")
    assert "function `two` of `shop` is not deployed in stage `dev`" in done.error["message"]


def test_a_lost_archive_is_found_before_the_first_change(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy").code == 0
    (made.root / f".fabric/archives/{archives(made, 'dev')['two']}.zip").unlink()
    done = made.json("promote", "dev", "prod")
    assert done.error["code"] == "state/archive-missing"
    assert not (made.root / ".fabric/state/shop/prod").exists()


def test_a_protected_stage_is_confirmed(tmp_path: Path) -> None:
    made = shop(tmp_path, "stages: {prod: {protected: true}}\n")
    assert made.json("deploy").code == 0
    assert made.json("promote", "dev", "prod").error["code"] == "usage/protected-stage"
    assert made.json("promote", "dev", "prod", env={"FABRIC_CONFIRM": "prod"}).code == 0


def test_services_of_a_monorepo_are_promoted_in_order(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), api=("auth",))
    assert made.json("compose", "deploy").code == 0
    forget_sources(made)
    words = ("promote", "dev", "prod", "-f", "fabric.compose.yml")
    result = made.json(*words, "--service", "auth").result
    assert [one["service"] for one in result["deployments"]] == ["auth"]
    result = made.json(*words).result
    assert {one["service"]: one["status"] for one in result["deployments"]} == {
        "auth": "unchanged",
        "api": "deployed",
    }


def test_two_stages_are_named(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("promote", "dev", "dev").error["code"] == "usage/same-stage"
    done = made.json("promote", "dev", "prod", "--service", "shop")
    assert (done.code, done.error["code"]) == (64, "usage/no-effect")
