"""Answers of the server itself, in the common failure form."""

import json
from collections.abc import Mapping
from http import HTTPStatus

from fabric.daemon.http_types import ApiAnswer, make_refusal
from fabric.model.problems import Problem

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


def format_status_line(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} Unknown"


def bad_request_answer(why: str) -> ApiAnswer:
    return _make_refusal(400, "request/malformed", f"malformed HTTP/1.1 request: {why}")


def header_too_large_answer(most: int) -> ApiAnswer:
    return _make_refusal(
        431, "request/header-too-large", f"the headers are larger than {most:,} bytes"
    )


def timeout_answer(seconds: float) -> ApiAnswer:
    message = f"the request was not complete within {seconds:.0f} s"
    return _make_refusal(408, "request/too-slow", message)


def not_implemented_answer() -> ApiAnswer:
    message = "unsupported transfer encoding: only `chunked` is supported"
    return _make_refusal(501, "request/unknown-encoding", message)


def http_version_answer() -> ApiAnswer:
    return _make_refusal(
        505, "request/other-version", "unsupported HTTP version: use HTTP/1.1 or HTTP/1.0"
    )


def busy_answer() -> ApiAnswer:
    problem = Problem("server/busy", "too many open connections", "try again in a second")
    return make_refusal(503, (problem,), {"Retry-After": "1"})


def internal_error_answer(request_id: str) -> ApiAnswer:
    """Answer an internal error. Details are only in the log."""
    hint = f"report this bug: the server log has the details of request {request_id}"
    return make_refusal(500, (Problem("internal/error", "unexpected server error", hint),))


def parser_error_answer(status: int, why: str, header_bytes: int) -> ApiAnswer:
    """Answer an error that the HTTP library's parser found."""
    match status:
        case 431:
            return header_too_large_answer(header_bytes)
        case 501:
            return not_implemented_answer()
        case _:
            return bad_request_answer(why)


def _make_refusal(status: int, code: str, message: str) -> ApiAnswer:
    return make_refusal(status, (Problem(code, message),))
