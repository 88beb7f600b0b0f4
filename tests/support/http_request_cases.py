"""Requests, and the events that handlers get of them."""

from typing import Any

from tests.support.http_handlers import Asked, HandlerCase, Host

# The functions framework of Node reads a body of JSON itself, and answers for one that is none.
# A controller of OpenWhisk says what is no letter by itself.
_NO_LETTERS: dict[str, Any] = {"said": {"body": "\ufffd\ufffd", "isBase64Encoded": False}}
_TOLD_AS_TEXT: dict[Host, dict[str, Any]] = {
    Host.ACTION_NODE: _NO_LETTERS,
    Host.ACTION_PYTHON: _NO_LETTERS,
}
_READ_BEFORE: dict[Host, dict[str, Any]] = {Host.FRAMEWORK_NODE: {"status": 400, "said": None}}
_JSON = {"Content-Type": "application/json"}
# Function Compute tells names and values of a query, and joins those that come twice.
_EVENT_HOSTS = (Host.EVENT_NODE, Host.EVENT_PYTHON)
# The event of the first case.
_GET: dict[str, Any] = {
    "version": "2.0",
    "routeKey": "ANY /items/{id}",
    "rawPath": "/items/7",
    "rawQueryString": "a=1&b=x%20y&b=z&c=",
    "queryStringParameters": {"a": "1", "b": "x y,z", "c": ""},
    "pathParameters": {"id": "7"},
    "cookies": ["s=1", "t=2"],
    "headers.accept": "text/plain",
    "headers.cookie": None,
    "requestContext.http.method": "GET",
    "requestContext.http.path": "/items/7",
    "isBase64Encoded": False,
    "body": None,
    "httpMethod": "GET",
    "path": "/items/7",
}
_JOINED: dict[Host, dict[str, Any]] = {
    host: {"said": {**_GET, "rawQueryString": "a=1&b=x%20y%2Cz&c="}} for host in _EVENT_HOSTS
}
_ROUTES = (("GET", "/users/{id}"), ("GET", "/files/{name+}"), ("ANY", "/users/{any}"))


def _taken(case_id: str, path: str, key: str, parameters: object) -> HandlerCase:
    """Which of several routes of one function a request takes."""
    return HandlerCase(
        f"a-route-{case_id}",
        Asked(path=path),
        route="/users/me",
        method="GET",
        more=_ROUTES,
        said={"routeKey": key, "pathParameters": parameters},
    )


def _events() -> tuple[HandlerCase, ...]:
    return (
        HandlerCase(
            "the-event-of-a-get",
            Asked(
                path="/items/7?a=1&b=x%20y&b=z&c=",
                headers={"Accept": "text/plain", "Cookie": "s=1; t=2"},
            ),
            route="/items/{id}",
            unlike=_JOINED,
            said=_GET,
        ),
        HandlerCase(
            "what-is-not-there-is-not-said",
            Asked(),
            said=dict.fromkeys(("body", "cookies", "queryStringParameters", "pathParameters")),
        ),
        HandlerCase(
            "a-body-of-json",
            Asked("POST", body='{"name": "ä"}'.encode(), headers=_JSON),
            said={"body": '{"name": "ä"}', "isBase64Encoded": False},
        ),
        HandlerCase(
            "a-body-in-chunks",
            Asked("POST", chunks=(b"one", b"two"), headers={"Content-Type": "text/plain"}),
            said={"body": "onetwo", "isBase64Encoded": False},
        ),
        HandlerCase(
            "a-body-that-is-no-text",
            Asked("POST", body=b"\xff\x00\x01", headers={"Content-Type": "image/png"}),
            said={"body": "/wAB", "isBase64Encoded": True},
        ),
        HandlerCase(
            "text-that-is-none",
            Asked("POST", body=b"\xff\xfe", headers={"Content-Type": "text/plain"}),
            said={"body": "//4=", "isBase64Encoded": True},
            unlike=_TOLD_AS_TEXT,
        ),
        HandlerCase(
            "json-that-is-no-text",
            Asked("POST", body=b"\x00\xff", headers=_JSON),
            said={"body": "AP8=", "isBase64Encoded": True},
            unlike=_READ_BEFORE,
        ),
    )


def _routes() -> tuple[HandlerCase, ...]:
    return (
        HandlerCase(
            "a-path-of-many-segments",
            Asked(path="/files/a/b%20c/d.txt"),
            route="/files/{rest+}",
            said={"pathParameters": {"rest": "a/b c/d.txt"}},
        ),
        HandlerCase(
            "an-encoded-parameter",
            Asked(path="/u/%C3%A4%2Fb"),
            route="/u/{id}",
            said={"pathParameters": {"id": "ä/b"}},
        ),
        HandlerCase(
            "a-parameter-is-decoded-once",
            Asked(path="/u/a%2520b"),
            route="/u/{id}",
            said={"pathParameters": {"id": "a%20b"}},
        ),
        _taken("with-a-parameter", "/users/7", "GET /users/{id}", {"id": "7"}),
        _taken("that-is-literal", "/users/me", "GET /users/me", None),
        _taken("with-a-slash-at-its-end", "/users/me/", "GET /users/me", None),
        _taken("with-an-encoded-letter", "/users/m%65", "GET /users/me", None),
        _taken("of-many-segments", "/files/a/b", "GET /files/{name+}", {"name": "a/b"}),
        HandlerCase(
            "a-route-of-the-closest-path-that-has-the-method",
            Asked("POST", path="/users/me"),
            route="/users/me",
            method="GET",
            more=(("GET", "/users/{id}"), ("ANY", "/users/{any}")),
            said={"routeKey": "ANY /users/{any}", "pathParameters": {"any": "me"}},
        ),
        HandlerCase(
            "any-method-of-a-closer-path",
            Asked(path="/users/me"),
            route="/users/me",
            more=(("GET", "/users/{id}"),),
            said={"routeKey": "ANY /users/me"},
        ),
        HandlerCase("a-route-that-is-none", Asked(path="/elsewhere"), route="/here", status=404),
        HandlerCase(
            "a-route-that-lacks-its-parameter", Asked(path="/u/"), route="/u/{id}", status=404
        ),
        HandlerCase(
            "a-method-that-is-none",
            Asked("POST", path="/here", body=b"x"),
            route="/here",
            method="GET",
            status=405,
            said={"message": "Method Not Allowed"},
            headers={"allow": "GET"},
        ),
        HandlerCase(
            "a-head-is-a-get", Asked("HEAD", path="/here"), route="/here", method="GET", said=b""
        ),
    )


REQUEST_CASES = (*_events(), *_routes())
