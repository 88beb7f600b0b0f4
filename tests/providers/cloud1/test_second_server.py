"""A second opinion on cloud1: moto, as others made it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.support.in_process import project
from tests.support.project import Project
from tests.support.servers.moto import KEYS, moto

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

_REGION = KEYS["CLOUD1_REGION"]
_CONFIG = """service: shop
provider: {name: cloud1-lambda, runtime: python3.12, region: us-east-1}
functions:
  - name: hello
    entry: hello.py
    env: {MOOD: glad}
    triggers:
      - {type: http, path: /hello}
      - {type: cron, schedule: rate(1 hour)}
      - {type: queue, queue: work}
  - {name: bye, entry: hello.py}
"""
_TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "lambda.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}


@dataclass
class _Account:
    project: Project
    env: dict[str, str]

    def client(self, service: str) -> Any:
        """Of boto3, which is untyped."""
        keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
        url = self.env["AWS_ENDPOINT_URL"]
        return boto3.client(service, endpoint_url=url, region_name=_REGION, **keys)

    def ran(self, *words: str) -> None:
        done = self.project.json(*words, env=self.env)
        assert done.code == 0, done.out + done.err

    def says(self, word: str) -> None:
        self.project.write({"hello.py": f"def handler(event, context):\n    return {word!r}\n"})

    @property
    def live(self) -> str:
        """The version of `hello` that users meet."""
        asked = {"FunctionName": "shop-dev-hello", "Name": "live"}
        return str(self.client("lambda").get_alias(**asked)["FunctionVersion"])

    def left(self) -> list[str]:
        functions = self.client("lambda").list_functions()["Functions"]
        mappings = self.client("lambda").list_event_source_mappings()["EventSourceMappings"]
        return [
            *(one["FunctionName"] for one in functions),
            *(one["Name"] for one in self.client("events").list_rules()["Rules"]),
            *(one["Name"] for one in self.client("apigatewayv2").get_apis()["Items"]),
            *(one["UUID"] for one in mappings),
        ]


@pytest.fixture
def account(tmp_path: Path) -> Iterator[_Account]:
    with moto(tmp_path) as server:
        env = {
            "AWS_ENDPOINT_URL": server.endpoint,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_REGION": _REGION,
            "FABRIC_CLOUD1_REAL_DEPLOY": "1",
        }
        made = _Account(project(tmp_path / "project", sources={"fabric.yml": _CONFIG}), env)
        trust = json.dumps(_TRUST)
        role = made.client("iam").create_role(RoleName="f", AssumeRolePolicyDocument=trust)
        env["FABRIC_CLOUD1_LAMBDA_ROLE_ARN"] = role["Role"]["Arn"]
        made.client("sqs").create_queue(QueueName="work")
        yield made


def test_a_day_of_a_service(account: _Account) -> None:
    account.says("one")
    account.ran("deploy")
    assert account.live == "1"
    assert len(account.left()) == 5
    account.ran("deploy", "--force")
    assert account.live == "1"
    account.says("two")
    account.ran("deploy")
    assert account.live == "2"
    account.ran("rollback")
    assert account.live == "1"
    account.ran("remove", "--yes")
    assert account.left() == []
