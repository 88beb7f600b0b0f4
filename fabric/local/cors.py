"""CORS headers of the local server."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from fabric.local.http_request import RequestHead, is_loopback
from fabric.model.cors import Cors
from fabric.model.task import Pairs


def build_answer_headers(cors: Cors, origin: str) -> Pairs:
    """Return the headers of every response to a page of that origin."""
    if not origin or not cors.admits(origin):
        return ()
    is_open = "*" in cors.origins and not cors.credentials
    named: Pairs = () if is_open else (("vary", "origin"),)
    return (
        ("access-control-allow-origin", "*" if is_open else origin),
        *named,
        *_build_list_header("access-control-expose-headers", cors.exposed),
        *((("access-control-allow-credentials", "true"),) if cors.credentials else ()),
    )


def build_preflight_headers(cors: Cors, head: RequestHead) -> Pairs:
    """Return the headers of a preflight response."""
    wanted = head.header("access-control-request-headers")
    headers = cors.headers or tuple(filter(None, (wanted,)))
    return (
        *build_answer_headers(cors, head.header("origin")),
        *_build_list_header("access-control-allow-methods", cors.methods),
        *_build_list_header("access-control-allow-headers", headers),
        *((("access-control-max-age", cors.max_age),) if cors.max_age else ()),
    )


def is_foreign(head: RequestHead) -> bool:
    """Return whether a page from another site sent the request; pages of this machine belong to the
    developer."""
    origin = head.header("origin")
    if not origin:
        return head.header("sec-fetch-site") == "cross-site" and head.method not in ("GET", "HEAD")
    try:
        return not is_loopback(urlsplit(origin).netloc)
    except ValueError:
        return True


def _build_list_header(name: str, values: Sequence[str]) -> Pairs:
    return ((name, ", ".join(values)),) if values else ()
