"""Plans read versions of secrets at AWS, and deploys read exactly these values."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Project, handler
from tests.support.servers.aws_values import AwsValues, Version, served_aws_values
from tests.support.tool import Tool

FIRST = "11111111-aaaa-4aaa-8aaa-111111111111"
SECOND = "22222222-bbbb-4bbb-8bbb-222222222222"
WORD = "hidden-word"
HEAD = (
    "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.11, region: eu-central-1}\n"
    "functions: [{name: f, entry: f.py}]\n"
)
SECRET = HEAD + "env: {DB_URL: 'db://ann:${secretsmanager:shop/db#password}@host'}\n"


@pytest.fixture
def aws() -> Iterator[AwsValues]:
    with served_aws_values() as values:
        values.put("shop/db", Version(FIRST, json.dumps({"password": WORD})))
        yield values


def shop(folder: Path, text: str = SECRET) -> Project:
    return project(folder / "project", text, {"f.py": handler("f")})


def env_of(tool: Tool, aws: AwsValues, **more: str) -> dict[str, str]:
    return {**tool.env(), **aws.env, **more}


def list_files_with(folder: Path, word: str) -> list[Path]:
    files = (one for one in folder.rglob("*") if one.is_file())
    return [one for one in files if word.encode() in one.read_bytes()]


@pytest.mark.parametrize("command", [("plan",), ("validate",), ("explain", "deploy:shop/f@x")])
def test_commands_that_change_nothing_read_no_value(
    tmp_path: Path, aws: AwsValues, command: tuple[str, ...]
) -> None:
    made = shop(tmp_path)
    made.fabric(*command, env=env_of(Tool(tmp_path / "tool"), aws))
    assert aws.list_read() == []


def test_a_deploy_reads_the_planned_version_once(tmp_path: Path, aws: AwsValues) -> None:
    made, tool = shop(tmp_path), Tool(tmp_path / "tool")
    assert made.json("deploy", env=env_of(tool, aws)).code == 0
    assert aws.list_read() == [("GetSecretValue", f"shop/db {FIRST}")]
    [call] = tool.calls
    assert json.loads(call["FABRIC_FUNCTION_ENV_JSON"])["f"]["DB_URL"] == f"db://ann:{WORD}@host"
    assert list_files_with(made.root, WORD) == []
    aws.calls.clear()
    done = made.json("deploy", env=env_of(tool, aws))
    assert (done.code, aws.list_read(), len(tool.calls)) == (0, [], 1)


def test_a_new_version_is_a_reason(tmp_path: Path, aws: AwsValues) -> None:
    made, tool = shop(tmp_path), Tool(tmp_path / "tool")
    assert made.json("deploy", env=env_of(tool, aws)).code == 0
    aws.put(
        "shop/db",
        Version(FIRST, json.dumps({"password": WORD}), ("AWSPREVIOUS",)),
        Version(SECOND, json.dumps({"password": "other-word"})),
    )
    shown = made.fabric("plan", env=env_of(tool, aws)).out
    assert "new secret version 22222222 of shop/db" in shown
    assert SECOND not in shown
    assert made.json("deploy", env=env_of(tool, aws)).code == 0
    env = json.loads(tool.calls[-1]["FABRIC_FUNCTION_ENV_JSON"])["f"]
    assert env["DB_URL"] == "db://ann:other-word@host"
    # The previous version is restored without its value in the state.
    assert made.json("rollback", env=env_of(tool, aws)).code == 0
    env = json.loads(tool.calls[-1]["FABRIC_FUNCTION_ENV_JSON"])["f"]
    assert env["DB_URL"] == f"db://ann:{WORD}@host"


def test_a_rollback_reads_the_recorded_version_of_a_secret_that_the_config_lost(
    tmp_path: Path, aws: AwsValues
) -> None:
    aws.put("shop/old", Version(FIRST, WORD))
    aws.put("shop/new", Version(SECOND, json.dumps({"password": "other-word"})))
    made, tool = shop(tmp_path), Tool(tmp_path / "tool")
    first = (
        "env: {DB: 'db://${secretsmanager:shop/db#password}', KEY: '${secretsmanager:shop/old}'}"
    )
    for env in (first, "env: {DB: 'db://${secretsmanager:shop/new#password}'}"):
        made.write({"fabric.yml": f"{HEAD}{env}\n"})
        assert made.json("deploy", env=env_of(tool, aws)).code == 0
    assert made.json("rollback", env=env_of(tool, aws)).code == 0
    values = json.loads(tool.calls[-1]["FABRIC_FUNCTION_ENV_JSON"])["f"]
    assert (values["DB"], values["KEY"]) == (f"db://{WORD}", WORD)


def test_a_rollback_to_a_deleted_version_names_the_option_that_helps(
    tmp_path: Path, aws: AwsValues
) -> None:
    made, tool = shop(tmp_path), Tool(tmp_path / "tool")
    assert made.json("deploy", env=env_of(tool, aws)).code == 0
    aws.put("shop/db", Version(SECOND, json.dumps({"password": "other-word"})))
    assert made.json("deploy", env=env_of(tool, aws)).code == 0
    error = made.json("rollback", env=env_of(tool, aws)).error
    assert "version 11111111 of `${secretsmanager:shop/db#password}` no longer" in error["message"]
    assert "add --with-current-environment" in error["hint"]
    assert error["where"]["line"] == 3, "the line of the function"
    done = made.fabric("rollback", "--with-current-environment", env=env_of(tool, aws))
    target, new = re.findall(r"Rolled back shop on cloud1-lambda to (\S+) as (\S+) \(", done.out)[0]
    assert f"restored from {target}" in done.err
    current = [one for one in made.json("releases").result["releases"] if one["current"]]
    assert [one["deploymentId"] for one in current] == [new]


def test_a_function_of_an_older_fabric_is_not_deployed_again(
    tmp_path: Path, aws: AwsValues
) -> None:
    """Older versions recorded the hash of the value, as for a value in the config."""
    text = SECRET.replace("${secretsmanager:shop/db#password}", WORD)
    made, tool = shop(tmp_path, text), Tool(tmp_path / "tool")
    assert made.json("deploy", env=env_of(tool, aws)).code == 0
    made.write({"fabric.yml": SECRET})
    shown = made.fabric("plan", env=env_of(tool, aws)).out
    assert "version 11111111 of secret shop/db not recorded yet" in shown
    assert made.json("deploy", env=env_of(tool, aws)).code == 0
    assert len(tool.calls) == 1
    aws.calls.clear()
    assert "No changes" in made.fabric("plan", env=env_of(tool, aws)).out
    assert aws.list_read() == []


def test_another_value_of_an_older_fabric_is_deployed(tmp_path: Path, aws: AwsValues) -> None:
    text = SECRET.replace("${secretsmanager:shop/db#password}", "another-word")
    made, tool = shop(tmp_path, text), Tool(tmp_path / "tool")
    assert made.json("deploy", env=env_of(tool, aws)).code == 0
    made.write({"fabric.yml": SECRET})
    assert made.json("deploy", env=env_of(tool, aws)).code == 0
    env = json.loads(tool.calls[-1]["FABRIC_FUNCTION_ENV_JSON"])["f"]
    assert env["DB_URL"] == f"db://ann:{WORD}@host"


def test_an_encrypted_parameter_is_planned_without_decryption(
    tmp_path: Path, aws: AwsValues
) -> None:
    aws.parameters["/shop/key"] = ("old", WORD)
    made = shop(tmp_path, HEAD + "env: {KEY: '${ssm:/shop/key}'}\n")
    tool = Tool(tmp_path / "tool")
    assert made.json("plan", env=env_of(tool, aws)).code == 0
    assert aws.calls == [("GetParameters", "/shop/key")]
    assert made.json("deploy", env=env_of(tool, aws)).code == 0
    assert aws.list_read() == [("GetParameter", "/shop/key:2")]
    assert json.loads(tool.calls[-1]["FABRIC_FUNCTION_ENV_JSON"])["f"]["KEY"] == WORD
    aws.parameters["/shop/key"] = ("old", WORD, "new")
    shown = made.fabric("plan", env=env_of(tool, aws)).out
    assert "new secret version 3 of /shop/key" in shown


def test_labels_and_arns_are_references(tmp_path: Path, aws: AwsValues) -> None:
    aws.put("shop/db", Version(FIRST, "was", ("AWSPREVIOUS",)), Version(SECOND, "is"))
    text = (
        "env: {WAS: '${secretsmanager:shop/db::AWSPREVIOUS}', IS: '${secretsmanager:shop/db}',"
        " ARN: '${secretsmanager:shop/db.arn}', NONE: '${secretsmanager:none,no}'}\n"
    )
    made, tool = shop(tmp_path, HEAD + text), Tool(tmp_path / "tool")
    assert made.json("deploy", env=env_of(tool, aws)).code == 0
    env = json.loads(tool.calls[-1]["FABRIC_FUNCTION_ENV_JSON"])["f"]
    assert (env["WAS"], env["IS"], env["NONE"]) == ("was", "is", "no")
    assert env["ARN"].startswith("arn:aws:secretsmanager:")


def test_a_missing_key_has_its_default_or_is_an_error(tmp_path: Path, aws: AwsValues) -> None:
    made = shop(tmp_path, HEAD + "env: {A: '${secretsmanager:shop/db:none,other}'}\n")
    tool = Tool(tmp_path / "tool")
    assert made.json("deploy", env=env_of(tool, aws)).code == 0
    assert json.loads(tool.calls[-1]["FABRIC_FUNCTION_ENV_JSON"])["f"]["A"] == "other"
    made.write({"fabric.yml": HEAD + "env: {A: '${secretsmanager:shop/db:none}'}\n"})
    done = made.json("deploy", env=env_of(tool, aws))
    assert done.error["code"] == "config/unresolved-reference"
    assert done.error["where"]["line"] == 3, "the line of the function"
    assert len(tool.calls) == 1


def test_a_secret_cannot_be_a_number(tmp_path: Path, aws: AwsValues) -> None:
    text = HEAD.replace("entry: f.py", "entry: f.py, memory: '${secretsmanager:shop/db}'")
    done = shop(tmp_path, text).json("plan", env=env_of(Tool(tmp_path / "tool"), aws))
    assert done.error["code"] == "config/late-value"
    assert "${secretsmanager:shop/db}" in done.error["message"]


def test_a_local_call_reads_the_value(tmp_path: Path, aws: AwsValues) -> None:
    code = "import os\n\n\ndef handler(event, context):\n    return os.environ['DB_URL']\n"
    made = project(tmp_path / "project", SECRET, {"f.py": code})
    env = env_of(Tool(tmp_path / "tool"), aws)
    done = made.json("invoke", "local", "--function", "f", env=env)
    assert done.result["response"] == f"db://ann:{WORD}@host"
