"""Settings of the HTTP API that a plan rejects, and how they become fields of calls."""

import json
from typing import Any

import pytest
from msgspec import convert

from fabric.providers.cloud1.core.http_settings import (
    HttpSettings,
    decode_authorizers,
    encode_authorizers,
)
from fabric.providers.cloud1.core.versions import OwnSettings
from fabric.providers.cloud1.http.gateway_plan import DesiredGateway, plan_gateway
from fabric.providers.cloud1.limits import find_unsupported
from fabric.providers.core.contract import FunctionDraft, LiveFunction, Unsupported
from tests.support.orders import address

_USERS = {"type": "jwt", "issuer": "https://login.example", "audience": ["shop"]}
_CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/1"
_HELLO = "arn:aws:lambda:us-east-1:123456789012:function:shop-dev-hello:3"


def http(path: str = "/a", **more: object) -> str:
    return json.dumps({"type": "http", "method": "GET", "path": path, **more})


def unsupported(*triggers: str, **settings: object) -> list[Unsupported]:
    own = OwnSettings(role_arn="arn:r", http=convert(settings, HttpSettings))
    draft = FunctionDraft("hello", (("runtime", "nodejs"),), triggers=triggers)
    return list(find_unsupported(own, address(region="us-east-1"), (draft,)))


def planned(*triggers: str, former: str = "", **settings: Any) -> DesiredGateway:
    function = LiveFunction("hello", "shop-dev-hello", _HELLO, triggers=triggers)
    where = address(region="us-east-1", extension=json.dumps({"http": settings}))
    return plan_gateway(where, (function,), decode_authorizers(former))


def test_an_unknown_authorizer_is_named_with_its_trigger_and_the_nearest_one() -> None:
    settings: dict[str, Any] = {"authorizers": {"users": _USERS}}
    (one,) = unsupported(http(authorizer="users"), http("/b", authorizer="user"), **settings)
    assert one.problem.message == "function `hello` has the unknown authorizer `user`"
    assert (one.problem.hint, one.trigger) == ("did you mean `users`?", 1)


def test_scopes_need_a_jwt_authorizer() -> None:
    (one,) = unsupported(http(scopes=["x"]))
    assert "only a JWT authorizer checks" in one.problem.message
    settings: dict[str, Any] = {"authorizers": {"users": _USERS}, "defaultAuthorizer": "users"}
    assert unsupported(http(scopes=["x"]), **settings) == []


@pytest.mark.parametrize(
    ("settings", "place", "message"),
    [
        ({"defaultAuthorizer": "x"}, "defaultAuthorizer", "the unknown authorizer `x`"),
        (
            {"authorizers": {"door": {"type": "request", "function": "helo"}}},
            "authorizers.door.function",
            "not a function of this service",
        ),
        (
            {"authorizers": {"users": {**_USERS, "issuer": "http://login.example"}}},
            "authorizers.users.issuer",
            "not an HTTPS address",
        ),
        (
            {
                "authorizers": {
                    "door": {"type": "request", "arn": "arn:a", "identitySource": "header.X"}
                }
            },
            "authorizers.door.identitySource",
            "does not begin with `$request.`",
        ),
        (
            {"accessLogs": {"retentionDays": 13}},
            "accessLogs.retentionDays",
            "13 days, which AWS does not support",
        ),
        ({"timeout": 40}, "timeout", "HTTP APIs wait for at most 30 s"),
        ({"disableDefaultEndpoint": True}, "disableDefaultEndpoint", "the API has no domain"),
        (
            {"domain": {"name": "a.example", "certificate": _CERTIFICATE.replace("us", "eu")}},
            "domain.certificate",
            "in eu-east-1, and the API is in us-east-1",
        ),
        (
            {"domain": {"name": "a.example", "certificate": "arn:aws:iam::1:x/y"}},
            "domain.certificate",
            "not the ARN of a certificate",
        ),
    ],
)
def test_a_setting_that_cannot_work_is_named(
    settings: dict[str, Any], place: str, message: str
) -> None:
    (one,) = unsupported(http(), **settings)
    assert ".".join(one.keys) == f"extensions.cloud1-lambda.http.{place}"
    assert message in one.problem.message
    assert one.problem.code == "config/unfit"


def test_without_new_settings_the_stored_digest_stays() -> None:
    """A release of an older version of fabric needs no call after an upgrade."""
    trigger = http(authorizer="AWS_IAM", cors="https://a.example")
    known = "b473d09d7490c30c5cb0e2ddbcf9d5b4dbcf9b9ee737ebb788b97a1d85b4a067"
    assert planned(trigger, http("/b")).digest == known


@pytest.mark.parametrize(
    "settings",
    [
        {"authorizers": {"users": _USERS}, "defaultAuthorizer": "users"},
        {"throttle": {"rate": 1, "burst": 2}},
        {"accessLogs": True},
        {"payload": "1.0"},
        {"timeout": 3},
        {"domain": {"name": "a.example", "certificate": _CERTIFICATE}},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_each_setting_changes_the_digest(settings: dict[str, Any]) -> None:
    assert planned(http(), **settings).digest != planned(http()).digest


def test_an_unused_authorizer_changes_nothing() -> None:
    assert planned(http(), authorizers={"users": _USERS}).digest == planned(http()).digest


def test_a_trigger_can_do_without_the_default_authorizer() -> None:
    settings: dict[str, Any] = {"authorizers": {"users": _USERS}, "defaultAuthorizer": "users"}
    routes = planned(http(), http("/open", authorizer="none"), **settings).routes
    assert [one.access.authorization for one in routes] == ["JWT", "NONE"]


def test_a_rollback_finds_authorizers_that_the_config_no_longer_has() -> None:
    before = planned(http(authorizer="users"), authorizers={"users": _USERS})
    stored = encode_authorizers(before.definitions, lambda text: text)
    after = planned(http(authorizer="users"), former=stored)
    assert after.authorizers == before.authorizers


def test_an_authorizer_with_a_secret_is_not_stored() -> None:
    definitions = planned(http(), authorizers={"users": _USERS}).definitions
    hidden = encode_authorizers(definitions, lambda text: text.replace("shop", "***"))
    assert decode_authorizers(hidden) == {}


def test_a_cache_of_responses_has_a_key() -> None:
    door = {"type": "request", "function": "hello", "ttl": 60}
    (one,) = planned(http(authorizer="door"), authorizers={"door": door}).authorizers
    assert one.fields["IdentitySource"] == ["$request.header.Authorization"]
    assert one.alias.endswith(":function:shop-dev-hello:live")
