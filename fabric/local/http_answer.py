"""Convert a function result to an HTTP response, like the hosts of functions."""

import base64
import binascii
import json
import re

from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.system.http.answers import ServedAnswer, build_json_answer

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
# Those say how an answer is sent, and are ours to say.
_OURS = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive"})
_WITHOUT_BODY = (204, 304)
_LOWEST, _HIGHEST = 200, 599


class BadAnswerError(Exception):
    """A result that no host would accept."""


def convert_answer(response: Json) -> ServedAnswer:
    """Convert `{statusCode, headers, body, …}`, or any other value, which becomes the JSON of a 200
    response."""
    if not isinstance(response, dict):
        return build_json_answer(200, response)
    status = response.get("statusCode")
    if status is None and isinstance(response.get("status"), int):
        status = response["status"]
    if status is None:
        return build_json_answer(200, response)
    body = _decode_body(response)
    headers = (*_list_headers(response), *_list_cookies(response))
    number = _parse_status(status)
    has_type = any(name == "content-type" for name, _ in headers)
    if not has_type and number not in _WITHOUT_BODY:
        headers = (("content-type", "text/plain; charset=utf-8"), *headers)
    return ServedAnswer(number, headers, body)


def _parse_status(status: Json) -> int:
    number = int(status) if isinstance(status, str) and status.isdecimal() else status
    if isinstance(number, bool) or not isinstance(number, int | float) or number != int(number):
        raise BadAnswerError(f"its statusCode is {json.dumps(status):.80}, which is not a number")
    if not _LOWEST <= number <= _HIGHEST:
        raise BadAnswerError(f"its statusCode is {number}, which is not between 200 and 599")
    return int(number)


def _decode_body(response: JsonObject) -> bytes:
    body = response.get("body")
    if body is None:
        return b""
    if not isinstance(body, str):
        kind = (
            "an object"
            if isinstance(body, dict)
            else "a list"
            if isinstance(body, list)
            else "a value"
        )
        raise BadAnswerError(f"its body is {kind}: convert it to text, such as JSON")
    if not response.get("isBase64Encoded"):
        return body.encode(errors="surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadAnswerError("its body is not valid base64, but isBase64Encoded is true") from error


def _list_headers(response: JsonObject) -> tuple[tuple[str, str], ...]:
    found = [
        (name, one)
        for part in ("headers", "multiValueHeaders")
        for name, value in _read_members(response, part).items()
        for one in (value if isinstance(value, list) else [value])
        if one is not None
    ]
    return tuple(_format_header(name, one) for name, one in found if name.lower() not in _OURS)


def _read_members(response: JsonObject, part: str) -> JsonObject:
    value = response.get(part)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadAnswerError(f"its {part} is not an object")
    return value


def _format_header(name: str, value: Json) -> tuple[str, str]:
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str | int | float):
        text = str(value)
    else:
        raise BadAnswerError(f"its header `{name:.80}` is neither text nor a number")
    if not _NAME.fullmatch(name):
        raise BadAnswerError(f"{json.dumps(name):.80} is not a valid header name")
    if not _VALUE.fullmatch(text):
        raise BadAnswerError(
            f"its header `{name:.80}` contains a line break or another control character"
        )
    return name.lower(), text


def _list_cookies(response: JsonObject) -> tuple[tuple[str, str], ...]:
    cookies = response.get("cookies")
    if cookies is None:
        return ()
    if not isinstance(cookies, list):
        raise BadAnswerError("its cookies are not a list")
    return tuple(_format_header("set-cookie", one) for one in cookies)
