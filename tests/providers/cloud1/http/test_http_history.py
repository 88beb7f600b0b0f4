"""Settings of the API by deployment: what a release stores, and what a rollback finds of it."""

import json

import pytest
from msgspec.structs import replace

from fabric.model.records.record import Deployment, Mode, Record, RecordRef
from fabric.providers.cloud1.core.http_settings import HttpSettings, JwtAuthorizer
from fabric.providers.cloud1.http.http_history import compare_settings, find_restore_problem
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.redaction import build_redaction
from tests.support.orders import address

_AT = "https://abc.execute-api.us-east-1.amazonaws.com"


def deployed(**kept: str) -> DeploymentAddress:
    ref = RecordRef("shop", "dev", "cloud1-lambda")
    record = Record(ref, "cloud1-lambda", "l", "s", kept=tuple(kept.items()))
    return replace(address(), previous=record)


def past(endpoint: str) -> Deployment:
    return Deployment("d1", Mode.REAL, endpoint, (), "", (), "")


@pytest.mark.parametrize(
    ("endpoint", "kept", "is_possible"),
    [
        (f"{_AT}/dev", {"rest_api": "abc"}, True),
        (_AT, {"api": "abc"}, True),
        (_AT, {"rest_api": "abc"}, False),
        (f"{_AT}/dev", {"api": "abc"}, False),
        ("https://api.example.com", {"api": "abc"}, True),
        ("", {"api": "abc"}, True),
        (f"{_AT}/dev", {}, True),
    ],
)
def test_a_rollback_to_another_kind_is_not_possible(
    endpoint: str, kept: dict[str, str], *, is_possible: bool
) -> None:
    found = find_restore_problem(deployed(**kept), past(endpoint))
    assert (found is None) is is_possible


def test_stored_settings_tell_the_kind_of_an_api_with_a_domain() -> None:
    texts = {"api": "abc", "http_history": json.dumps({'{"kind": "rest"}': ["d1"]})}
    found = find_restore_problem(deployed(**texts), past("https://api.example.com"))
    assert found is not None
    assert found.code == "rollback/no-way-back"


def test_a_plan_hides_secrets_of_the_settings() -> None:
    ref = RecordRef("shop", "dev", "cloud1-lambda")
    kept = (("http_history", json.dumps({'{"payload": "1.0"}': ["d1"]})),)
    record = Record(ref, "cloud1-lambda", "l", "s", deployment_id="d1", kept=kept)
    hidden = 'of "mine"'
    now = HttpSettings(authorizers={"users": JwtAuthorizer("https://login.example", (hidden,))})
    hide = build_redaction([hidden], [])
    found = compare_settings(replace(address(), previous=record), now, hide)
    assert found
    assert json.loads(found[1])["authorizers"]["users"]["audience"] == ["[REDACTED]"]
