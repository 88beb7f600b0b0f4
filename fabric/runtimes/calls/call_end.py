"""The result of a function call: the response, or the reason why there is none."""

import json
import re
import shlex
from collections.abc import Callable
from enum import StrEnum

import msgspec
from msgspec import Struct

from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import Problem

# What hosts of functions let pass, in the answer's own bytes.
LARGEST_ANSWER = 6 * 1024 * 1024
_QUOTED_LINES = 20
_MEGABYTE = 1024 * 1024
_MISSING = re.compile(
    r"Cannot find (?:module|package) '(?P<node>[^']+)'"
    r"|Received protocol '(?P<scheme>cloudflare):'"
    r"|No module named '(?P<python>[\w.]+)'"
)


class Failing(StrEnum):
    """The kind of a call failure."""

    THREW = "threw"
    NO_ANSWER = "no answer"
    TIMED_OUT = "timed out"
    TOO_LARGE = "too large"
    TOO_MUCH_OUTPUT = "too much output"
    OUT_OF_MEMORY = "out of memory"
    CANNOT_START = "cannot start"


class CallFailure(Struct, frozen=True):
    """A failed call. `message` continues a sentence that begins with the function's name; `type` is
    the thrown type."""

    why: Failing
    message: str
    type: str = ""
    # Set if the failure was a problem already.
    problem: Problem | None = None


class CallEnd(Struct, frozen=True):
    """The result of a call. `response` is JSON text, `logs` all output of the handler, `memory` the
    used bytes."""

    response: bytes = b"null"
    logs: bytes = b""
    ms: int = 0
    memory: int = 0
    # Set if there is no response.
    failure: CallFailure | None = None
    # The language version on this machine.
    version: str = ""
    # The handler returned a value that the provider does not read.
    is_ignored: bool = False
    # Differences between this call and the provider. Messages begin with the function's name.
    warnings: tuple[Problem, ...] = ()

    @property
    def said(self) -> str:
        return self.logs.decode(errors="replace")


# What is told of a call that no child had.
NO_CALL = CallEnd()


class Thrown(Struct, frozen=True):
    type: str
    message: str


class AnswerLine(Struct, frozen=True, rename="camel"):
    """One message of the harness: about loading the module (number 0), or about one call."""

    id: int
    ready: bool = False
    response: msgspec.Raw = msgspec.Raw(b"")
    error: Thrown | None = None
    unanswered: str = ""
    too_large: int = 0
    ends: bool = False
    ms: int = 0
    rss: int = 0
    version: str = ""
    ignored: bool = False

    def failure(self) -> CallFailure | None:
        if self.error is not None:
            message = f"failed: {self.error.type}: {self.error.message}"
            return CallFailure(Failing.THREW, message, self.error.type)
        if self.too_large:
            return build_size_failure(self.too_large)
        if not self.ready and not bytes(self.response):
            why = self.unanswered or "its process returned no error"
            return CallFailure(Failing.NO_ANSWER, f"returned no response ({why})")
        return None

    def end(self, logs: bytes) -> CallEnd:
        response = bytes(self.response) or b"null"
        return CallEnd(response, logs, self.ms, self.rss, self.failure(), is_ignored=self.ignored)


def parse_answer_line(line: bytes) -> AnswerLine | None:
    """Parse a message of the harness. None for any other line, which a handler wrote itself."""
    try:
        return msgspec.json.decode(line, type=AnswerLine)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _parse_leniently(line)


def _parse_leniently(line: bytes) -> AnswerLine | None:
    """Parse JSON with unpaired surrogates, which truncated texts can contain and the fast decoder
    rejects."""
    try:
        said = json.loads(line)
        if not isinstance(said, dict):
            return None
        whole = {**said, "response": json.dumps(said["response"])} if "response" in said else said
        quoted = {name: value for name, value in whole.items() if name != "response"}
        found = msgspec.convert(quoted, AnswerLine)
    except (ValueError, TypeError, msgspec.ValidationError):
        return None
    return msgspec.structs.replace(found, response=msgspec.Raw(whole.get("response", "").encode()))


def build_size_failure(size: int) -> CallFailure:
    most = LARGEST_ANSWER // _MEGABYTE
    message = f"returned {size / _MEGABYTE:.1f} MB; providers allow {most} MB"
    return CallFailure(Failing.TOO_LARGE, message)


def decode_response(end: CallEnd) -> Json:
    """Return the response as a value."""
    try:
        found: Json = msgspec.json.decode(end.response)
    except msgspec.DecodeError:  # what this reader does not take, and JavaScript writes
        found = json.loads(end.response)
    return found


def redact_call(end: CallEnd, hide: Callable[[str], str]) -> CallEnd:
    """Redact secrets in everything reported about a call. The response itself is not changed."""
    logs = hide(end.said).encode(errors="replace") if end.logs else b""
    failure = end.failure
    if failure is not None:
        failure = msgspec.structs.replace(failure, message=hide(failure.message))
    return msgspec.structs.replace(end, logs=logs, failure=failure)


def build_call_problem(function: str, end: CallEnd) -> Problem | None:
    """Return the problem that a command reports for a failed call."""
    failure = end.failure
    if failure is None or failure.problem is not None:
        return failure.problem if failure else None
    code = "invoke/timeout" if failure.why is Failing.TIMED_OUT else "invoke/failed"
    frame = "\n".join(end.said.strip().splitlines()[-_QUOTED_LINES:])
    hint = _LATE if failure.why is Failing.TIMED_OUT else format_missing_hint(failure.message)
    return Problem(code, f"function `{function}` {failure.message}", hint, frame=frame)


_LATE = "increase `timeout` of the function"


def format_missing_hint(message: str) -> str:
    """Return the hint for a module that is missing on this machine; empty for another failure."""
    found = _MISSING.search(message)
    if found is None:
        return ""
    name = found["node"] or found["python"] or ""
    if name.startswith("/opt/"):
        return (
            "invoke the deployed function: a layer contains this file, and local "
            "invocations do not write `/opt`"
        )
    if found["scheme"] or name.startswith("cloudflare:"):
        return (
            "invoke the deployed function: only the Cloudflare Workers runtime contains this module"
        )
    if found["python"]:
        return (
            f"add the package of `{name.partition('.')[0]}` to the requirements, or install it in "
            "the project's `.venv` if the provider's runtime contains it. Add a module of the "
            "project with `include` if its name is computed"
        )
    if name.startswith((".", "/")):
        return ""
    package = "/".join(name.split("/")[: 2 if name.startswith("@") else 1])
    return (
        "npm ci if package.json lists the package, otherwise npm install --save-dev "
        f"{shlex.quote(package)} (the provider's runtime or a layer might contain it; local calls "
        "read node_modules)"
    )
