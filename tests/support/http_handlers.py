"""Handlers beside requests and what users are answered: whoever runs handlers passes all."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PNG = bytes(range(256))
_ECHO = """exports.handler = async (event) => ({
    statusCode: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(event),
});"""


@dataclass(frozen=True)
class Asked:
    method: str = "GET"
    path: str = "/"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True)
class HandlerCase:
    """`route` is the path of the trigger, `said` what the answer has at least: its members of JSON
    (dots lead inside), or its bytes."""

    id: str
    asked: Asked
    source: str = _ECHO
    route: str = "/"
    method: str = "ANY"
    status: int = 200
    said: Mapping[str, Any] | bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: tuple[str, ...] = ()
    file: str = "index.js"
    timeout: int = 0
    logged: str = ""


def _answers(text: str, parameters: str = "event") -> str:
    return f"exports.handler = async ({parameters}) => ({text});"


_TEXT = {"content-type": "text/plain; charset=utf-8"}
CASES = (
    HandlerCase(
        "the-event-of-a-get",
        Asked(
            path="/items/7?a=1&b=x%20y&b=z", headers={"Accept": "text/plain", "Cookie": "s=1; t=2"}
        ),
        route="/items/{id}",
        said={
            "version": "2.0",
            "routeKey": "ANY /items/{id}",
            "rawPath": "/items/7",
            "rawQueryString": "a=1&b=x%20y&b=z",
            "queryStringParameters": {"a": "1", "b": "x y,z"},
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
        },
    ),
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
        "a-body-of-json",
        Asked("POST", body='{"name": "ä"}'.encode(), headers={"Content-Type": "application/json"}),
        said={"body": '{"name": "ä"}', "isBase64Encoded": False},
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
    ),
    HandlerCase(
        "bytes",
        Asked(),
        _answers(
            '{ statusCode: 200, headers: { "Content-Type": "image/png" }, isBase64Encoded: true, '
            'body: Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString("base64") }'
        ),
        said=PNG,
        headers={"content-type": "image/png"},
    ),
    HandlerCase(
        "bytes-go-there-and-back",
        Asked("POST", body=PNG, headers={"Content-Type": "application/octet-stream"}),
        _answers("{ statusCode: 200, body: event.body, isBase64Encoded: event.isBase64Encoded }"),
        said=PNG,
    ),
    HandlerCase(
        "cookies",
        Asked(),
        _answers('{ statusCode: 200, cookies: ["a=1; Path=/", "b=2; HttpOnly"], body: "" }'),
        cookies=("a=1; Path=/", "b=2; HttpOnly"),
    ),
    HandlerCase(
        "headers-with-many-values",
        Asked(),
        _answers('{ statusCode: 200, multiValueHeaders: { "x-one": ["a", "b"] }, body: "" }'),
        headers={"x-one": "a, b"},
    ),
    HandlerCase("no-content", Asked(), _answers("{ statusCode: 204 }"), status=204, said=b""),
    HandlerCase(
        "not-modified",
        Asked(),
        _answers('{ statusCode: 304, headers: { etag: "x" } }'),
        status=304,
        said=b"",
    ),
    HandlerCase(
        "a-redirect",
        Asked(),
        _answers('{ statusCode: 302, headers: { Location: "/other" }, body: "" }'),
        status=302,
        headers={"location": "/other"},
    ),
    HandlerCase(
        "text-without-a-type",
        Asked(),
        _answers('{ statusCode: 200, body: "plain" }'),
        said=b"plain",
        headers=_TEXT,
    ),
    HandlerCase(
        "any-value-is-json",
        Asked(),
        _answers("[1, { two: 2 }]"),
        said=b'[1,{"two":2}]',
        headers={"content-type": "application/json"},
    ),
    HandlerCase(
        "an-object-without-a-status-is-json", Asked(), _answers('{ body: "x" }'), said={"body": "x"}
    ),
    HandlerCase("nothing-is-null", Asked(), "exports.handler = async () => {};", said=b"null"),
    HandlerCase(
        "text-as-a-status",
        Asked(),
        _answers('{ statusCode: "201", body: "made" }'),
        status=201,
        said=b"made",
    ),
    HandlerCase(
        "an-error-that-is-thrown",
        Asked(),
        'exports.handler = async () => { throw new Error("the word is hidden"); };',
        status=500,
        said=b'{"error":"Internal Server Error"}',
        logged="the word is hidden",
    ),
    HandlerCase(
        "an-error-that-is-thrown-at-once",
        Asked(),
        'exports.handler = () => { throw new TypeError("at once"); };',
        status=500,
        said=b'{"error":"Internal Server Error"}',
        logged="at once",
    ),
    HandlerCase(
        "an-answer-that-is-none",
        Asked(),
        _answers('{ statusCode: 700, body: "" }'),
        status=500,
        logged="700",
    ),
    HandlerCase(
        "a-body-that-is-an-object",
        Asked(),
        _answers("{ statusCode: 200, body: {} }"),
        status=500,
        logged="make JSON of it",
    ),
    HandlerCase(
        "a-callback",
        Asked(),
        'const answer = { statusCode: 200, body: "called" };\n'
        "exports.handler = (event, context, callback) => {\n"
        "    setTimeout(() => callback(null, answer), 1);\n"
        "};",
        said=b"called",
    ),
    HandlerCase(
        "a-callback-with-an-error",
        Asked(),
        'exports.handler = (event, context, callback) => { callback(new Error("not today")); };',
        status=500,
        logged="not today",
    ),
    HandlerCase(
        "a-promise",
        Asked(),
        'exports.handler = () => Promise.resolve({ statusCode: 200, body: "later" });',
        said=b"later",
    ),
    HandlerCase(
        "a-value-at-once",
        Asked(),
        'exports.handler = () => ({ statusCode: 200, body: "now" });',
        said=b"now",
    ),
    HandlerCase(
        "a-module",
        Asked(),
        "export const handler = async () => ({ statusCode: 200, body: typeof import.meta.url });",
        said=b"string",
        file="index.mjs",
    ),
    HandlerCase(
        "a-default-export",
        Asked(),
        'export default async function run(event) { return { statusCode: 200, body: "default" }; }',
        said=b"default",
        file="index.mjs",
    ),
    HandlerCase(
        "a-default-export-of-a-bundle",
        Asked(),
        "exports.__esModule = true;\n"
        'exports.default = async () => ({ statusCode: 200, body: "bundled" });',
        said=b"bundled",
    ),
    HandlerCase(
        "the-context",
        Asked(),
        _answers(
            "{ statusCode: 200, body: JSON.stringify([context.functionName, "
            "context.awsRequestId.length, context.getRemainingTimeInMillis() > 0]) }",
            "event, context",
        ),
        said=b'["hello",36,true]',
    ),
    HandlerCase(
        "an-answer-that-is-late",
        Asked(),
        "exports.handler = () => new Promise(() => setInterval(() => {}, 1000));",
        status=504,
        said=b'{"error":"no answer within 1 s"}',
        timeout=1,
    ),
    HandlerCase("a-route-that-is-none", Asked(path="/elsewhere"), route="/here", status=404),
    HandlerCase(
        "a-method-that-is-none",
        Asked("POST", path="/here", body=b"x"),
        route="/here",
        method="GET",
        status=404,
    ),
    HandlerCase(
        "a-head-is-a-get", Asked("HEAD", path="/here"), route="/here", method="GET", said=b""
    ),
)


def inside(document: Any, path: str) -> Any:
    """What is at a path of names; None where nothing is."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, dict) else None
    return document


def as_json(content: bytes) -> Any:
    return json.loads(content)
