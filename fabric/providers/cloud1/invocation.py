"""Invoke the live version of a function and return the tail of its log."""

import base64
import json
import time

from fabric.providers.cloud1.clients import CALLING
from fabric.providers.cloud1.function_settings import ALIAS
from fabric.providers.cloud1.versions import Cloud1Work
from fabric.providers.contract import FunctionAnswer, LiveFunction

# So much of a log comes with an answer, at most.
_TAIL = 4096
# The platform's own limit is 6 MB, or 20 MB streamed.
_MOST_BYTES = 64 << 20


def invoke_function(work: Cloud1Work, function: LiveFunction, event: bytes) -> FunctionAnswer:
    began = time.perf_counter()
    answer = work.clients.of("lambda", CALLING).invoke(
        FunctionName=function.resource_name, Qualifier=ALIAS, LogType="Tail", Payload=event
    )
    response = answer["Payload"].read(_MOST_BYTES).decode(errors="replace")
    ms = round((time.perf_counter() - began) * 1000)
    logs = _decode_log_tail(base64.b64decode(answer.get("LogResult", "")))
    failure = _read_error(response) if answer.get("FunctionError") else ""
    return FunctionAnswer(response, logs, ms, failure)


def _decode_log_tail(tail: bytes) -> str:
    """Decode the log tail. The first line of a truncated tail is partial and is dropped."""
    _, _, rest = tail.partition(b"\n")
    return (rest if rest and len(tail) >= _TAIL else tail).decode(errors="replace")


def _read_error(response: str) -> str:
    """Return the message of the thrown error, if there is one."""
    try:
        said = json.loads(response)
    except ValueError:
        return response
    if not isinstance(said, dict):
        return response
    kind, message = said.get("errorType", ""), said.get("errorMessage", "")
    return ": ".join(str(one) for one in (kind, message) if one) or response
