"""Applications of serverless-wsgi: the written handler calls them."""

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.support.imports import Conversion, from_serverless

Handler = Callable[[dict[str, Any], object], dict[str, Any]]
_APP = "shop_wsgi_app"


def convert(settings: str = f"{{app: {_APP}.app}}", handler: str = "wsgi_handler") -> Conversion:
    text = (
        "service: shop\nprovider: {name: aws, runtime: python3.12}\n"
        f"plugins: [serverless-wsgi]\ncustom: {{wsgi: {settings}}}\n"
        f"functions: {{api: {{handler: {handler}.handler, events: [{{httpApi: '*'}}]}}}}\n"
    )
    return from_serverless(text, {f"{_APP}.py": "", "api/app.py": ""})


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Respond with the request."""
    names = (
        "REQUEST_METHOD",
        "SCRIPT_NAME",
        "PATH_INFO",
        "QUERY_STRING",
        "HTTP_X_A",
        "REMOTE_ADDR",
    )
    line = "|".join(str(environ.get(name, "")) for name in (*names, "HTTP_COOKIE"))
    kind = environ.get("HTTP_ACCEPT", "text/html; charset=utf-8")
    rows = [("Content-Type", kind), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
    start_response("201 Created", rows)
    return [line.encode(), b"|", environ["wsgi.input"].read()]


@pytest.fixture
def handler() -> Iterator[Handler]:
    module = ModuleType(_APP)
    vars(module)["app"] = application
    sys.modules[_APP] = module
    found: dict[str, Any] = {}
    exec(convert().files["wsgi_handler.py"], found)  # noqa: S102 - the written file
    yield found["handler"]
    del sys.modules[_APP]


def test_the_handler_of_the_plugin_becomes_a_file() -> None:
    done = convert()
    assert done.function["entry"] == "wsgi_handler.handler"
    assert f"from {_APP} import app as application" in done.files["wsgi_handler.py"]
    assert done.reasons() == []


def test_events_of_http_apis_call_the_application(handler: Handler) -> None:
    event = {
        "version": "2.0",
        "rawPath": "/a%20b",
        "rawQueryString": "x=1&x=2",
        "headers": {"x-a": "1", "host": "abc.execute-api.eu-west-1.amazonaws.com"},
        "cookies": ["c=3", "d=4"],
        "requestContext": {"stage": "$default", "http": {"method": "PUT", "sourceIp": "192.0.2.1"}},
        "body": "aGk=",
        "isBase64Encoded": True,
    }
    found = handler(event, None)
    assert found["body"] == "PUT||/a b|x=1&x=2|1|192.0.2.1|c=3; d=4|hi"
    assert (found["statusCode"], found["cookies"]) == (201, ["a=1", "b=2"])
    assert found["headers"] == {"content-type": "text/html; charset=utf-8"}


def test_events_of_rest_apis_call_the_application(handler: Handler) -> None:
    event = {
        "path": "/a",
        "httpMethod": "GET",
        "headers": {"X-A": "1"},
        "multiValueHeaders": {
            "X-A": ["1", "2"],
            "Host": ["abc.execute-api.eu-west-1.amazonaws.com"],
            "Accept": ["image/png"],
        },
        "multiValueQueryStringParameters": {"x": ["1", "2"]},
        "requestContext": {"stage": "dev", "identity": {"sourceIp": "192.0.2.1"}},
        "body": None,
    }
    found = handler(event, None)
    assert found["isBase64Encoded"] is True
    assert found["multiValueHeaders"]["set-cookie"] == ["a=1", "b=2"]
    text = handler({**event, "multiValueHeaders": None}, None)["body"]
    assert text == "GET||/a|x=1&x=2|1|192.0.2.1||"


def test_a_warm_up_calls_no_application(handler: Handler) -> None:
    assert handler({"source": "serverless-plugin-warmup"}, None) == {}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("{}", "no file found for the application"),
        ("{app: gone.app}", "no file found for the application `gone.app`"),
        ("{app: api/app.app}", "is in another directory"),
        (f"{{app: {_APP}.app, pipArgs: -x}}", "without options of pip"),
    ],
)
def test_other_applications_are_reported(settings: str, reason: str) -> None:
    assert any(reason in one for one in convert(settings).reasons())


def test_more_media_types_can_be_text() -> None:
    text = convert(f"{{app: {_APP}.app, textMimeTypes: [text/x, application/x]}}").files
    assert '"application/x")' in text["wsgi_handler.py"]
