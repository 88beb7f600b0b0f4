"""What handlers answer, and what users get of it."""

from typing import Any

from tests.support.http_handlers import Asked, HandlerCase, Host

PNG = bytes(range(256))
_TEXT = {"content-type": "text/plain; charset=utf-8"}
_FAILED = {"message": "Internal Server Error"}
# The developer is told what went wrong, users are not.
_TOLD: dict[Host, dict[str, Any]] = {Host.LOCAL: {"said": None}}
# There a default export takes requests, and answers with a Response.
_REQUESTS: dict[Host, dict[str, Any]] = {
    Host.SITES: {"status": 500, "said": _FAILED, "logged": "instead of a Response"}
}
_UNFIT = {"message": "Bad Gateway"}

# There a header comes once.
_ONE_COOKIE: dict[Host, dict[str, Any]] = {
    host: {"status": 502, "said": _UNFIT, "cookies": (), "logged": "only one cookie"}
    for host in (Host.EVENT_NODE, Host.EVENT_PYTHON)
}


def _answers(text: str) -> str:
    return f"exports.handler = async (event, context) => ({text});"


def _python(text: str) -> str:
    return f"import base64, json\n\n\ndef handler(event, context):\n    return {text}\n"


def _given(case_id: str, javascript: str, python: str, **more: Any) -> HandlerCase:
    """What a handler answers with, in both languages."""
    return HandlerCase(case_id, Asked(), _answers(javascript), _python(python), **more)


def _of_node(case_id: str, source: str, **more: Any) -> HandlerCase:
    """What only JavaScript has."""
    return HandlerCase(case_id, Asked(), source, python="", **more)


_FIT = (
    _given(
        "bytes",
        '{ statusCode: 200, headers: { "Content-Type": "image/png" }, isBase64Encoded: true, '
        'body: Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString("base64") }',
        '{"statusCode": 200, "headers": {"Content-Type": "image/png"}, "isBase64Encoded": True, '
        '"body": base64.b64encode(bytes(range(256))).decode()}',
        said=PNG,
        headers={"content-type": "image/png"},
    ),
    HandlerCase(
        "bytes-go-there-and-back",
        Asked("POST", body=PNG, headers={"Content-Type": "application/octet-stream"}),
        _answers("{ statusCode: 200, body: event.body, isBase64Encoded: event.isBase64Encoded }"),
        _python(
            '{"statusCode": 200, "body": event["body"], '
            '"isBase64Encoded": event["isBase64Encoded"]}'
        ),
        said=PNG,
    ),
    _given(
        "cookies",
        '{ statusCode: 200, cookies: ["a=1; Path=/", "b=2; HttpOnly"], body: "" }',
        '{"statusCode": 200, "cookies": ["a=1; Path=/", "b=2; HttpOnly"], "body": ""}',
        cookies=("a=1; Path=/", "b=2; HttpOnly"),
        unlike=_ONE_COOKIE,
    ),
    _given(
        "a-cookie",
        '{ statusCode: 200, cookies: ["a=1; Path=/"], body: "" }',
        '{"statusCode": 200, "cookies": ["a=1; Path=/"], "body": ""}',
        cookies=("a=1; Path=/",),
    ),
    _given(
        "headers-with-many-values",
        '{ statusCode: 200, multiValueHeaders: { "x-one": ["a", "b"] }, body: "" }',
        '{"statusCode": 200, "multiValueHeaders": {"x-one": ["a", "b"]}, "body": ""}',
        headers={"x-one": "a, b"},
    ),
    _given("no-content", "{ statusCode: 204 }", '{"statusCode": 204}', status=204, said=b""),
    _given(
        "not-modified",
        '{ statusCode: 304, headers: { etag: "x" } }',
        '{"statusCode": 304, "headers": {"etag": "x"}}',
        status=304,
        said=b"",
        headers={"etag": "x"},
    ),
    _given(
        "a-redirect",
        '{ statusCode: 302, headers: { Location: "/other" }, body: "" }',
        '{"statusCode": 302, "headers": {"Location": "/other"}, "body": ""}',
        status=302,
        headers={"location": "/other"},
    ),
    _given(
        "text-without-a-type",
        '{ statusCode: 200, body: "plain" }',
        '{"statusCode": 200, "body": "plain"}',
        said=b"plain",
        headers=_TEXT,
    ),
    _given(
        "any-value-is-json",
        '[1, { two: "zw\\u00f6lf" }]',
        '[1, {"two": "zw\\u00f6lf"}]',
        said=[1, {"two": "zwölf"}],
        headers={"content-type": "application/json"},
    ),
    _given(
        "an-object-without-a-status-is-json", '{ body: "x" }', '{"body": "x"}', said={"body": "x"}
    ),
    _given("nothing-is-null", "undefined", "None", said=b"null"),
    _given(
        "text-as-a-status",
        '{ statusCode: "201", body: "made" }',
        '{"statusCode": "201", "body": "made"}',
        status=201,
        said=b"made",
    ),
)
_FAILING = (
    HandlerCase(
        "an-error-that-is-thrown",
        Asked(),
        'exports.handler = async () => { throw new Error("the word is hidden"); };',
        "async def handler(event, context):\n    raise ValueError('the word is hidden')\n",
        status=500,
        said=_FAILED,
        logged="the word is hidden",
        unlike=_TOLD,
    ),
    HandlerCase(
        "an-error-that-is-thrown-at-once",
        Asked(),
        'exports.handler = () => { throw new TypeError("at once"); };',
        "def handler(event, context):\n    raise TypeError('at once')\n",
        status=500,
        said=_FAILED,
        logged="at once",
        unlike=_TOLD,
    ),
    _given(
        "an-answer-that-is-none",
        '{ statusCode: 700, body: "" }',
        '{"statusCode": 700, "body": ""}',
        status=502,
        said=_UNFIT,
        logged="700",
        unlike=_TOLD,
    ),
    _given(
        "a-body-that-is-an-object",
        "{ statusCode: 200, body: {} }",
        '{"statusCode": 200, "body": {}}',
        status=502,
        said=_UNFIT,
        logged="convert it to",
        unlike=_TOLD,
    ),
    HandlerCase(
        "an-answer-that-is-late",
        Asked(),
        "exports.handler = () => new Promise(() => setInterval(() => {}, 1000));",
        "import time\n\n\ndef handler(event, context):\n    time.sleep(60)\n",
        status=504,
        said={"message": "Gateway Timeout"},
        timeout=1,
        unlike=_TOLD,
    ),
)
_FORMS = (
    _of_node(
        "a-callback",
        'const answer = { statusCode: 200, body: "called" };\n'
        "exports.handler = (event, context, callback) => {\n"
        "    setTimeout(() => callback(null, answer), 1);\n"
        "};",
        said=b"called",
    ),
    _of_node(
        "a-callback-with-an-error",
        'exports.handler = (event, context, callback) => { callback(new Error("not today")); };',
        status=500,
        logged="not today",
    ),
    _of_node(
        "a-promise",
        'exports.handler = () => Promise.resolve({ statusCode: 200, body: "later" });',
        said=b"later",
    ),
    HandlerCase(
        "a-value-at-once",
        Asked(),
        'exports.handler = () => ({ statusCode: 200, body: "now" });',
        _python('{"statusCode": 200, "body": "now"}'),
        said=b"now",
    ),
    HandlerCase(
        "a-coroutine",
        Asked(),
        'exports.handler = async () => ({ statusCode: 200, body: "then" });',
        'async def handler(event, context):\n    return {"statusCode": 200, "body": "then"}\n',
        said=b"then",
    ),
    _of_node(
        "a-module",
        "export const handler = async () => ({ statusCode: 200, body: typeof import.meta.url });",
        said=b"string",
        file="index.mjs",
    ),
    _of_node(
        "a-default-export",
        'export default async function run(event) { return { statusCode: 200, body: "default" }; }',
        said=b"default",
        file="index.mjs",
    ),
    _of_node(
        "a-default-export-of-a-bundle",
        "exports.__esModule = true;\n"
        'exports.default = async () => ({ statusCode: 200, body: "bundled" });',
        said=b"bundled",
        unlike=_REQUESTS,
    ),
    _given(
        "the-context",
        "{ statusCode: 200, body: JSON.stringify([context.functionName, "
        "context.awsRequestId.length, context.getRemainingTimeInMillis() > 0]) }",
        '{"statusCode": 200, "body": json.dumps([context.function_name, '
        "len(context.aws_request_id), context.get_remaining_time_in_millis() > 0])}",
        said=["hello", 36, True],
    ),
)


ANSWER_CASES = (*_FIT, *_FAILING, *_FORMS)
