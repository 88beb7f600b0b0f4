"""Plans without AWS use the last known values of references. Deploys never do."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Project, handler
from tests.support.servers.aws_values import AwsValues, Version, served_aws_values
from tests.support.tool import Tool

VERSION = "11111111-aaaa-4aaa-8aaa-111111111111"
WORD = "hidden-word"
CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11, region: eu-central-1}
functions: [{name: f, entry: f.py}]
env: {URL: '${ssm:/shop/url}', KEY: '${ssm:/shop/key}', DB: '${secretsmanager:shop/db}'}
"""


@pytest.fixture
def aws() -> Iterator[AwsValues]:
    with served_aws_values() as values:
        values.put("shop/db", Version(VERSION, WORD))
        values.parameters |= {"/shop/url": ("https://mail.test",), "/shop/key": (WORD,)}
        values.plain = frozenset({"/shop/url"})
        yield values


def deployed(folder: Path, aws: AwsValues) -> tuple[Project, Mapping[str, str]]:
    made = project(folder / "project", CONFIG, {"f.py": handler("f")})
    env = {**Tool(folder / "tool").env(), **aws.env}
    assert made.json("deploy", env=env).code == 0
    return made, env


def test_a_plan_with_expired_credentials_uses_the_last_values(
    tmp_path: Path, aws: AwsValues
) -> None:
    made, env = deployed(tmp_path, aws)
    aws.refusal = "ExpiredTokenException"
    done = made.json("plan", env=env)
    assert done.code == 0, done.out + done.err
    [warning] = [one for one in done.result["warnings"] if one["code"] == "config/last-known-value"]
    for name in ("${ssm:/shop/url}", "${ssm:/shop/key}", "${secretsmanager:shop/db}"):
        assert f"`{name}` (less than 1 minute old)" in warning["message"]
    shown = made.fabric("plan", env=env)
    assert "No changes" in shown.out
    assert "using last known values, because AWS cannot be reached" in shown.err
    assert made.fabric("explain", "deploy:shop@cloud1-lambda", env=env).code == 0


def test_a_deploy_does_not_use_stored_values(tmp_path: Path, aws: AwsValues) -> None:
    made, env = deployed(tmp_path, aws)
    aws.refusal = "ExpiredTokenException"
    error = made.json("deploy", env=env).error
    assert error["code"] == "credentials/refused"
    assert "the credentials have expired" in error["message"]


def test_a_plan_without_a_network_uses_the_last_values(tmp_path: Path, aws: AwsValues) -> None:
    made, env = deployed(tmp_path, aws)
    done = made.json("plan", env={**env, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"})
    assert done.code == 0, done.out + done.err
    assert "config/last-known-value" in json.dumps(done.result["warnings"])


def test_a_build_without_a_network_uses_the_last_values(tmp_path: Path, aws: AwsValues) -> None:
    made, env = deployed(tmp_path, aws)
    done = made.fabric("package", env={**env, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"})
    assert done.code == 0, done.out + done.err
    assert "using last known values" in done.err


def test_no_secret_is_stored(tmp_path: Path, aws: AwsValues) -> None:
    made, _ = deployed(tmp_path, aws)
    files = [one for one in made.root.rglob("*") if one.is_file()]
    assert [one for one in files if WORD.encode() in one.read_bytes()] == []
    assert "references.bin" in {one.name for one in files}


def test_a_refused_call_has_no_stored_value(tmp_path: Path, aws: AwsValues) -> None:
    made, env = deployed(tmp_path, aws)
    aws.refusal = "AccessDeniedException"
    assert made.json("plan", env=env).error["code"] == "credentials/refused"


def test_values_of_another_profile_are_not_used(tmp_path: Path, aws: AwsValues) -> None:
    made, env = deployed(tmp_path, aws)
    first, second = ({**env, "CLOUD1_ACCESS_KEY_ID": f"AKIA{one * 16}"} for one in "AB")
    assert made.json("plan", env=first).code == 0
    aws.refusal = "ExpiredTokenException"
    assert made.json("plan", env=first).code == 0
    assert made.json("plan", env=second).error["code"] == "credentials/refused"


def test_values_of_another_stage_are_not_used(tmp_path: Path, aws: AwsValues) -> None:
    made, env = deployed(tmp_path, aws)
    aws.refusal = "ExpiredTokenException"
    assert made.json("plan", "--stage", "prod", env=env).error["code"] == "credentials/refused"


def test_a_changed_file_of_values_counts_as_empty(tmp_path: Path, aws: AwsValues) -> None:
    made, env = deployed(tmp_path, aws)
    [stored] = made.root.rglob("references.bin")
    stored.write_bytes(stored.read_bytes().replace(b"mail.test", b"evil.test"))
    aws.refusal = "ExpiredTokenException"
    assert made.json("plan", env=env).error["code"] == "credentials/refused"
