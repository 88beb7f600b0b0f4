"""Responses that a custom runtime streams: a prelude with status and headers, then the body."""

import base64
import json
from collections.abc import Callable

_MODE = "lambda-runtime-function-response-mode"
_WITH_PRELUDE = "application/vnd.awslambda.http-integration-response"
_PRELUDE_END = b"\0" * 8


def convert_streamed(header: Callable[[str], str], body: bytes) -> bytes:
    """Convert a streamed response to the JSON of a whole one; any other one is unchanged."""
    if header(_MODE).lower() != "streaming":
        return body
    if header("content-type") != _WITH_PRELUDE:
        return body if is_json(body) else json.dumps(body.decode(errors="replace")).encode()
    head, separator, content = body.partition(_PRELUDE_END)
    prelude = _read_object(head)
    if not separator or prelude is None:
        return body
    text, is_encoded = _encode_content(content)
    return json.dumps(
        {"statusCode": 200, **prelude, "body": text, "isBase64Encoded": is_encoded}
    ).encode()


def _encode_content(content: bytes) -> tuple[str, bool]:
    try:
        return content.decode(), False
    except UnicodeDecodeError:
        return base64.b64encode(content).decode(), True


def _read_object(text: bytes) -> dict[str, object] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
