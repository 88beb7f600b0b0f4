"""Many services deployed as one graph: order, what upstreams give, what is left alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.in_process import compose
from tests.support.project import Project, handler, service
from tests.support.tool import Tool

UNHEALTHY = "deploy: {healthCheck: {enabled: true, url: 'http://127.0.0.1:1/'}}\n"


def rows(result: dict[str, Any]) -> dict[str, str]:
    return {row["service"]: row["status"] for row in result["deployments"]}


def chain(folder: Path) -> Project:
    """web needs api, api needs auth."""
    return compose(folder, auth=(), api=("auth",), web=("api",))


def state(made: Project, name: str) -> Path:
    return made.root / f"{name}/.fabric/state/{name}/dev/cloud1-lambda.state.json"


def test_upstreams_come_first_and_then_nothing_is_to_be_done(tmp_path: Path) -> None:
    made = chain(tmp_path)
    result = made.json("compose", "deploy").result
    assert rows(result) == {"auth": "deployed", "api": "deployed", "web": "deployed"}
    order = [task for level in result["levels"] for task in level if task.startswith("release:")]
    assert order == [f"release:{name}@cloud1-lambda" for name in ("auth", "api", "web")]
    again = made.json("compose", "deploy").result
    assert set(rows(again).values()) == {"unchanged"}
    assert made.json("compose", "plan", "--detailed-exitcode").code == 0


def test_downstream_functions_see_the_addresses_of_all_upstreams(tmp_path: Path) -> None:
    made, tool = chain(tmp_path), Tool(tmp_path / "tool")
    config = f"{service('web')}env: {{HOME_OF_AUTH: '${{env:SERVICE_AUTH_URL}}/v1'}}\n"
    made.write({"web/fabric.yml": config})
    assert made.json("compose", "deploy", env=tool.env()).code == 0
    web = next(call for call in tool.calls if call["FABRIC_SERVICE"] == "web")
    env = json.loads(web["FABRIC_FUNCTION_ENV_JSON"])["main"]
    assert env["SERVICE_AUTH_URL"] == env["SERVICE_API_URL"] == "https://live.example"
    assert env["FABRIC_OUTPUT_AUTH_CLOUD1_LAMBDA_ENDPOINT"] == "https://live.example"
    assert env["HOME_OF_AUTH"] == "https://live.example/v1"


def test_stale_compose_plan_is_rejected_with_the_compose_plan_command(tmp_path: Path) -> None:
    made = chain(tmp_path)
    assert made.fabric("compose", "plan", "--out", "plan.json").code == 0
    assert made.json("compose", "deploy").code == 0
    error = made.json("compose", "deploy", "--plan", "plan.json").error
    assert (error["code"], error["hint"].partition(": ")[2]) == (
        "plan/stale",
        "fabric compose plan --out FILE",
    )


def test_unchanged_outputs_do_not_redeploy_dependents(tmp_path: Path) -> None:
    made = chain(tmp_path)
    made.json("compose", "deploy")
    made.write({"auth/main.py": handler("newer")})
    assert rows(made.json("compose", "deploy").result) == {
        "auth": "deployed",
        "api": "unchanged",
        "web": "unchanged",
    }


def test_another_endpoint_redeploys_everything_that_depends_on_it(tmp_path: Path) -> None:
    made, tool = chain(tmp_path), Tool(tmp_path / "tool")
    made.json("compose", "deploy", env=tool.env())
    tool.answers({"endpoint": "https://moved.example"})
    made.write({"auth/main.py": handler("newer")})
    plan = made.json("compose", "plan", env=tool.env()).result
    waits = {task["id"]: task["reason"] for task in plan["tasks"] if task["action"] == "wait"}
    assert "release:auth@cloud1-lambda" in waits["deploy:api@cloud1-lambda"]
    result = made.json("compose", "deploy", env=tool.env()).result
    assert set(rows(result).values()) == {"deployed"}


def test_single_service_deploy_keeps_upstream_addresses(tmp_path: Path) -> None:
    made = chain(tmp_path)
    made.json("compose", "deploy")
    alone = made.json("deploy", "-c", "web")
    assert alone.result["deployments"][0]["status"] == "unchanged"
    made.write({"web/main.py": handler("newer")})
    assert made.json("deploy", "-c", "web").result["deployments"][0]["status"] == "deployed"
    assert set(rows(made.json("compose", "deploy").result).values()) == {"unchanged"}


def test_service_is_not_deployed_before_its_dependencies(tmp_path: Path) -> None:
    made = chain(tmp_path)
    done = made.json("deploy", "-c", "web")
    assert (done.code, done.error["code"]) == (1, "deploy/upstream-not-deployed")
    assert "auth" in done.out
    plan = made.json("plan", "-c", "web")
    assert plan.code == 0
    assert "deploy/upstream-not-deployed" in plan.err


@pytest.mark.parametrize("key", ["entry", "name", "memory"])
def test_late_values_are_allowed_only_in_supported_fields(key: str, tmp_path: Path) -> None:
    made = chain(tmp_path)
    config = service("web").replace("entry: main.py", "entry: main.py, memory: 128")
    lines = {"entry": "main.py", "name": "main", "memory": "128"}
    late = config.replace(f"{key}: {lines[key]}", f"{key}: '${{env:SERVICE_API_URL}}'")
    made.write({"web/fabric.yml": late})
    done = made.json("compose", "plan")
    assert done.code == 65
    assert "config/late-value" in {one["code"] for one in done.error["problems"]}


def test_failure_blocks_only_dependent_services(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), api=("auth",), lone=())
    broken = service("auth") + UNHEALTHY
    made.write({"auth/fabric.yml": broken})
    tool = Tool(tmp_path / "tool")
    done = made.json("compose", "deploy", env=tool.env())
    assert done.code == 2
    assert rows(done.document["result"]) == {"auth": "failed", "api": "blocked", "lone": "deployed"}
    reason = next(
        one["functions"][0]["reason"]
        for one in done.document["result"]["deployments"]
        if one["service"] == "api"
    )
    assert "auth" in reason


def test_new_services_are_rolled_back_before_their_dependencies(tmp_path: Path) -> None:
    made = chain(tmp_path)
    broken = service("web") + UNHEALTHY
    made.write({"web/fabric.yml": broken})
    tool = Tool(tmp_path / "tool")
    done = made.json("compose", "deploy", "--rollback-on-failure", env=tool.env())
    assert done.code == 1
    assert set(rows(done.document["result"]).values()) == {"rolled-back"}
    destroyed = [call["FABRIC_SERVICE"] for call in tool.calls if call["argv"] == ["destroy"]]
    assert destroyed == ["web", "api", "auth"]
    assert not any(state(made, name).exists() for name in ("auth", "api", "web"))


def test_rolled_back_new_service_is_not_reported_as_created(tmp_path: Path) -> None:
    made, tool = chain(tmp_path), Tool(tmp_path / "tool")
    tool.refuses("web")
    done = made.fabric("compose", "deploy", "--rollback-on-failure", env=tool.env())
    lines = done.out.splitlines()
    assert "auth on cloud1-lambda (command): rolled-back" in lines
    assert not any(line.startswith("  +") for line in lines)
    assert "2 services rolled back" in lines[-1]


def test_failed_rollback_names_a_command_valid_for_this_folder(tmp_path: Path) -> None:
    made, tool = chain(tmp_path), Tool(tmp_path / "tool")
    tool.answers("", 1)
    done = made.json("compose", "deploy", "--rollback-on-failure", env=tool.env())
    hints = [one["hint"] for one in done.error["problems"] if one["code"] == "rollback/incomplete"]
    words = hints[0].partition("fabric ")[2].split()
    assert words[:3] == ["remove", "-c", "auth/fabric.yml"]
    tool.answers("", 0)
    assert made.json(*words, env=tool.env()).result["removed"]


def failing(folder: Path) -> tuple[Project, Tool]:
    """All that is live was edited, and the last of the chain cannot be deployed any more."""
    made, tool = chain(folder), Tool(folder / "tool")
    made.json("compose", "deploy", env=tool.env())
    made.write({f"{name}/main.py": handler("newer") for name in ("auth", "api", "web")})
    tool.refuses("web")
    return made, tool


def test_failed_rollback_of_one_service_does_not_stop_others(tmp_path: Path) -> None:
    made, tool = failing(tmp_path)
    before = {name: json.loads(state(made, name).read_text()) for name in ("auth", "api")}
    done = made.json("compose", "deploy", "--rollback-on-failure", env=tool.env())
    assert done.code == 1
    found = rows(done.document["result"])
    assert found == {"web": "failed", "api": "rolled-back", "auth": "rolled-back"}
    functions = [one["functions"][0] for one in done.document["result"]["deployments"]]
    assert [one["status"] for one in functions] == ["unchanged", "unchanged", "failed"]
    assert [one["reason"] for one in functions][:2] == ["rolled back", "rolled back"]
    order = [call["FABRIC_SERVICE"] for call in tool.calls]
    assert order[3:] == ["auth", "api", "web", "auth", "api", "web"]
    for name, record in before.items():
        after = json.loads(state(made, name).read_text())
        assert after["deploymentId"] == record["deploymentId"]
        assert after["functions"] == record["functions"]


def test_only_services_not_rolled_back_are_named_and_the_cause_once(tmp_path: Path) -> None:
    made, tool = failing(tmp_path)
    done = made.json("compose", "deploy", "--rollback-on-failure", env=tool.env())
    codes = [one["code"] for one in done.error["problems"]]
    assert codes == ["deploy/command-failed", "rollback/incomplete"]
    assert "`web`" in done.error["problems"][1]["message"]


def test_remove_runs_in_reverse_deploy_order(tmp_path: Path) -> None:
    made, tool = chain(tmp_path), Tool(tmp_path / "tool")
    made.json("compose", "deploy", env=tool.env())
    assert made.json("compose", "remove", env=tool.env()).code == 0
    destroyed = [call["FABRIC_SERVICE"] for call in tool.calls if call["argv"] == ["destroy"]]
    assert destroyed == ["web", "api", "auth"]


def test_remove_is_limited_to_a_provider(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), site=())
    made.write({"site/fabric.yml": service("site").replace("cloud1-lambda", "edge1-workers")})
    made.json("compose", "deploy")
    result = made.json("compose", "remove", "--provider", "edge1-workers").result
    assert result["removed"] == [{"service": "site", "provider": "edge1-workers"}]
    assert state(made, "auth").exists()


def test_services_in_one_folder_have_separate_records(tmp_path: Path) -> None:
    made = compose(tmp_path, one=())
    both = "services:\n  - {name: a, config: ./one/a.yml}\n  - {name: b, config: ./one/b.yml}\n"
    made.write({"fabric.compose.yml": both, "one/a.yml": service("a"), "one/b.yml": service("b")})
    made.json("compose", "deploy")
    receipt = json.loads((made.root / "one/.fabric/dev.json").read_text())
    assert [row["service"] for row in receipt["deployments"]] == ["a", "b"]
    made.json("remove", "-c", "one/a.yml")
    receipt = json.loads((made.root / "one/.fabric/dev.json").read_text())
    assert [row["service"] for row in receipt["deployments"]] == ["b"]


def test_outputs_list_all_services(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), api=("auth",))
    assert len(made.json("compose", "outputs").result["absent"]) == 2
    made.json("compose", "deploy")
    result = made.json("compose", "outputs").result
    assert [row["endpoint"] for row in result["services"]] == [
        "https://api-dev.cloud1-lambda.fabric.example",
        "https://auth-dev.cloud1-lambda.fabric.example",
    ]


def test_service_is_removed_if_its_upstream_is_missing_or_not_selected(tmp_path: Path) -> None:
    made = chain(tmp_path)
    made.json("compose", "deploy")
    assert made.json("remove", "-c", "auth").code == 0
    assert made.json("remove", "-c", "web").result["removed"] != []
    assert made.json("compose", "remove").code == 0
    assert not any(state(made, name).exists() for name in ("auth", "api", "web"))


def test_single_service_rollback_works_beside_its_upstreams(tmp_path: Path) -> None:
    made = chain(tmp_path)
    made.json("compose", "deploy")
    made.write({"web/main.py": handler("newer")})
    made.json("compose", "deploy")
    assert made.json("rollback", "-c", "web").code == 0


def test_invoke_distinguishes_functions_of_services_in_one_folder(tmp_path: Path) -> None:
    made = compose(tmp_path, one=())
    both = "services:\n  - {name: a, config: ./one/a.yml}\n  - {name: b, config: ./one/b.yml}\n"
    other = service("b").replace("main.py", "other.py")
    files = {"one/a.yml": service("a"), "one/b.yml": other, "one/other.py": handler("b")}
    made.write({"fabric.compose.yml": both, **files})
    made.json("compose", "deploy")
    assert made.json("invoke", "run", "-c", "one/b.yml").result["response"] == "b"


def test_previous_deploy_times_set_the_order_and_critical_path(tmp_path: Path) -> None:
    """Without memory the longer chain leads; then a service that took long by itself."""
    made = compose(tmp_path, auth=(), api=("auth",), slow=())
    tool = Tool(tmp_path / "tool")
    tool.answers({"endpoint": "https://live.example"})
    assert critical(made, tool) == ["auth", "api"]
    tool.takes(3, "slow")
    assert made.json("compose", "deploy", env=tool.env()).code == 0
    made.write({f"{name}/main.py": handler("newer") for name in ("auth", "api", "slow")})
    assert critical(made, tool) == ["slow"]
    page = made.fabric("compose", "plan", "--graph", "html", env=tool.env()).out
    assert "last time" in page


def critical(made: Project, tool: Tool) -> list[str]:
    """The services that the critical path leads through."""
    text = made.fabric("compose", "plan", "--graph", "json", env=tool.env()).out
    deploys = (one for one in json.loads(text)["criticalPath"] if one.startswith("deploy:"))
    return [one.removeprefix("deploy:").partition("@")[0] for one in deploys]


# A service by itself is told apart by the compose file beside it or above it.

INCLUDED = """\
include: ["services/*/fabric.yml"]
services: [{name: web, config: web, dependsOn: [auth, zeta]}]
"""


def test_single_service_deploy_keeps_included_upstream_addresses(tmp_path: Path) -> None:
    made = compose(tmp_path, web=())
    made.write({"fabric.compose.yml": INCLUDED})
    for name in ("auth", "zeta", "idle"):
        folder = f"services/{name}"
        made.write({f"{folder}/fabric.yml": service(name), f"{folder}/main.py": handler(name)})
    bound = f"{service('web')}env: {{ROOT: '${{env:SERVICE_AUTH_URL}}'}}\n"
    made.write({"web/fabric.yml": bound})
    assert made.json("compose", "deploy").code == 0
    alone = made.json("deploy", cwd="web").result
    assert alone["deployments"][0]["status"] == "unchanged"
    one_of_them = made.json("deploy", cwd="services/auth").result
    assert one_of_them["deployments"][0]["status"] == "unchanged"


def test_a_service_beside_its_compose_file_keeps_the_addresses_of_its_upstreams(
    tmp_path: Path,
) -> None:
    made = compose(tmp_path, one=(), two=("one",))
    made.write(
        {
            "fabric.compose.yml": "services:\n"
            "  - {name: one, config: one.yml}\n"
            "  - {name: two, config: two.yml, dependsOn: [one]}\n",
            "one.yml": service("one", "first"),
            "two.yml": service("two", "second"),
            "first.py": handler("one"),
            "second.py": handler("two"),
        }
    )
    assert made.json("compose", "deploy").code == 0
    alone = made.json("deploy", "-c", "two.yml").result
    assert alone["deployments"][0]["status"] == "unchanged"


def test_broken_compose_file_above_a_service_fails_its_deploy(
    tmp_path: Path,
) -> None:
    made = chain(tmp_path)
    assert made.json("compose", "deploy").code == 0
    made.write({"fabric.compose.yml": "services: [{name: web, config: web, dependsOn: [no}]\n"})
    done = made.json("deploy", cwd="web")
    assert done.code == 65
    assert "fabric.compose.yml" in done.error["where"]["file"]


def test_two_upstreams_that_would_share_a_variable_are_refused(tmp_path: Path) -> None:
    made = compose(tmp_path, **{"my-svc": (), "my_svc": (), "web": ("my-svc", "my_svc")})
    error = made.json("compose", "plan").error
    assert error["code"] == "compose/same-variable"
    for word in ("`web`", "`my-svc`", "`my_svc`", "SERVICE_MY_SVC_URL"):
        assert word in error["message"]


def test_an_unreadable_record_elsewhere_does_not_keep_a_deploy_from_moving(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=())
    assert made.json("compose", "deploy").code == 0
    state(made, "auth").write_text('{"broken')
    made.write({"auth/fabric.yml": service("auth").replace("cloud1-lambda", "cloud2-functions")})
    done = made.json("compose", "deploy")
    assert rows(done.result) == {"auth": "deployed"}
    assert "deploy/left-behind" in done.err


def test_remove_distinguishes_unknown_provider_from_empty_provider(tmp_path: Path) -> None:
    made = chain(tmp_path)
    assert made.json("compose", "deploy").code == 0
    slip = made.json("compose", "remove", "--provider", "cloud1-lamda")
    assert (slip.code, slip.error["code"]) == (64, "usage/unknown-provider")
    nothing = made.fabric("compose", "remove", "--provider", "host2")
    assert (nothing.code, nothing.out) == (0, "Nothing to remove.\n")
    assert state(made, "auth").exists()


def test_distant_dependent_is_removed_before_its_upstream(tmp_path: Path) -> None:
    names = [f"s{number:02d}" for number in range(25)]
    needs = {name: (above,) for name, above in zip(names[1:], names[:-1], strict=True)}
    made, tool = compose(tmp_path, **{names[0]: (), **needs}), Tool(tmp_path / "tool")
    assert made.json("compose", "deploy", env=tool.env()).code == 0
    ends = ("--service", names[0], "--service", names[-1])
    assert made.json("compose", "remove", *ends, env=tool.env()).code == 0
    gone = [call["FABRIC_SERVICE"] for call in tool.calls if call["argv"] == ["destroy"]]
    assert gone == [names[-1], names[0]]


def test_artifacts_of_all_services_are_copied(tmp_path: Path) -> None:
    made = chain(tmp_path)
    assert made.json("compose", "deploy", "--out", "copies").code == 0
    made.json("compose", "package", "--out", "packages")
    assert made.tree("packages") == made.tree("copies") != {}


def test_dependents_left_without_an_upstream_are_named(tmp_path: Path) -> None:
    made = chain(tmp_path)
    made.json("compose", "deploy")
    gone = made.json("compose", "remove", "--service", "auth")
    assert gone.code == 0
    assert "services that depend on `auth` are not removed with it: `api`, `web`" in gone.err
    assert "fabric compose remove --service auth --with-dependents" in gone.err
    assert "remove/still-needed" not in made.json("compose", "remove", "--service", "auth").err
    made.json("compose", "deploy")
    assert "`web`" in made.json("remove", "-c", "api").err
    for words in (("--service", "api", "--with-dependents"), ()):
        made.json("compose", "deploy")
        assert "remove/still-needed" not in made.json("compose", "remove", *words).err


def test_damaged_record_does_not_hide_other_outputs(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), api=())
    made.json("compose", "deploy")
    damaged = state(made, "auth")
    damaged.write_text("{")
    given = made.json("compose", "outputs")
    assert (given.code, given.error["code"]) == (2, "state/corrupt")
    assert damaged.name in given.error["message"]
    result = given.document["result"]
    assert [row["service"] for row in result["services"]] == ["api"]
    assert result["absent"] == []
    assert made.json("compose", "outputs", "--service", "auth").code == 1
    refused = made.json("compose", "remove")
    assert (refused.code, refused.error["code"]) == (1, "state/corrupt")
    assert state(made, "api").exists()
    damaged.rename(damaged.with_name("host1.state.json"))
    lost = made.json("compose", "remove", "--provider", "cloud1-lambda")
    assert (lost.code, lost.error["code"]) == (1, "state/missing")
    words = ("--service", "api", "--provider", "cloud1-lambda")
    assert made.json("compose", "remove", *words).code == 0
    assert not state(made, "api").exists()
