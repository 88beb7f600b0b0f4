"""What pages of other origins may do."""

import pytest

from fabric.local.api import build_answer_headers, build_preflight_headers, is_foreign
from fabric.model.calls.cors import parse_cors_setting
from fabric.system.http.requests import RequestHead


def head(method: str = "GET", **headers: str) -> RequestHead:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return RequestHead(method=method, target="/", headers=pairs)


def test_without_settings_there_is_nothing_to_say() -> None:
    assert parse_cors_setting("") is None


def test_cors_true_allows_any_origin() -> None:
    cors = parse_cors_setting("true")
    assert cors
    assert build_answer_headers(cors, "https://a.b") == (("access-control-allow-origin", "*"),)
    assert build_answer_headers(cors, "") == ()


def test_cors_with_a_named_origin_allows_only_that_origin() -> None:
    cors = parse_cors_setting("https://a.b")
    assert cors
    assert (
        dict(build_answer_headers(cors, "https://a.b"))["access-control-allow-origin"]
        == "https://a.b"
    )
    assert build_answer_headers(cors, "https://other") == ()


def test_a_providers_own_settings_are_read() -> None:
    cors = parse_cors_setting(
        '{"allowedOrigins": ["https://a.b"], "allowedMethods": ["GET"], "allowedHeaders": ["X-A"],'
        ' "exposedResponseHeaders": ["X-B"], "allowCredentials": true, "maxAge": 60}'
    )
    assert cors
    found = dict(build_preflight_headers(cors, head("OPTIONS", origin="https://a.b")))
    assert found == {
        "access-control-allow-origin": "https://a.b",
        "vary": "origin",
        "access-control-expose-headers": "X-B",
        "access-control-allow-credentials": "true",
        "access-control-allow-methods": "GET",
        "access-control-allow-headers": "X-A",
        "access-control-max-age": "60",
    }


def test_requested_headers_are_allowed_if_none_are_configured() -> None:
    cors = parse_cors_setting("true")
    assert cors
    asked = head("OPTIONS", origin="https://a.b", access_control_request_headers="x-a, x-b")
    assert dict(build_preflight_headers(cors, asked))["access-control-allow-headers"] == "x-a, x-b"


@pytest.mark.parametrize(
    "asked",
    [
        head(),
        head(origin="http://localhost:3000"),
        head(origin="http://127.0.0.1"),
        head("GET", sec_fetch_site="cross-site"),
    ],
)
def test_pages_of_this_machine_and_links_are_the_developers_own(asked: RequestHead) -> None:
    assert not is_foreign(asked)


@pytest.mark.parametrize(
    "asked",
    [
        head(origin="https://evil.example"),
        head(origin="null"),
        head("POST", sec_fetch_site="cross-site"),
    ],
)
def test_cross_origin_request_is_detected(asked: RequestHead) -> None:
    assert is_foreign(asked)
