"""Requests to functions and back, over real sockets and real children, in this process."""

import contextlib
import datetime
import http.client
import itertools
import json
import threading
from collections.abc import Iterator, Mapping
from hashlib import sha256

from fabric.local.access import EventForm, FunctionRule, Limit, RouteAccess, TokenRule
from fabric.local.api import LocalApi, ServedFunctions, Surroundings, merge_event
from fabric.local.exchange import ServedCall
from fabric.local.http_service import build_local_service
from fabric.local.routes import HttpRoute, RouteTable
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import Place, Problem
from fabric.runtimes.archive import build_archive
from fabric.runtimes.calls.function import CodeArchive, LocalFunction
from fabric.runtimes.calls.pool import HandlerPool
from fabric.runtimes.contract import BuiltFile
from fabric.system.event_loop import EventLoop
from fabric.system.http.listening import bind_socket
from fabric.system.http.server import HttpServer
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.until import until

TEXT = """
def handler(event, context):
    asked = event.get("queryStringParameters") if isinstance(event, dict) else None
    mode = (asked or {}).get("mode")
    if isinstance(event, dict) and "requestPath" in event and event["query"].get("fail"):
        raise ValueError(event["query"]["fail"])
    if mode == "throws":
        raise ValueError("no")
    if mode == "lies":
        return {"statusCode": 1}
    if isinstance(event, dict) and event.get("type") == "TOKEN":
        effect = "Allow" if event["authorizationToken"] == "yes" else "Deny"
        policy = {"Statement": [{"Effect": effect}]}
        return {"principalId": "user", "policyDocument": policy, "context": {"who": "me"}}
    if isinstance(event, dict) and event.get("type") == "REQUEST":
        return {"isAuthorized": event["identitySource"] == ["yes"], "context": {"who": "me"}}
    if mode == "typed":
        return {"statusCode": 200, "headers": {"access-control-allow-origin": "mine"}}
    return event
"""
CHECK = FunctionRule(name="check", function="echo", sources=("$request.header.X",))
POLICY = FunctionRule(
    name="policy",
    function="echo",
    sources=("$request.header.X",),
    is_simple=False,
    form=EventForm.TOKEN,
    pattern="[a-z]+",
)
TOKEN = TokenRule(name="users", source="$request.header.A", issuer="i", audience=("a",))
ROUTES = (
    HttpRoute("GET", "/open/{id}", "echo", "true"),
    HttpRoute("ANY", "/closed", "echo"),
    HttpRoute("GET", "/broken", "broken"),
    HttpRoute("GET", "/older/{id}", "echo", payload="1.0"),
    HttpRoute("ANY", "/mapped/{id}", "echo", payload="lambda"),
    HttpRoute("GET", "/checked", "echo", access=RouteAccess(CHECK)),
    HttpRoute("GET", "/limited", "echo", access=RouteAccess(limit=Limit(0, 1))),
    HttpRoute("GET", "/token", "echo", access=RouteAccess(TOKEN)),
    HttpRoute("GET", "/keyed", "echo", access=RouteAccess(api_keys=("mobile",))),
    HttpRoute("GET", "/policy", "echo", access=RouteAccess(POLICY)),
)
FOREIGN = {"Origin": "https://elsewhere.example"}
BROKEN = Problem("build/failed", "it does not parse", where=Place("a.py", 1, 2), frame="1 | (")


class Client:
    def __init__(self, port: int, calls: list[ServedCall]) -> None:
        self._port = port
        self.calls = calls

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body or None, dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def status(self, method: str, path: str, headers: Mapping[str, str] | None = None) -> int:
        return self.ask(method, path, headers=headers)[0]


@contextlib.contextmanager
def api(template: JsonObject | None = None) -> Iterator[Client]:
    content = build_archive([BuiltFile("main.py", TEXT.encode())])
    code = CodeArchive(sha256(content).hexdigest(), lambda: content)
    loop, calls, ids, over = EventLoop(), list[ServedCall](), itertools.count(), list[bool]()
    pool = HandlerPool(loop, {"PATH": ENVIRONMENT["PATH"]})
    pool.put(LocalFunction("echo", code, "main.handler", "python3.99"))
    around = Surroundings(
        lambda: datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        lambda: f"id-{next(ids)}",
        calls.append,
        template or {},
    )
    functions = ServedFunctions(RouteTable(ROUTES), {"echo": 1, "broken": 0}, {"broken": BROKEN})
    service = build_local_service(LocalApi(pool, functions, around).answer)
    server = HttpServer(loop, bind_socket("127.0.0.1", 0), service)
    thread = threading.Thread(target=loop.run_until, args=(lambda: bool(over),))
    thread.start()
    try:
        yield Client(server.port, calls)
    finally:
        loop.post(lambda: over.append(True))
        thread.join()
        server.close()
        pool.close()
        loop.close()


def test_a_request_is_an_event_and_its_answer_an_answer() -> None:
    with api({"stageVariables": {"a": 1}}) as client:
        status, _, body = client.ask("GET", "/open/7?x=1")
        event = json.loads(body)
        assert (status, event["pathParameters"], event["stageVariables"]) == (
            200,
            {"id": "7"},
            {"a": 1},
        )
        until(lambda: bool(client.calls))
        assert [one.function for one in client.calls] == ["echo"]


def test_failures_have_matching_status_codes() -> None:
    with api() as client:
        assert client.status("GET", "/open/7?mode=throws") == 500
        assert client.status("GET", "/open/7?mode=lies") == 502
        assert client.status("GET", "/nothing") == 404
        assert client.status("POST", "/open/7") == 405
        assert client.status("GET", "/closed", {"Upgrade": "websocket"}) == 501


def test_build_failure_is_returned_as_json_or_text() -> None:
    with api() as client:
        status, _, body = client.ask("GET", "/broken")
        assert (status, json.loads(body)) == (
            500,
            {"error": "a.py:1:2: it does not parse", "frame": "1 | ("},
        )
        _, headers, body = client.ask("GET", "/broken", headers={"Accept": "text/html"})
        assert headers["content-type"].startswith("text/plain")
        assert b"1 | (" in body
        assert client.status("POST", "/_fabric/events/broken") == 500


def test_cross_origin_requests_are_allowed_only_by_the_route() -> None:
    with api() as client:
        assert client.status("GET", "/closed", FOREIGN) == 403
        assert client.status("POST", "/_fabric/events/echo", FOREIGN) == 403
        assert client.status("GET", "/nothing", FOREIGN) == 404
        _, headers, _ = client.ask("GET", "/open/7", headers=FOREIGN)
        assert headers["access-control-allow-origin"] == "*"
        _, headers, _ = client.ask("GET", "/open/7?mode=typed", headers=FOREIGN)
        assert headers.get_all("access-control-allow-origin") == ["mine"]


def test_preflight_is_answered_by_the_local_server() -> None:
    asked = {**FOREIGN, "Access-Control-Request-Method": "GET"}
    with api() as client:
        status, headers, _ = client.ask("OPTIONS", "/open/7", headers=asked)
        assert (status, "GET" in headers["access-control-allow-methods"]) == (204, True)
        assert client.status("OPTIONS", "/open/7") == 204
        # A route that takes every method takes this one too.
        assert client.ask("OPTIONS", "/closed")[0] == 200


def test_events_go_to_functions_as_they_are() -> None:
    with api({"from": "template"}) as client:
        assert client.ask("POST", "/_fabric/events/echo", b"[1]")[2] == b"[1]"
        assert client.ask("POST", "/_fabric/events/echo")[2] == b'{"from":"template"}'
        assert client.status("GET", "/_fabric/events/echo") == 405
        assert client.status("POST", "/_fabric/events/none") == 404
        for body in (b"{", b"[1,NaN]", b"[" * 100_000 + b"]" * 100_000):
            assert client.ask("POST", "/_fabric/events/echo", body)[0] == 400
        assert client.ask("POST", "/_fabric/events/echo", b'"\\ud800"')[2] == b'"\\ud800"'


def test_version_mismatch_is_warned_once_and_memory_excess_every_time() -> None:
    with api() as client:
        for _ in range(3):
            client.ask("GET", "/open/7")
        until(lambda: len(client.calls) == 3)
        first, *others = [one.warning for one in client.calls]
        assert "python3.99" in first
        assert ["its `memory` is 1 MB" in one for one in others] == [True, True]


def test_template_fills_only_missing_event_fields() -> None:
    assert merge_event({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 9}}) == {
        "a": {"b": 9, "c": 2},
        "d": 3,
    }
    assert merge_event({"a": 1}, [1]) == [1]


def test_an_older_event_has_the_shape_of_version_1() -> None:
    with api() as client:
        _, _, body = client.ask("GET", "/older/7?a=1&a=2", headers={"Cookie": "c=1"})
    event = json.loads(body)
    assert (event["version"], event["resource"], event["path"]) == (
        "1.0",
        "/older/{id}",
        "/older/7",
    )
    assert event["queryStringParameters"] == {"a": "2"}
    assert event["multiValueQueryStringParameters"] == {"a": ["1", "2"]}
    assert (event["headers"]["cookie"], event["pathParameters"]) == ("c=1", {"id": "7"})
    assert event["requestContext"]["identity"]["sourceIp"] == "127.0.0.1"


def test_the_function_of_an_authorizer_decides_before_that_of_the_route() -> None:
    with api() as client:
        assert client.status("GET", "/checked") == 401
        assert client.status("GET", "/checked", {"X": "no"}) == 403
        status, _, body = client.ask("GET", "/checked", headers={"X": "yes"})
    context = json.loads(body)["requestContext"]
    assert (status, context["authorizer"]) == (200, {"lambda": {"who": "me"}})


def test_requests_above_the_limit_of_a_route_are_refused() -> None:
    with api() as client:
        assert [client.status("GET", "/limited") for _ in range(2)] == [200, 429]


def test_a_route_with_an_api_key_needs_its_name() -> None:
    with api() as client:
        keys = ("", "other", "mobile")
        found = [client.status("GET", "/keyed", {"x-api-key": one}) for one in keys]
    assert found == [403, 403, 200]


def test_a_token_authorizer_gets_the_token_and_returns_a_policy() -> None:
    with api() as client:
        tokens = ("", "UPPER", "no", "yes")
        answers = [client.ask("GET", "/policy", headers={"X": one}) for one in tokens]
    assert [status for status, _, _ in answers] == [401, 401, 403, 200]
    context = json.loads(answers[-1][2])["requestContext"]["authorizer"]
    assert context == {"lambda": {"who": "me", "principalId": "user"}}


def test_an_authorizer_without_keys_is_reported_once() -> None:
    with api() as client:
        assert [client.status("GET", "/token") for _ in range(2)] == [200, 200]
        until(lambda: len(client.calls) > 1)
        warnings = [one.warning for one in client.calls]
    assert "`users` is not applied: pass the keys" in warnings[0]
    assert "users" not in warnings[1]


def test_a_route_without_a_proxy_gets_the_parts_of_a_request() -> None:
    kinds = {"Content-Type": "application/x-www-form-urlencoded", "X-A": "b"}
    with api() as client:
        code, _, body = client.ask("POST", "/mapped/7?q=1", b"a=1&b=x+y&c", kinds)
        event = json.loads(body)
        assert code == 200
        assert event["body"] == {"a": "1", "b": "x y", "c": ""}
        assert (event["path"], event["query"]) == ({"id": "7"}, {"q": "1"})
        assert (event["method"], event["requestPath"]) == ("POST", "/mapped/{id}")
        assert event["headers"]["x-a"] == "b"
        plain = json.loads(client.ask("POST", "/mapped/7", b'{"n": 1}')[2])
        assert plain["body"] == {"n": 1}


def test_an_error_of_a_route_without_a_proxy_names_its_status() -> None:
    with api() as client:
        code, _, body = client.ask("GET", "/mapped/7?fail=%5B404%5D+none")
        assert (code, json.loads(body)["errorMessage"]) == (404, "[404] none")
        assert client.status("GET", "/mapped/7?fail=other") == 200


def test_a_route_without_a_proxy_refuses_other_bodies() -> None:
    with api() as client:
        text = {"Content-Type": "text/plain"}
        assert client.ask("POST", "/mapped/7", b"x", text)[0] == 415
        assert client.ask("POST", "/mapped/7", b"{")[0] == 400
