"""Answers of the server itself, in the common failure form."""

import json
from collections.abc import Mapping

from fabric.daemon.http_types import ApiAnswer, make_refusal
from fabric.daemon.server.gate import too_large_answer
from fabric.model.problems import Problem
from fabric.system.http.answers import ServedAnswer
from fabric.system.http.requests import BadRequestError, Headers

# What goes with every answer that does not say otherwise by itself.
GUARDS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def encode_body(answer: ApiAnswer) -> bytes:
    return (answer.text or json.dumps(answer.document) + "\n").encode()


def serve_answer(answer: ApiAnswer, more: Mapping[str, str]) -> ServedAnswer:
    """Convert an answer of the server itself; `more` are further headers."""
    given = (("Content-Type", answer.content_type), *answer.headers.items())
    return ServedAnswer(answer.status, complete_headers(given, more), encode_body(answer))


def complete_headers(given: Headers, more: Mapping[str, str]) -> Headers:
    """Add the headers that an answer does not contain."""
    names = {name.lower() for name, _ in given}
    missing = (one for one in {**GUARDS, **more}.items() if one[0].lower() not in names)
    return (*given, *missing)


def parse_error_answer(error: BadRequestError, body_bytes: int) -> ApiAnswer:
    """Answer a request that is rejected before the gate, or while its body is read."""
    message = error.message
    match error.status:
        case 408:
            problem = Problem("request/too-slow", message)
        case 413:
            return too_large_answer(body_bytes)
        case 431:
            problem = Problem("request/header-too-large", message)
        case 501:
            problem = Problem("request/unknown-encoding", message)
        case 505:
            problem = Problem("request/other-version", message)
        case _:
            problem = Problem("request/malformed", f"malformed HTTP/1.1 request: {message}")
    return make_refusal(error.status, (problem,))


def busy_answer() -> ApiAnswer:
    problem = Problem("server/busy", "too many open connections", "try again in a second")
    return make_refusal(503, (problem,), {"Retry-After": "1"})


def internal_error_answer(request_id: str) -> ApiAnswer:
    """Answer an internal error. Details are only in the log."""
    hint = f"report this bug: the server log has the details of request {request_id}"
    return make_refusal(500, (Problem("internal/error", "unexpected server error", hint),))
