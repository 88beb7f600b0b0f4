"""Aliases, permissions and calls, as the strict server keeps them."""

import base64
import json
from collections import Counter

import pytest

from tests.servers.strict_cloud1.refused import refused
from tests.support.function_archive import archive
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.servers.strict_cloud1.samples import call, create, live, settle, update

pytestmark = pytest.mark.slow


def test_an_alias_shares_calls_out_by_weight(cloud1: StrictCloud1) -> None:
    live(cloud1)
    other = update(cloud1, "two")
    cloud1.client("lambda").update_alias(
        FunctionName="hello",
        Name="live",
        RoutingConfig={"AdditionalVersionWeights": {other: 0.3}},
    )
    said = Counter(call(cloud1, qualifier="live")["said"] for _ in range(10))
    assert said == {"one": 7, "two": 3}


@pytest.mark.parametrize(
    ("main", "others", "code"),
    [
        ("$LATEST", {"1": 0.5}, "InvalidParameterValueException"),
        ("1", {"$LATEST": 0.5}, "ValidationException"),
        ("1", {"2": 0.1, "3": 0.1}, "InvalidParameterValueException"),
        ("1", {"1": 0.5}, "InvalidParameterValueException"),
        ("1", {"9": 0.5}, "ResourceNotFoundException"),
        ("9", {}, "ResourceNotFoundException"),
        ("1", {"2": 1.5}, "ValidationException"),
    ],
    ids=["latest", "to latest", "three", "itself", "unknown other", "unknown", "too heavy"],
)
def test_alias_allows_one_additional_version_and_never_latest(
    cloud1: StrictCloud1, main: str, others: dict[str, float], code: str
) -> None:
    create(cloud1)
    settle(cloud1)
    update(cloud1, "two")
    update(cloud1, "three")
    with refused(code):
        cloud1.client("lambda").create_alias(
            FunctionName="hello",
            Name="live",
            FunctionVersion=main,
            RoutingConfig={"AdditionalVersionWeights": others},
        )


def test_existing_alias_is_a_conflict_and_a_missing_one_is_not_found(
    cloud1: StrictCloud1,
) -> None:
    live(cloud1)
    client = cloud1.client("lambda")
    with refused("ResourceConflictException", "Alias already exists"):
        client.create_alias(FunctionName="hello", Name="live", FunctionVersion="1")
    with refused("ResourceNotFoundException", "Cannot find alias arn"):
        client.update_alias(FunctionName="hello", Name="other", FunctionVersion="1")


def test_an_alias_is_changed_only_at_the_revision_that_is_named(cloud1: StrictCloud1) -> None:
    live(cloud1)
    client = cloud1.client("lambda")
    old = client.get_alias(FunctionName="hello", Name="live")["RevisionId"]
    client.update_alias(FunctionName="hello", Name="live", Description="a", RevisionId=old)
    with refused("PreconditionFailedException"):
        client.update_alias(FunctionName="hello", Name="live", Description="b", RevisionId=old)


def test_each_qualifier_has_a_separate_policy(cloud1: StrictCloud1) -> None:
    live(cloud1)
    client = cloud1.client("lambda")
    asked = {
        "FunctionName": "hello",
        "StatementId": "bucket",
        "Action": "lambda:InvokeFunction",
        "Principal": "s3.amazonaws.com",
    }
    client.add_permission(**asked, Qualifier="live")
    with refused("ResourceConflictException", "The statement id (bucket) provided already exists"):
        client.add_permission(**asked, Qualifier="live")
    client.add_permission(**asked)
    policy = json.loads(client.get_policy(FunctionName="hello", Qualifier="live")["Policy"])
    assert [one["Resource"].split(":")[-1] for one in policy["Statement"]] == ["live"]
    client.remove_permission(FunctionName="hello", StatementId="bucket", Qualifier="live")
    with refused("ResourceNotFoundException", "is not found in resource policy"):
        client.remove_permission(FunctionName="hello", StatementId="bucket", Qualifier="live")
    with refused("ResourceNotFoundException"):
        client.get_policy(FunctionName="hello", Qualifier="live")
    assert client.get_policy(FunctionName="hello")


def test_a_permission_of_a_qualifier_that_is_not_there_is_refused(cloud1: StrictCloud1) -> None:
    live(cloud1)
    with refused("ResourceNotFoundException"):
        cloud1.client("lambda").add_permission(
            FunctionName="hello",
            Qualifier="other",
            StatementId="bucket",
            Action="lambda:InvokeFunction",
            Principal="s3.amazonaws.com",
        )


def test_invoke_returns_version_error_and_log_tail(cloud1: StrictCloud1) -> None:
    text = """export const handler = async (event) => {
        console.log("said", process.env.WORD);
        if (event === "fail") throw new TypeError("failed"); return 1 }"""
    code = {"ZipFile": archive(index_mjs=text)}
    live(cloud1, Code=code, Environment={"Variables": {"WORD": "hush"}})
    client = cloud1.client("lambda")
    asked = {"FunctionName": "hello", "Qualifier": "live", "LogType": "Tail"}
    good = client.invoke(**asked, Payload=b"{}")
    assert (good["ExecutedVersion"], good["Payload"].read()) == ("1", b"1")
    log = base64.b64decode(good["LogResult"]).decode()
    assert "said hush" in log
    assert log.startswith("START RequestId")
    bad = client.invoke(**asked, Payload=b'"fail"')
    assert bad["FunctionError"] == "Unhandled"
    assert json.loads(bad["Payload"].read())["errorType"] == "TypeError"


def test_function_output_is_stored_in_its_log_group(cloud1: StrictCloud1) -> None:
    code = {"ZipFile": archive(app_py="def handler(event, context): print('seen', event)")}
    live(cloud1, Code=code, Runtime="python3.12", Handler="app.handler")
    call(cloud1, qualifier="live", event=7)
    found = cloud1.client("logs").filter_log_events(logGroupName="/aws/lambda/hello")
    assert "seen 7" in [one["message"] for one in found["events"]]


def test_a_function_that_ends_itself_or_takes_too_long_fails(cloud1: StrictCloud1) -> None:
    text = "export const handler = (event) => event ? process.exit(3) : new Promise(() => 0)"
    live(cloud1, Code={"ZipFile": archive(index_mjs=text)}, Timeout=1)
    assert call(cloud1, event=1)["errorType"] == "Runtime.ExitError"
    assert "Task timed out after 1.00 seconds" in call(cloud1)["errorMessage"]


def test_function_receives_endpoint_and_key_of_its_account(cloud1: StrictCloud1) -> None:
    text = """
import os
def handler(event, context):
    return [os.environ["AWS_ENDPOINT_URL"], os.environ["AWS_ACCESS_KEY_ID"]]
"""
    code = {"ZipFile": archive(app_py=text)}
    live(cloud1, Code=code, Runtime="python3.12", Handler="app.handler")
    assert call(cloud1) == [cloud1.endpoint, cloud1.key]


def test_layers_are_unpacked_beside_the_function(cloud1: StrictCloud1) -> None:
    client = cloud1.client("lambda")
    module = {"ZipFile": archive(**{"python/shared_py": "word = 'layered'"})}
    layer = client.publish_layer_version(LayerName="shared", Content=module)["LayerVersionArn"]
    text = "import shared\ndef handler(event, context): return shared.word"
    code = {"ZipFile": archive(app_py=text)}
    live(cloud1, Code=code, Runtime="python3.12", Handler="app.handler", Layers=[layer])
    assert call(cloud1) == "layered"
    with refused("InvalidParameterValueException", "does not exist"):
        create(cloud1, "other", Layers=[layer.replace("shared:1", "shared:2")])
