"""What stands for an upstream's output until it is known leaves this process by no way at all."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from fabric.model.late_values import (
    fill_document,
    find_late_names,
    format_placeholder,
    require_known_values,
)
from fabric.model.problems import FabricError
from fabric.model.secrets.secret import Secret
from fabric.providers.command.run import Call, CommandOutput, run_line
from fabric.providers.core.provider import CommandEnvironment
from fabric.providers.core.redaction import build_redaction
from fabric.runtimes.invoke import Invocation, invoke
from fabric.system.http.http_check import call_function, find_unreachable_reason
from tests.support.in_process import compose
from tests.support.project import Project, service
from tests.support.tool import Tool

LATE = format_placeholder("SERVICE_AUTH_URL")
EVERYWHERE = """\
env: {HOME_OF_AUTH: '${env:SERVICE_AUTH_URL}/v1'}
resources:
  - name: orders
    type: database
    envVar: ORDERS_URL
    connectionString: '${env:SERVICE_AUTH_URL}/db'
addons:
  - {name: mail, version: '1', secrets: {MAIL_URL: '${env:SERVICE_AUTH_URL}/mail'}}
extensions:
  cloud1-lambda:
    iam:
      role:
        statements:
          - {effect: Allow, actions: ['x:Get'], resources: ['arn:${env:SERVICE_AUTH_URL}']}
"""
ANSWERING = "import os\n\n\ndef handler(event, context):\n    return dict(os.environ)\n"


def pair(folder: Path, more: str = "") -> Project:
    made = compose(folder, auth=(), web=("auth",))
    made.write({"web/fabric.yml": service("web") + more, "web/main.py": ANSWERING})
    return made


def written_below(folder: Path) -> Iterator[tuple[Path, bytes]]:
    return ((path, path.read_bytes()) for path in folder.rglob("*") if path.is_file())


def holds_placeholder(content: bytes) -> bool:
    text = content.decode("utf-8", "replace")
    return bool(find_late_names(text)) or "\\ue000" in text.lower()


def test_every_document_of_a_deploy_command_is_filled_in(tmp_path: Path) -> None:
    made, tool = pair(tmp_path, EVERYWHERE), Tool(tmp_path / "tool", "https://a.test")
    assert made.json("compose", "deploy", env=tool.env()).code == 0
    told = next(one for one in tool.calls if one["FABRIC_SERVICE"] == "web")
    assert not holds_placeholder(json.dumps(told).encode())
    statements = json.loads(told["FABRIC_CLOUD1_IAM_ROLE_STATEMENTS_JSON"])
    assert statements[0]["resources"] == ["arn:https://a.test"]
    resources = json.loads(told["FABRIC_CLOUD1_RESOURCE_ADDRESSES_JSON"])
    assert resources["orders"]["address"] == "https://a.test/db"
    env = json.loads(told["FABRIC_FUNCTION_ENV_JSON"])["main"]
    assert (env["HOME_OF_AUTH"], env["MAIL_URL"]) == ("https://a.test/v1", "https://a.test/mail")


def test_simulated_function_receives_upstream_outputs(tmp_path: Path) -> None:
    made = pair(tmp_path, "env: {HOME_OF_AUTH: '${env:SERVICE_AUTH_URL}/v1'}\n")
    done = made.json("compose", "deploy").result
    endpoint = next(one for one in done["deployments"] if one["service"] == "auth")["endpoint"]
    answer = made.json("invoke", "run", "--function", "main", cwd="web").result["response"]
    assert answer["SERVICE_AUTH_URL"] == endpoint
    assert answer["HOME_OF_AUTH"] == f"{endpoint}/v1"


def test_build_command_does_not_receive_late_values(tmp_path: Path) -> None:
    command = "build: {command: [sh, -c, 'mkdir -p out && env > out/main.py']}\n"
    made = pair(tmp_path, command)
    made.fabric("compose", "build")
    assert not any(holds_placeholder(content) for _, content in written_below(tmp_path))


def test_no_file_contains_late_value_placeholders(tmp_path: Path) -> None:
    made = pair(tmp_path, EVERYWHERE)
    assert made.json("compose", "plan", "--out", "plan.json").code == 0
    assert made.json("compose", "deploy").code == 0
    found = [path for path, content in written_below(tmp_path) if holds_placeholder(content)]
    assert found == []


def refused(what: Mapping[str, str]) -> str:
    with pytest.raises(FabricError) as caught:
        require_known_values("it", what.values())
    return caught.value.first.code


def test_a_placeholder_is_found_in_a_text_and_in_its_json() -> None:
    assert refused({"plain": f"arn:{LATE}"}) == "config/late-value"
    assert refused({"json": json.dumps({"a": LATE})}) == "config/late-value"
    require_known_values("it", ["https://a.test", ""])


def test_documents_are_filled_in_at_every_depth() -> None:
    document = {"a": [LATE, {"b": f"{LATE}/x"}, 1, None, True], LATE: "key"}
    filled = fill_document(document, {"SERVICE_AUTH_URL": 'a"b'})
    assert filled == {"a": ['a"b', {"b": 'a"b/x'}, 1, None, True], 'a"b': "key"}


def test_no_border_lets_one_through(tmp_path: Path) -> None:
    call = Call(
        "FABRIC_X_DEPLOY_CMD", "true", "deploy/command-failed", build_redaction(frozenset(), ())
    )
    around = CommandEnvironment(tmp_path, Secret({}))
    invocation = Invocation("f", b"", "main.handler", "python3.11", env=Secret((("A", LATE),)))
    borders: dict[str, Callable[[], object]] = {
        "a command's variables": lambda: run_line(call, CommandOutput({"A": LATE}, {}, ""), around),
        "a command's documents": lambda: run_line(
            call, CommandOutput({}, {"D": json.dumps([LATE])}, ""), around
        ),
        "a command's order": lambda: run_line(
            call, CommandOutput({}, {}, json.dumps([LATE])), around
        ),
        "a function's environment": lambda: invoke(invocation, {}),
        "a call": lambda: call_function("POST", f"https://{LATE}/", b"{}", 1),
        "a health check": lambda: find_unreachable_reason(f"https://{LATE}/"),
    }
    for name, cross in borders.items():
        with pytest.raises(FabricError) as caught:
            cross()
        assert caught.value.first.code == "config/late-value", name


def test_an_upstream_that_is_not_live_is_named_before_a_call(tmp_path: Path) -> None:
    made = pair(tmp_path)
    made.json("compose", "deploy")
    made.json("remove", "--yes", cwd="auth")
    error = made.json("invoke", "run", "--function", "main", cwd="web").error
    assert error["code"] == "deploy/upstream-not-deployed"


@pytest.mark.parametrize(
    "more",
    [
        "extensions: {cloud1-lambda: {region: '${env:SERVICE_AUTH_URL}'}}\n",
        "resources: [{name: '${env:SERVICE_AUTH_URL}', type: cache, connectionString: x}]\n",
        "addons: [{name: m, version: '${env:SERVICE_AUTH_URL}'}]\n",
        "layers: [{name: '${env:SERVICE_AUTH_URL}', arn: 'arn:a'}]\n",
        "backend: {kind: '${env:SERVICE_AUTH_URL}'}\n",
    ],
)
def test_late_value_in_an_unsupported_field_is_the_only_error(more: str, tmp_path: Path) -> None:
    error = pair(tmp_path, more).json("compose", "plan").error
    assert [one["code"] for one in error["problems"]] == ["config/late-value"]


def test_an_output_of_another_stage_comes_from_its_state(tmp_path: Path) -> None:
    made = pair(tmp_path, "env: {PROD: '${service:auth@prod.url}', NOW: '${service:auth.url}'}\n")
    error = made.json("compose", "deploy").error
    assert error["code"] == "deploy/upstream-not-deployed"
    assert "in stage `prod`" in error["message"]
    made.json("deploy", "--stage", "prod", cwd="auth")
    assert made.json("compose", "deploy").code == 0
    answer = made.json("invoke", "run", "--function", "main", cwd="web").result["response"]
    assert "auth-prod" in answer["PROD"]
    assert answer["NOW"] == answer["SERVICE_AUTH_URL"]
    assert made.json("compose", "plan").result["summary"]["run"] == 0


def test_an_output_needs_a_dependency_that_has_it(tmp_path: Path) -> None:
    made = pair(tmp_path, "env: {A: '${service:other.url}'}\n")
    error = made.json("compose", "plan").error
    assert (error["code"], "dependsOn" in error["hint"]) == ("config/unresolved-reference", True)
    made.write({"web/fabric.yml": service("web") + "env: {A: '${service:auth.none}'}\n"})
    made.json("deploy", cwd="auth")
    error = made.json("deploy", cwd="web").error
    assert "`auth` has no output `none`" in error["message"]
    warnings = made.json("compose", "plan").result["warnings"]
    assert [one["message"] for one in warnings] == ["`auth` has no output `none`"]


def test_functions_know_addresses_of_each_other_also_in_local_runs(tmp_path: Path) -> None:
    made = pair(tmp_path, "env: {ME: '${function:main.arn}', NAME: '${function:main.name}'}\n")
    assert made.json("compose", "deploy").code == 0
    words = ("--function", "main")
    answer = made.json("invoke", "run", *words, cwd="web").result["response"]
    assert (answer["ME"].endswith("web-dev-main:live"), answer["NAME"]) == (True, "web-dev-main")
    local = made.json("invoke", "local", *words, cwd="web").result["response"]
    assert (local["ME"], local["NAME"]) == (answer["ME"], answer["NAME"])


def test_an_output_can_have_a_default(tmp_path: Path) -> None:
    values = "{A: '${service:auth@prod.url,no prod}', B: '${service:auth.none,${stage}}'}"
    made = pair(tmp_path, f"env: {values}\n")
    assert made.json("compose", "deploy").code == 0
    answer = made.json("invoke", "run", "--function", "main", cwd="web").result["response"]
    assert (answer["A"], answer["B"]) == ("no prod", "dev")
    made.json("deploy", "--stage", "prod", cwd="auth")
    assert made.json("deploy", cwd="web").code == 0
    answer = made.json("invoke", "run", "--function", "main", cwd="web").result["response"]
    assert "auth-prod" in answer["A"]
