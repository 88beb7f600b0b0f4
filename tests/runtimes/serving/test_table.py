"""One table of handlers and requests, in both languages: what a container answers users."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.runtimes.serving.sources import handler
from tests.support.served_function import Reply, Served, serving

pytestmark = pytest.mark.slow

_PATHS = (
    *("event", "binary", "cookies", "none", "empty", "throws", "bad", "plain", "slow", "late"),
    *("callback", "env"),
)
_ROUTES = [
    *({"method": "ANY", "path": f"/{one}"} for one in _PATHS),
    {"method": "GET", "path": "/users/{id}"},
    {"method": "GET", "path": "/users/me"},
    {"method": "GET", "path": "/files/{name+}"},
]
_EMPTY = b"null"


@pytest.fixture(scope="module", params=["nodejs", "python"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    language: str = request.param
    folder = tmp_path_factory.mktemp(language)
    said = {"routes": _ROUTES, "seconds": 2}
    with serving(language, folder, handler(language, "table"), said, MODE="dark") as made:
        yield made


def event(served: Served, method: str, path: str, body: Any = None, **headers: str) -> Any:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    reply = served.ask(method, path, body, given)
    assert reply.status == 200, reply
    return reply.json


def test_an_event_says_all_of_a_request(served: Served) -> None:
    found = event(
        served,
        "POST",
        "/event?a=1&b=2&a=3&c=",
        b'{"x": "\xc3\xa4"}',
        content_type="application/json",
        cookie="k=v; l=w",
        x_own="yes",
    )
    assert found["version"] == "2.0"
    assert (found["routeKey"], found["rawPath"]) == ("ANY /event", "/event")
    assert found["rawQueryString"] == "a=1&b=2&a=3&c="
    assert found["queryStringParameters"] == {"a": "1,3", "b": "2", "c": ""}
    assert found["cookies"] == ["k=v", "l=w"]
    assert found["headers"]["x-own"] == "yes"
    assert "cookie" not in found["headers"]
    assert (json.loads(found["body"]), found["isBase64Encoded"]) == ({"x": "ä"}, False)
    http = found["requestContext"]["http"]
    assert (http["method"], http["path"]) == ("POST", "/event")


def test_a_body_that_is_no_text_comes_as_base64(served: Served) -> None:
    found = event(served, "POST", "/event", b"\x00\xff", content_type="application/octet-stream")
    assert (found["isBase64Encoded"], base64.b64decode(found["body"])) == (True, b"\x00\xff")
    found = event(served, "POST", "/event", b"\x00\xff", content_type="application/json")
    assert found["isBase64Encoded"] is True


def test_a_body_may_come_in_chunks(served: Served) -> None:
    found = event(served, "POST", "/event", iter([b"one", b"two"]), content_type="text/plain")
    assert found["body"] == "onetwo"


def test_no_body_is_none(served: Served) -> None:
    found = event(served, "GET", "/event")
    assert "body" not in found
    assert "queryStringParameters" not in found


@pytest.mark.parametrize(
    ("path", "route", "parameters"),
    [
        ("/users/7", "GET /users/{id}", {"id": "7"}),
        ("/users/a%20b%2Fc", "GET /users/{id}", {"id": "a b/c"}),
        ("/users/a%2520b", "GET /users/{id}", {"id": "a%20b"}),
        ("/users/me", "GET /users/me", None),
        ("/users/me/", "GET /users/me", None),
        ("/files/a/b.txt", "GET /files/{name+}", {"name": "a/b.txt"}),
    ],
)
def test_a_path_has_its_parameters(
    served: Served, path: str, route: str, parameters: dict[str, str] | None
) -> None:
    found = event(served, "GET", path)
    assert (found["routeKey"], found.get("pathParameters")) == (route, parameters)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nobody", 404),
        ("GET", "/users", 404),
        ("POST", "/users/7", 405),
        ("GET", "/none", 204),
        ("GET", "/throws", 500),
        ("GET", "/bad", 502),
        ("GET", "/callback", 201),
        ("HEAD", "/users/7", 200),
        ("GET", "/late", 504),
    ],
)
def test_a_status_is_that_of_the_answer(
    served: Served, method: str, path: str, status: int
) -> None:
    assert served.ask(method, path).status == status


def test_a_method_that_is_not_there_is_told_with_those_that_are(served: Served) -> None:
    assert served.ask("POST", "/users/7").header("allow") == ["GET"]


def test_an_answer_may_be_bytes(served: Served) -> None:
    reply = served.ask("GET", "/binary")
    assert (reply.body, reply.header("content-type")) == (b"\x00\xff\x89P", ["image/png"])


def test_headers_may_come_more_than_once(served: Served) -> None:
    reply = served.ask("GET", "/cookies")
    assert reply.header("set-cookie") == ["a=1; Path=/", "b=2"]
    assert reply.header("x-many") == ["1", "2"]


def test_any_other_value_is_json(served: Served) -> None:
    reply = served.ask("GET", "/plain")
    assert (reply.json, reply.header("content-type")) == ({"hello": "wörld"}, ["application/json"])
    assert served.ask("GET", "/empty").body == _EMPTY


def test_what_a_handler_throws_is_for_the_log_alone(served: Served) -> None:
    reply = served.ask("GET", "/throws")
    assert reply.json == {"message": "Internal Server Error"}
    assert "a secret of the handler" in served.log


def test_a_handler_sees_its_own_environment_alone(served: Served) -> None:
    assert served.ask("GET", "/env").json == ["dark", []]


def test_calls_go_on_side_by_side(served: Served) -> None:
    import concurrent.futures

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        replies: list[Reply] = list(pool.map(lambda _: served.ask("GET", "/slow"), range(8)))
    assert {one.body for one in replies} == {b"slow"}
