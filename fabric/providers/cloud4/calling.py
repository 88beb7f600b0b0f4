"""Invoke the active version of a function and return its logs."""

import base64
import binascii
import time

import msgspec
from msgspec import Struct

from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.providers.cloud4.api import Cloud4Call
from fabric.providers.cloud4.settings import LIVE
from fabric.providers.cloud4.work import Cloud4Work
from fabric.providers.core.contract import FunctionAnswer, LiveFunction
from fabric.providers.core.payloads import format_json

_BYTES = "application/octet-stream"
# A function may take so long; whoever waits can leave at any time.
_LONGEST = 900.0
_LOG, _FAULT = "x-fc-log-result", "x-fc-error-type"
_ASKED = (("x-fc-invocation-type", "Sync"), ("x-fc-log-type", "Tail"))


class _ThrownError(Struct, frozen=True, rename="camel"):
    error_message: str = ""
    error_type: str = ""


def invoke_function(work: Cloud4Work, function: LiveFunction, event: bytes) -> FunctionAnswer:
    """Invoke once, without retries: a call with an unknown outcome possibly ran."""
    given: JsonObject = {"__fabric_event": msgspec.json.decode(event or b"null", type=Json)}
    call = Cloud4Call(
        action="InvokeFunction",
        method="POST",
        parts=(function.resource_name, "invocations"),
        query=(("qualifier", LIVE),),
        content=format_json(given).encode(),
        content_type=_BYTES,
        headers=_ASKED,
        seconds=_LONGEST,
    )
    began = time.perf_counter()
    reply = work.api.reply(call)
    ms = round((time.perf_counter() - began) * 1000)
    logs = _decode_lines(reply.headers.get(_LOG, ""))
    if reply.headers.get(_FAULT):
        return FunctionAnswer("", logs, ms, _read_failure(reply.content) or reply.headers[_FAULT])
    return FunctionAnswer(_read_response(reply.content), logs, ms)


def _read_response(content: bytes) -> str:
    said = _read(content)
    if isinstance(said, dict) and said.keys() == {"response"}:
        return format_json(said["response"])
    return content.decode(errors="replace")


def _read(content: bytes) -> Json:
    try:
        said: Json = msgspec.json.decode(content or b"null", type=Json)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return said


def _read_failure(content: bytes) -> str:
    try:
        said = msgspec.json.decode(content, type=_ThrownError)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return content.decode(errors="replace")
    return said.error_message or said.error_type


def _decode_lines(text: str) -> str:
    try:
        return base64.b64decode(text).decode(errors="replace")
    except binascii.Error:
        return ""
