"""Code of functions reaches what its permissions name, and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.cloud1_shop import Shop
from tests.support.in_process import project
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

# As an SDK sends it, without its import, which takes longer than the call.
_READ = """import json, os, urllib.error, urllib.request
def handler(event, context):
    env = os.environ
    table = event["queryStringParameters"]["table"]
    scope = f"20261127/{env['AWS_REGION']}/dynamodb/aws4_request"
    headers = {
        "Authorization": f"AWS4-HMAC-SHA256 Credential={env['AWS_ACCESS_KEY_ID']}/{scope}",
        "X-Amz-Security-Token": env["AWS_SESSION_TOKEN"],
        "X-Amz-Target": "DynamoDB_20120810.GetItem",
        "Content-Type": "application/x-amz-json-1.0",
    }
    body = json.dumps({"TableName": table, "Key": {"id": {"S": "1"}}}).encode()
    asked = urllib.request.Request(env["AWS_ENDPOINT_URL"], body, headers)
    try:
        return {"statusCode": 200, "body": urllib.request.urlopen(asked).read().decode()}
    except urllib.error.HTTPError as error:
        return {"statusCode": error.code, "body": error.read().decode()}
"""


class TableShop(Shop):
    """Functions `one` and `two`, each with permissions for a table of its name."""

    action = "dynamodb:GetItem"

    def write(self) -> None:
        place = f"arn:aws:dynamodb:{self.region}:*:table"
        rows = [
            f"  - {{name: {name}, entry: read.py, triggers: [{{type: http, path: /{name}}}], "
            f'permissions: [{{actions: ["{self.action}"], resources: ["{place}/{name}"]}}]}}\n'
            for name in ("one", "two")
        ]
        self.project.write({"fabric.yml": f"{self.head}functions:\n{''.join(rows)}"})

    def read(self, name: str) -> Any:
        """The status of the function for each table."""
        done = self.run("outputs")
        url = done.result["services"][0]["outputs"]["url"]
        tables = ("one", "two")
        return [self.cloud1.http_get(f"{url}/{name}?table={one}").status for one in tables]


def test_each_function_reaches_its_own_table_also_after_a_rollback(
    cloud1: StrictCloud1, tmp_path: Path
) -> None:
    shop = TableShop(cloud1, project(tmp_path / "project", sources={"read.py": _READ}))
    for name in ("one", "two"):
        cloud1.client("dynamodb").create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    shop.ran("deploy")
    assert (shop.read("one"), shop.read("two")) == ([200, 403], [403, 200])
    shop.action = "dynamodb:PutItem"
    shop.ran("deploy")
    assert shop.read("one") == [403, 403]
    shop.ran("rollback")
    assert (shop.read("one"), shop.read("two")) == ([200, 403], [403, 200])
