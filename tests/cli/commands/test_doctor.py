"""`fabric doctor`: what is missing is named, with what to do about it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fabric.model.catalog import PROVIDERS, ProviderFacts
from tests.support.in_process import project, typescript
from tests.support.project import Done, Project, handler, service
from tests.support.servers.process import free_port
from tests.support.servers.strict_cloud1.client import StrictCloud1

# Where no credentials of a user, nor of the machine, can be found.
ROLE = "FABRIC_CLOUD1_LAMBDA_ROLE_ARN"


def of_provider(folder: Path, provider: str, backend: str = "") -> Project:
    """For Node, which reports its version ten times as fast as pip."""
    text = service("shop", "main").replace("cloud1-lambda", provider)
    text = text.replace("python3.11", "nodejs20.x").replace("main.py", "main.mjs")
    source = "export const handler = async () => 1;\n"
    return project(folder, text + backend, {"main.mjs": source})


def checks(done: Done) -> dict[str, dict[str, Any]]:
    """The checks by name, whether the command failed or not."""
    return {row["name"]: row for row in done.document["result"]["checks"]}


def failing(done: Done) -> dict[str, str]:
    return {name: row["severity"] for name, row in checks(done).items() if not row["ok"]}


def given(facts: ProviderFacts) -> dict[str, str]:
    return {group[-1]: "value" for group in facts.credentials.required}


def real(facts: ProviderFacts) -> dict[str, str]:
    return {facts.real_deploy_variable: "1"}


@pytest.mark.parametrize("facts", PROVIDERS, ids=lambda one: one.id)
def test_missing_credentials_are_named_and_matter_in_real_mode(
    facts: ProviderFacts, tmp_path: Path
) -> None:
    made = of_provider(tmp_path, facts.id)
    simulated, live = made.json("doctor"), made.json("doctor", env=real(facts))
    assert (simulated.code, live.code) == (0, 77)
    for done, severity in ((simulated, "warning"), (live, "error")):
        row = checks(done)["credentials"]
        assert (row["ok"], row["severity"]) == (False, severity)
        assert facts.id in row["message"]
        for name in (name for group in facts.credentials.required for name in group):
            assert name in row["message"]
            assert name in row["fix"]


@pytest.mark.parametrize("facts", PROVIDERS, ids=lambda one: one.id)
def test_given_credentials_are_found_and_never_shown(facts: ProviderFacts, tmp_path: Path) -> None:
    made = of_provider(tmp_path, facts.id)
    env = {name: "hush-hush" for name in given(facts)}
    done = made.json("doctor", env=env)
    assert checks(done)["credentials"]["ok"] is True
    assert "hush-hush" not in done.out + done.err


def test_credentials_beside_the_config_count(tmp_path: Path) -> None:
    made = of_provider(tmp_path, "edge1-workers")
    made.write({".env": "EDGE1_API_TOKEN=hush-hush\nEDGE1_ACCOUNT_ID=me\n"})
    assert checks(made.json("doctor"))["credentials"]["ok"] is True


def test_a_deploy_by_command_does_without_credentials(tmp_path: Path) -> None:
    made = of_provider(tmp_path, "host2")
    env = {"FABRIC_REAL_DEPLOY": "1", "FABRIC_HOST2_DEPLOY_CMD": "true"}
    done = made.json("doctor", env=env)
    assert done.code == 0
    assert failing(done) == {"credentials": "warning", "deployer": "warning"}
    assert "FABRIC_HOST2_DESTROY_CMD" in checks(done)["deployer"]["fix"]
    env["FABRIC_HOST2_DESTROY_CMD"] = "true"
    assert failing(made.json("doctor", env=env)) == {"credentials": "warning"}


def test_a_real_deploy_of_functions_of_the_cloud_needs_a_role(tmp_path: Path) -> None:
    made = of_provider(tmp_path, "cloud1-lambda")
    keys = {"CLOUD1_ACCESS_KEY_ID": "a", "CLOUD1_SECRET_ACCESS_KEY": "b", "CLOUD1_REGION": "c"}
    done = made.json("doctor", env={**keys, "FABRIC_CLOUD1_REAL_DEPLOY": "1"})
    assert done.code == 77
    assert done.error["code"] == "credentials/role-missing"
    assert ROLE in done.error["hint"]


def test_public_function_urls_are_listed(tmp_path: Path) -> None:
    made = project(tmp_path, sources={name: handler("x") for name in ("a.py", "b.py", "c.py")})
    head = "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.12}\n"
    rows = "{name: a, entry: a.py, url: true}, {name: c, entry: c.py, url: false}"
    own = "{name: b, entry: b.py, url: {authorizer: AWS_IAM}}"
    made.write({"fabric.yml": f"{head}functions: [{rows}, {own}]\n"})
    row = checks(made.json("doctor"))["public-urls"]
    assert (row["ok"], row["message"]) == (True, "function URLs open to everybody: `a`")


def test_text_output_prints_all_checks(tmp_path: Path) -> None:
    done = of_provider(tmp_path, "host1").fabric("doctor")
    assert done.code == 0
    for word in ("config", "credentials", "HOST1_TOKEN", "backend", "disk", "1 warning"):
        assert word in done.out


# The config.


def test_a_config_that_does_not_load_is_a_failed_check(tmp_path: Path) -> None:
    made = of_provider(tmp_path, "host1")
    made.write({"fabric.yml": "service: shop\n"})
    done = made.json("doctor")
    assert done.code == 65
    assert done.document["result"]["service"] == ""
    assert failing(done) == {"config": "error"}
    assert {"cache", "disk"} <= checks(done).keys()
    assert made.json("doctor", "-c", "gone.yml").error["code"] == "config/not-found"


def test_a_config_that_cannot_be_planned_is_a_failed_check(tmp_path: Path) -> None:
    made = of_provider(tmp_path, "host1", "backend: {kind: objstore2}\n")
    done = made.json("doctor")
    assert failing(done)["config"] == "error"
    assert "objstore2Bucket" in checks(done)["config"]["message"]


# The state.


def test_unreachable_backend_exits_with_69(tmp_path: Path) -> None:
    backend = "backend: {kind: sql}\n"
    made = of_provider(tmp_path, "host1", backend)
    url = f"postgresql://me:hush-hush@127.0.0.1:{free_port()}/db"
    done = made.json("doctor", env={"FABRIC_STATE_SQL_URL": url})
    assert done.code == 69
    assert failing(done)["backend"] == "error"
    assert "hush-hush" not in done.out + done.err
    # What stands behind it is not told to fail as well.
    assert not {"record", "lock", "errored-state", "conditional-writes"} & checks(done).keys()


def test_a_store_is_tried_out_and_left_as_it_was(tmp_path: Path) -> None:
    made = of_provider(tmp_path, "host1", "backend: {kind: sql}\n")
    done = made.json("doctor")
    assert checks(done)["conditional-writes"]["ok"] is True
    assert made.json("state", "list").result["records"] == []


def test_a_held_lock_is_a_warning_with_its_holder(tmp_path: Path) -> None:
    made = of_provider(tmp_path, "host1")
    holder = {
        "id": "abc", "service": "shop", "stage": "dev", "provider": "host1",
        "operation": "deploy", "who": "ann@far-away", "pid": 7, "fence": 41,
        "createdAt": "2026-01-01T00:00:00Z", "heartbeatAt": "", "expiresAt": "",
    }  # fmt: skip
    made.write({".fabric/state/.locks/shop/dev/host1.json": json.dumps(holder)})
    done = made.json("doctor")
    assert done.code == 0
    assert checks(done)["lock"]["severity"] == "warning"
    assert "ann@far-away" in checks(done)["lock"]["message"]
    assert "force-unlock" in checks(done)["lock"]["fix"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (".fabric/state/shop/dev/host1.state.json", "record"),
        (".fabric/errored/shop/dev/host1.state.json", "errored-state"),
    ],
)
def test_state_that_blocks_a_deploy_is_an_error(path: str, name: str, tmp_path: Path) -> None:
    made = of_provider(tmp_path, "host1")
    made.write({path: "{}"})
    done = made.json("doctor")
    assert (done.code, failing(done)[name]) == (1, "error")


# The machine.


def test_tools_of_the_runtimes_are_named_with_versions(tmp_path: Path) -> None:
    found = checks(typescript(tmp_path).json("doctor"))
    assert found["node"]["message"].startswith("Node ")
    assert found["bundler"]["message"].startswith("esbuild ")
    assert "python" not in found


def test_missing_node_is_reported_only_if_a_function_needs_it(tmp_path: Path) -> None:
    # Without a PATH, and without the packaged Node that the interpreter of these tests may have.
    env = {"PATH": str(tmp_path)}
    config = service("shop", "main").replace("cloud1-lambda", "host1")
    made = project(tmp_path / "python", config, {"main.py": handler("x")})
    python = made.json("doctor", env=env)
    assert {"python", "uv"} <= checks(python).keys()
    assert "node" not in checks(python)


@pytest.mark.parametrize(
    ("env", "check", "severity"),
    [
        ({"FABRIC_CACHE_DIR": "fabric.yml/inside"}, "cache", "error"),
        ({"FABRIC_CACHE_DIR": "open"}, "cache", "warning"),
    ],
)
def test_invalid_cache_folder_is_reported(
    env: Mapping[str, str], check: str, severity: str, tmp_path: Path
) -> None:
    made = of_provider(tmp_path, "host1")
    (made.root / "open").mkdir(mode=0o755)
    done = made.json("doctor", env=env)
    assert failing(done)[check] == severity
    assert done.code == (1 if severity == "error" else 0)


def test_a_look_leaves_no_trace(tmp_path: Path) -> None:
    made = typescript(tmp_path)
    before = made.tree()
    assert made.json("doctor").code == 0
    assert made.tree() == before


def test_every_look_is_a_task_of_one_level(tmp_path: Path) -> None:
    made = of_provider(tmp_path, "host1")
    assert made.fabric("doctor", "--events", "events").code == 0
    events = [json.loads(line) for line in (made.root / "events").read_text().splitlines()]
    tasks = {one["task"] for one in events if one["type"] == "task_ended"}
    assert "probe:shop/credentials@host1" in tasks
    assert all(task.startswith("probe:") for task in tasks)
    assert (events[1]["type"], events[-1]["type"]) == ("run_started", "run_ended")


def of_cloud1(folder: Path, cloud1: StrictCloud1) -> tuple[Project, dict[str, str]]:
    env = {**cloud1.environment, "FABRIC_CLOUD1_REAL_DEPLOY": "1", ROLE: cloud1.role()}
    cloud1.reset()
    return of_provider(folder, "cloud1-lambda"), env


def test_identity_is_checked_at_the_provider_before_the_first_deploy(
    tmp_path: Path, cloud1: StrictCloud1
) -> None:
    made, env = of_cloud1(tmp_path, cloud1)
    done = made.json("doctor", env=env)
    assert done.code == 0
    assert cloud1.account in checks(done)["account"]["message"]
    assert cloud1.calls() == {"sts.GetCallerIdentity": 1, "lambda.GetFunction": 1}


@pytest.mark.parametrize("operation", ["sts.GetCallerIdentity", "lambda.GetFunction"])
def test_unknown_or_unauthorized_identity_is_reported(
    operation: str, tmp_path: Path, cloud1: StrictCloud1
) -> None:
    made, env = of_cloud1(tmp_path, cloud1)
    cloud1.fault(operation, times=20, status=403, code="AccessDeniedException", message="not you")
    done = made.json("doctor", env=env)
    assert done.code == 77
    assert checks(done)["account"]["ok"] is False
    assert "not you" in checks(done)["account"]["message"]


def test_provider_is_not_called_offline_or_for_simulated_deploys(
    tmp_path: Path, cloud1: StrictCloud1
) -> None:
    made, env = of_cloud1(tmp_path, cloud1)
    assert "account" not in checks(made.json("doctor", "--offline", env=env))
    assert "account" not in checks(made.json("doctor", env=cloud1.environment))
    assert cloud1.calls() == {}


def test_tools_of_build_commands_are_checked(tmp_path: Path) -> None:
    text = "service: shop\nprovider: {name: cloud1-lambda, runtime: provided.al2023}\n"
    tools = "tools: [[sh, -c, echo compiler 1.2], [no-such-compiler, --version]]"
    row = f"functions: [{{name: one, entry: src, build: {{command: make, {tools}}}}}]\n"
    made = project(tmp_path, text + row, {"src/x": ""})
    found = checks(made.json("doctor", "--offline"))
    assert found["sh"]["message"].startswith("compiler 1.2 (")
    assert (found["no-such-compiler"]["ok"], found["no-such-compiler"]["severity"]) == (
        False,
        "error",
    )


def test_missing_programs_of_steps_layers_and_builds_are_reported_once(tmp_path: Path) -> None:
    text = "service: shop\nprovider: {name: cloud1-lambda, runtime: nodejs20.x}\n"
    rows = "{name: types, command: [no-such-step, -b]}, {name: list, command: ls -a}"
    steps = f"build: {{before: [{rows}]}}\n"
    layers = "layers: [{name: fonts, build: {command: no-such-layer all, outputs: [fonts]}}]\n"
    build = "build: {command: no-such-make all, tools: [[no-such-make, --version]]}"
    row = f"functions: [{{name: one, entry: src, layers: [fonts], {build}}}]\n"
    made = project(tmp_path, text + steps + layers + row, {"src/x": ""})
    done = made.json("doctor", "--offline")
    missing = [one["name"] for one in done.document["result"]["checks"] if not one["ok"]]
    names = [one for one in missing if one.startswith("no-such")]
    assert sorted(names) == ["no-such-layer", "no-such-make", "no-such-step"]
    assert "ls" not in checks(done)
