"""Conversion of return values to responses: a body, a pair with a status, or a response object."""

import base64
import json
from collections.abc import Iterable, Mapping

from fabric.runtimes.python.calling.http_events import answer_of
from fabric.runtimes.python.calling.json_values import Document, is_object

_TEXT = "text/html; charset=utf-8"
_JSON = "application/json"
_NO_CONTENT = 204


def answer_of_value(value: object) -> Document:
    """Convert a value like Flask: text, bytes, a dict or a list, optionally with status and
    headers."""
    status, headers = 200, dict[str, str]()
    if isinstance(value, tuple):
        value, status, headers = _split_tuple(value)
    if hasattr(value, "headers") and hasattr(value, "status_code"):
        own = list(_list_pairs(value.headers))
        code = int(value.status_code) if status == 200 else status  # noqa: PLR2004 - the default
        return answer_of(code, [*own, *headers.items()], _read_response_body(value))
    if not isinstance(value, str | bytes | bytearray | dict | list):
        raise TypeError(
            f"the return value is {_describe_type(value)}, which cannot be converted to a response"
        )
    is_json = isinstance(value, dict | list)
    headers.setdefault("content-type", _JSON if is_json else _TEXT)
    return answer_of(
        status, headers.items(), _encode_value(json.dumps(value) if is_json else value)
    )


def answer_of_document(value: object) -> Document:
    """Convert a value like hosts of plain functions: `{statusCode, headers, body}`, or only the
    body."""
    if value is None:
        return answer_of(_NO_CONTENT, (), b"")
    is_answer = is_object(value) and {"statusCode", "headers", "body"} & set(value)
    said = value if is_object(value) and is_answer else {"body": value}
    body, given = said.get("body"), said.get("headers")
    headers = {name.lower(): one for name, one in _list_pairs(given)}
    if isinstance(body, dict | list):
        headers.setdefault("content-type", _JSON)
        body = json.dumps(body)
    content = _encode_value("" if body is None else body)
    if said.get("isBase64Encoded"):
        content = base64.b64decode(content)
    return answer_of(int(str(said.get("statusCode") or 200)), headers.items(), content)


def _split_tuple(value: tuple[object, ...]) -> tuple[object, int, dict[str, str]]:
    body, *rest = value
    headers = {
        name.lower(): one
        for part in rest
        if not isinstance(part, int | str)
        for name, one in _list_pairs(part)
    }
    codes = (int(str(part).split()[0]) for part in rest if isinstance(part, int | str))
    return body, next(codes, 200), headers


def _list_pairs(headers: object) -> Iterable[tuple[str, str]]:
    items = getattr(headers, "items", None)
    found = items() if callable(items) else headers
    listed = found if isinstance(found, Iterable) else ()
    return [(str(name), str(value)) for name, value in listed]


def _read_response_body(response: object) -> bytes:
    """Read the body by the attribute names of frameworks, in this order."""
    for name in ("get_data", "get_body", "data", "content", "body"):
        found = getattr(response, name, None)
        if found is not None:
            return _encode_value(found() if callable(found) else found)
    return b""


def _encode_value(value: object) -> bytes:
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    return str(value).encode()


def _describe_type(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def as_mapping(value: object) -> Mapping[str, object]:
    """Convert the parameters for a function that takes an object."""
    if value is None:
        return {}
    if not is_object(value):
        raise TypeError("parameters must be an object: invalid payload")
    return value
