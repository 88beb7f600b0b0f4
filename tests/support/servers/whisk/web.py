"""Web addresses of actions: a request as its arguments, and an answer as what it gives back."""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

from tests.support.servers.whisk.invoking import activated
from tests.support.servers.whisk.namespaces import Namespace, Row, pairs_of
from tests.support.servers.whisk.running import Children

_METHODS = frozenset(("GET", "DELETE", "POST", "PUT", "HEAD", "OPTIONS", "PATCH"))
_TEXTS = frozenset(
    (
        *("application/json", "application/xml", "application/javascript", "text/css"),
        *("application/x-www-form-urlencoded", "text/plain", "text/html", "text/csv"),
        *("text/xml", "text/markdown", "image/svg+xml", "text/event-stream"),
    )
)
_LONGEST = 1 << 20
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_BY_ITSELF = [
    ("access-control-allow-origin", "*"),
    ("access-control-allow-methods", "OPTIONS, GET, DELETE, POST, PUT, HEAD, PATCH"),
]


@dataclass(frozen=True)
class UserRequest:
    """`path` is that behind the name of the action."""

    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def kind(self) -> str:
        return next((value for name, value in self.headers if name == "content-type"), "")


@dataclass(frozen=True)
class UserAnswer:
    status: int
    headers: list[tuple[str, str]]
    content: bytes


def _refused(status: int, words: str) -> UserAnswer:
    said = json.dumps({"error": words, "code": "x"}).encode()
    return UserAnswer(status, [("content-type", "application/json")], said)


def answered(children: Children, space: Namespace, name: str, asked: UserRequest) -> UserAnswer:
    row = space.actions.get(name)
    said = pairs_of(row["annotations"]) if row else {}
    if row is None or said.get("web-export") is not True or asked.method not in _METHODS:
        return _refused(404, "The requested resource does not exist.")
    own_options = said.get("web-custom-options") is True
    more = [] if own_options else _BY_ITSELF
    if asked.method == "OPTIONS" and not own_options:
        return UserAnswer(200, _BY_ITSELF, b"")
    if len(asked.body) > _LONGEST:
        return _refused(413, "Request larger than allowed")
    assert said.get("raw-http") is True, "this server has no other web actions"
    ended = activated(children, space, name, _arguments(asked))
    response = ended["response"]
    if response["status"] == "action developer error":
        return _refused(400, "There was an error processing your request.")
    result = response["result"] if response["success"] else response["result"]["error"]
    answer = _as_http(result)
    return UserAnswer(answer.status, [*answer.headers, *more], answer.content)


def _arguments(asked: UserRequest) -> Row:
    """Of a name that comes twice the last one counts."""
    return {
        "__ow_method": asked.method.lower(),
        "__ow_headers": dict(asked.headers),
        "__ow_path": asked.path,
        "__ow_query": asked.query,
        "__ow_body": _body(asked),
    }


def _body(asked: UserRequest) -> str:
    """JSON is told as base64, as it always was."""
    if not asked.body:
        return ""
    if _plain(asked.kind) == "application/json" or is_binary(asked.kind):
        return base64.b64encode(asked.body).decode()
    return asked.body.decode(errors="replace")


def _plain(kind: str) -> str:
    return kind.partition(";")[0].strip().lower()


def is_binary(kind: str) -> bool:
    """What is not known as text is none, unless it names its letters."""
    return _plain(kind) not in _TEXTS and "charset=" not in kind.lower()


def _as_http(result: Any) -> UserAnswer:
    if not isinstance(result, dict):
        return _refused(400, "Response is not valid 'message/http'.")
    headers = [
        pair for name, value in result.get("headers", {}).items() for pair in _rows(name, value)
    ]
    kind = next((value for name, value in headers if name == "content-type"), "text/html")
    rest = [pair for pair in headers if pair[0] != "content-type"]
    body, status = result.get("body"), int(result.get("statusCode", 0))
    if body is None or body == "":
        return UserAnswer(status or 204, rest, b"")
    content = _content(kind, body)
    if content is None:
        return _refused(400, "Response Content-Type and body do not agree")
    return UserAnswer(status or 200, [("content-type", kind), *rest], content)


def _rows(name: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, list):
        return [(name.lower(), str(one)) for one in value]
    assert isinstance(value, str | int | bool), value
    return [(name.lower(), str(value))]


def _content(kind: str, body: Any) -> bytes | None:
    is_json = _plain(kind) == "application/json" or _plain(kind).endswith("+json")
    if not isinstance(body, str):
        return json.dumps(body).encode() if is_json else None
    try:
        if is_binary(kind) and not is_json:
            return base64.b64decode(body, validate=True)
        if is_json and _BASE64.fullmatch(body.strip()):
            return base64.b64decode(body, validate=True)
    except binascii.Error:
        return None
    return body.encode()
