"""A second and a third opinion on cloud1: moto and ministack, as others made them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.support.in_process import project
from tests.support.project import Project
from tests.support.servers.ministack import ACCOUNT, ministack
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
_WHOLE = """service: shop
provider: {name: cloud1-lambda, runtime: python3.12, region: us-east-1}
extensions:
  cloud1-lambda:
    stack:
      before: {template: tables.yml, onRemove: delete}
layers:
  - {name: shared, path: shared}
workflows:
  - name: checkout
    definition:
      StartAt: Charge
      States:
        Charge: {Type: Task, Resource: "${function:hello.arn}", End: true}
functions:
  - name: hello
    entry: hello.py
    layers: [shared]
    env: {MOOD: "${ssm:/shop/mood}", TABLE: "${stack:Orders}"}
    permissions: [{DynamoDBReadPolicy: {TableName: "${stack:Orders}"}}]
    logs: {retentionDays: 7}
    async: {maximumRetryAttempts: 1}
    url: {}
    triggers:
      - {type: http, path: /hello}
      - {type: cron, schedule: rate(1 hour)}
      - {type: cron, schedule: rate(2 hours), method: scheduler}
      - {type: queue, queue: work, filters: [{body: {paid: [true]}}], maximumConcurrency: 5}
      - {type: pubsub, topic: news}
      - type: logstream
        stream: arn:aws:kinesis:us-east-1:123456789012:stream/clicks
        startingPosition: LATEST
      - {type: storage, bucket: pictures, events: ["objstore1:ObjectCreated:*"]}
      - {type: eventbus, pattern: {source: [shop]}}
  - {name: bye, entry: hello.py, env: {TABLE: "${stack:Orders}"}, permissions: []}
"""
_TABLES = """Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
Outputs:
  Orders: {Value: !Ref Orders}
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

    def client(self, service: str, **keys: str) -> Any:
        """Of boto3, which is untyped."""
        own = {
            "aws_access_key_id": self.env["AWS_ACCESS_KEY_ID"],
            "aws_secret_access_key": self.env["AWS_SECRET_ACCESS_KEY"],
        }
        url = self.env["AWS_ENDPOINT_URL"]
        return boto3.client(service, endpoint_url=url, region_name=_REGION, **{**own, **keys})

    def ran(self, *words: str) -> dict[str, Any]:
        done = self.project.json(*words, env=self.env)
        assert done.code == 0, done.out + done.err
        return dict(done.document["result"])

    def says(self, word: str) -> None:
        self.project.write({"hello.py": f"def handler(event, context):\n    return {word!r}\n"})

    @property
    def live(self) -> str:
        """The version of `hello` that users meet."""
        asked = {"FunctionName": "shop-dev-hello", "Name": "live"}
        return str(self.client("lambda").get_alias(**asked)["FunctionVersion"])

    def may_read(self, function: str, table: str) -> bool:
        """As the role of the function, with the policies that it has."""
        arn = f"arn:aws:iam::{ACCOUNT}:role/shop-dev-{function}-role"
        found = self.client("sts").assume_role(RoleArn=arn, RoleSessionName="test")["Credentials"]
        rows = self.client(
            "dynamodb",
            aws_access_key_id=found["AccessKeyId"],
            aws_secret_access_key=found["SecretAccessKey"],
            aws_session_token=found["SessionToken"],
        )
        try:
            rows.get_item(TableName=table, Key={"id": {"S": "1"}})
        except rows.exceptions.ClientError as error:
            if error.response["Error"]["Code"] != "AccessDeniedException":
                raise
            return False
        return True

    def left(self) -> list[str]:
        functions = self.client("lambda").list_functions()["Functions"]
        mappings = self.client("lambda").list_event_source_mappings()["EventSourceMappings"]
        return [
            *(one["FunctionName"] for one in functions),
            *(one["Name"] for one in self.client("events").list_rules()["Rules"]),
            *(one["Name"] for one in self.client("apigatewayv2").get_apis()["Items"]),
            *(one["UUID"] for one in mappings),
        ]

    def left_beside_functions(self) -> list[str]:
        machines = self.client("stepfunctions").list_state_machines()["stateMachines"]
        topics = self.client("sns").list_subscriptions()["Subscriptions"]
        return [
            *(one["RoleName"] for one in self.client("iam").list_roles()["Roles"]),
            *(one["name"] for one in machines),
            *(one["Name"] for one in self.client("scheduler").list_schedules()["Schedules"]),
            *(one["SubscriptionArn"] for one in topics),
            *self.client("dynamodb").list_tables()["TableNames"],
            *(one["LayerName"] for one in self.client("lambda").list_layers()["Layers"]),
        ]


@pytest.fixture
def account(tmp_path: Path) -> Iterator[_Account]:
    with moto(tmp_path) as server:
        env = _environment(server.endpoint, "testing", "testing")
        made = _Account(project(tmp_path / "project", sources={"fabric.yml": _CONFIG}), env)
        trust = json.dumps(_TRUST)
        role = made.client("iam").create_role(RoleName="f", AssumeRolePolicyDocument=trust)
        env["FABRIC_CLOUD1_LAMBDA_ROLE_ARN"] = role["Role"]["Arn"]
        made.client("sqs").create_queue(QueueName="work")
        yield made


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[_Account]:
    """ministack, which keeps to the policies of roles."""
    with ministack(tmp_path, AUTH="true") as endpoint:
        sources = {"fabric.yml": _WHOLE, "tables.yml": _TABLES, "shared/python/util.py": "A = 1\n"}
        env = _environment(endpoint, ACCOUNT, "test")
        made = _Account(project(tmp_path / "project", sources=sources), env)
        made.client("sqs").create_queue(QueueName="work")
        made.client("sns").create_topic(Name="news")
        made.client("kinesis").create_stream(StreamName="clicks", ShardCount=1)
        made.client("s3").create_bucket(Bucket="pictures")
        made.client("ssm").put_parameter(Name="/shop/mood", Value="glad", Type="String")
        yield made


def _environment(endpoint: str, key: str, secret: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_REGION": _REGION,
        "FABRIC_CLOUD1_REAL_DEPLOY": "1",
    }


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


def test_a_day_of_a_service_with_stack_roles_workflow_and_many_triggers(guarded: _Account) -> None:
    guarded.says("one")
    guarded.ran("deploy")
    table = guarded.client("dynamodb").list_tables()["TableNames"][0]
    assert guarded.may_read("hello", table)
    assert not guarded.may_read("bye", table)
    assert guarded.ran("plan")["summary"]["run"] == 0
    guarded.says("two")
    guarded.ran("deploy")
    assert guarded.live == "2"
    assert guarded.ran("invoke", "run", "--function", "hello")["response"] == "two"
    assert guarded.ran("invoke", "run", "--workflow", "checkout")
    guarded.ran("rollback")
    assert guarded.live == "1"
    assert guarded.may_read("hello", table)
    guarded.ran("remove", "--yes")
    assert [*guarded.left(), *guarded.left_beside_functions()] == []
