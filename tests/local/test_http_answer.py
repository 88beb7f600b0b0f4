"""What functions answer, as hosts pass it on; and what no host would."""

import pytest

from fabric.local.http_answer import BadAnswerError, convert_answer
from fabric.model.outcomes.json_struct import Json

PASSED_ON: dict[str, tuple[Json, int, dict[str, str], bytes]] = {
    "text": (
        {"statusCode": 201, "body": "hi"},
        201,
        {"content-type": "text/plain; charset=utf-8"},
        b"hi",
    ),
    # As hosts do: what the body may be is the function's to say.
    "json": (
        {"statusCode": 200, "body": '{"a": 1}'},
        200,
        {"content-type": "text/plain; charset=utf-8"},
        b'{"a": 1}',
    ),
    "typed": (
        {"statusCode": 200, "headers": {"Content-Type": "text/html"}, "body": "<p>"},
        200,
        {"content-type": "text/html"},
        b"<p>",
    ),
    "binary": (
        {
            "statusCode": 200,
            "headers": {"content-type": "image/png"},
            "body": "/wE=",
            "isBase64Encoded": True,
        },
        200,
        {"content-type": "image/png"},
        b"\xff\x01",
    ),
    "number-as-header": (
        {"statusCode": 200, "headers": {"x-count": 7, "x-on": True, "x-none": None}},
        200,
        {"x-count": "7", "x-on": "true", "content-type": "text/plain; charset=utf-8"},
        b"",
    ),
    "status-as-text": (
        {"statusCode": "404"},
        404,
        {"content-type": "text/plain; charset=utf-8"},
        b"",
    ),
    "older-status": ({"status": 202, "body": "x"}, 202, {}, b"x"),
    "value": ([1, "ä"], 200, {"content-type": "application/json"}, '[1, "ä"]'.encode()),
    "nothing": (None, 200, {"content-type": "application/json"}, b"null"),
    "object": ({"status": "ok"}, 200, {"content-type": "application/json"}, b'{"status": "ok"}'),
}


@pytest.mark.parametrize(("said", "status", "headers", "body"), PASSED_ON.values(), ids=PASSED_ON)
def test_an_answer_is_passed_on(
    said: Json, status: int, headers: dict[str, str], body: bytes
) -> None:
    found = convert_answer(said)
    assert (found.status, found.body) == (status, body)
    assert dict(found.headers).items() >= headers.items()


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_has_no_type_of_one(status: int) -> None:
    assert convert_answer({"statusCode": status}).headers == ()
    typed: Json = {"statusCode": status, "headers": {"content-type": "text/html"}}
    assert convert_answer(typed).headers == (("content-type", "text/html"),)


def test_multi_value_headers_and_cookies_are_separate_lines() -> None:
    found = convert_answer(
        {
            "statusCode": 200,
            "multiValueHeaders": {"x-one": ["a", "b"]},
            "cookies": ["c=1; Path=/", "d=2"],
        }
    )
    lines = [one for one in found.headers if one[0] != "content-type"]
    assert lines == [
        ("x-one", "a"),
        ("x-one", "b"),
        ("set-cookie", "c=1; Path=/"),
        ("set-cookie", "d=2"),
    ]


REFUSED: dict[str, Json] = {
    "status-beyond": {"statusCode": 1000},
    "status-below": {"statusCode": 101},
    "status-in-words": {"statusCode": "ok"},
    "status-half": {"statusCode": 200.5},
    "status-flag": {"statusCode": True},
    "body-object": {"statusCode": 200, "body": {"a": 1}},
    "no-base64": {"statusCode": 200, "body": "no!", "isBase64Encoded": True},
    "header-with-line-feed": {"statusCode": 200, "headers": {"a": "b\r\nset-cookie: x"}},
    "header-name": {"statusCode": 200, "headers": {"a b": "c"}},
    "header-object": {"statusCode": 200, "headers": {"a": {"b": 1}}},
    "headers-list": {"statusCode": 200, "headers": ["a"]},
    "cookies-text": {"statusCode": 200, "cookies": "a=1"},
    "cookie-with-line-feed": {"statusCode": 200, "cookies": ["a=1\nb: c"]},
}


@pytest.mark.parametrize("said", REFUSED.values(), ids=REFUSED)
def test_response_that_no_host_passes_on_is_refused_by_name(said: Json) -> None:
    with pytest.raises(BadAnswerError, match="its|header name"):
        convert_answer(said)
