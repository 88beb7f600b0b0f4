"""Calls that are counted and faults that are planned, for the account of one test."""

import json
from collections.abc import Callable

import boto3
import pytest
from botocore.exceptions import ConnectionClosedError, HTTPClientError
from msgspec import structs

from tests.servers.strict_cloud1.refused import refused
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.servers.strict_cloud1.faults import Fault, Faults, Throttle
from tests.support.servers.strict_cloud1.invocations import ROLE_TOKEN
from tests.support.servers.strict_cloud1.samples import create, role_of, settle

pytestmark = pytest.mark.slow
ANY_CALL: dict[str, Callable[[StrictCloud1], object]] = {
    "lambda": lambda cloud1: cloud1.client("lambda").list_functions(),
    "iam": lambda cloud1: cloud1.client("iam").list_roles(),
    "sts": lambda cloud1: cloud1.client("sts").get_caller_identity(),
    "s3": lambda cloud1: cloud1.client("s3").list_buckets(),
}
LOST = (ConnectionClosedError, HTTPClientError)


def test_calls_are_counted_by_operation_until_they_are_forgotten(cloud1: StrictCloud1) -> None:
    create(cloud1, Role=role_of(cloud1))
    settle(cloud1)
    assert cloud1.calls() == {
        "iam.GetRole": 1,
        "iam.CreateRole": 1,
        "lambda.CreateFunction": 1,
        "lambda.GetFunction": 2,
    }
    assert ("iam.GetRole", 404) in cloud1.answers()
    cloud1.reset()
    assert cloud1.calls() == {}
    assert list(cloud1.left()) == ["functions"]


def test_calls_of_other_clients_are_not_counted(cloud1: StrictCloud1) -> None:
    other = StrictCloud1(cloud1.endpoint)
    other.fault("*", times=9, status=500)
    role_of(cloud1)
    assert other.calls() == {}
    other.close()


def test_calls_of_functions_are_neither_counted_nor_refused(cloud1: StrictCloud1) -> None:
    role = cloud1.role()
    statement = {"Effect": "Allow", "Action": "lambda:ListFunctions", "Resource": "*"}
    document = {"Version": "2012-10-17", "Statement": statement}
    cloud1.client("iam").put_role_policy(
        RoleName="functions", PolicyName="own", PolicyDocument=json.dumps(document)
    )
    cloud1.reset()
    cloud1.fault("*", status=500)
    client = boto3.client(
        "lambda",
        endpoint_url=cloud1.endpoint,
        region_name=cloud1.region,
        aws_access_key_id=cloud1.key,
        aws_secret_access_key="of-a-function",  # noqa: S106
        aws_session_token=ROLE_TOKEN + role,
    )
    assert client.list_functions()["Functions"] == []
    client.close()
    assert cloud1.calls() == {}


def test_planned_fault_is_raised_after_the_skipped_calls(cloud1: StrictCloud1) -> None:
    gateway = cloud1.client("apigatewayv2")
    cloud1.fault("CreateApi", skip=1, times=1, status=503, code="ServiceUnavailableException")
    gateway.create_api(Name="a", ProtocolType="HTTP")
    with refused("ServiceUnavailableException"):
        gateway.create_api(Name="b", ProtocolType="HTTP")
    gateway.create_api(Name="c", ProtocolType="HTTP")
    assert [one["Name"] for one in gateway.get_apis()["Items"]] == ["a", "c"]


def test_a_lost_answer_is_of_a_call_that_was_carried_out(cloud1: StrictCloud1) -> None:
    gateway = cloud1.client("apigatewayv2")
    cloud1.fault("apigatewayv2.CreateApi", after=True)
    with pytest.raises(LOST):
        gateway.create_api(Name="a", ProtocolType="HTTP")
    assert len(gateway.get_apis()["Items"]) == 1


def test_a_lost_request_is_not_carried_out(cloud1: StrictCloud1) -> None:
    gateway = cloud1.client("apigatewayv2")
    cloud1.fault("apigatewayv2.CreateApi")
    with pytest.raises(LOST):
        gateway.create_api(Name="a", ProtocolType="HTTP")
    assert gateway.get_apis()["Items"] == []
    assert cloud1.answers()[0] == ("apigatewayv2.CreateApi", 0)


def test_half_an_answer_is_of_a_call_that_was_carried_out(cloud1: StrictCloud1) -> None:
    gateway = cloud1.client("apigatewayv2")
    cloud1.fault("CreateApi", half=True)
    # The client takes a body that ends too early for one that says nothing.
    assert "ApiId" not in gateway.create_api(Name="a", ProtocolType="HTTP")
    assert len(gateway.get_apis()["Items"]) == 1


def test_a_call_may_be_carried_out_and_answered_with_an_error(cloud1: StrictCloud1) -> None:
    gateway = cloud1.client("apigatewayv2")
    cloud1.fault("CreateApi", after=True, status=500, code="ServiceException")
    with refused("ServiceException"):
        gateway.create_api(Name="a", ProtocolType="HTTP")
    assert len(gateway.get_apis()["Items"]) == 1


@pytest.mark.parametrize(
    ("login", "service", "code"),
    [
        ("expired", "lambda", "ExpiredTokenException"),
        ("unknown", "lambda", "UnrecognizedClientException"),
        ("denied", "lambda", "AccessDeniedException"),
        ("expired", "iam", "ExpiredToken"),
        ("unknown", "sts", "InvalidClientTokenId"),
        ("unknown", "s3", "InvalidAccessKeyId"),
    ],
)
def test_credentials_are_refused_in_each_services_own_words(
    cloud1: StrictCloud1, login: str, service: str, code: str
) -> None:
    cloud1.fault("*", login=login)
    with refused(code):
        ANY_CALL[service](cloud1)
    ANY_CALL[service](cloud1)


def test_each_third_call_of_the_control_plane_is_too_much(cloud1: StrictCloud1) -> None:
    client = cloud1.client("lambda")
    cloud1.throttle(every=3)
    for _ in range(2):
        client.list_functions()
        client.list_functions()
        with refused("ResourceNotFoundException"):
            client.get_function(FunctionName="none")
        with refused("TooManyRequestsException", "Rate exceeded") as refusal:
            client.list_functions()
        assert refusal.status == 429


def test_a_rate_is_a_bucket_that_fills_with_time() -> None:
    hand = [0.0]
    faults = Faults(now=lambda: hand[0])
    faults.limit(Throttle(per_second=2))
    taken = [faults.is_too_much("lambda.CreateFunction") for _ in range(3)]
    hand[0] += 0.5
    later = [faults.is_too_much("lambda.CreateFunction") for _ in range(2)]
    assert (taken, later) == ([False, False, True], [False, True])
    assert not faults.is_too_much("lambda.GetFunction")


def test_an_unsigned_call_is_refused(cloud1: StrictCloud1) -> None:
    answer = cloud1.http_get(f"{cloud1.endpoint}/2015-03-31/functions")
    assert (answer.status, answer.json["__type"]) == (403, "MissingAuthenticationTokenException")


def test_a_fault_that_is_misspelt_is_refused(cloud1: StrictCloud1) -> None:
    with pytest.raises(AssertionError, match="unknown field"):
        cloud1.fault("CreateApi", statsu=500)


def test_every_field_of_a_fault_has_a_default_but_the_operation() -> None:
    assert [one.name for one in structs.fields(Fault) if one.required] == ["operation"]
