"""The URL of a tunnel to this machine: its validation and verification."""

import socket
from collections.abc import Callable
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from fabric.local.tunnel_end import TunnelEnd
from fabric.model.problems import FabricError, Problem
from fabric.system.http_check import HttpAnswer, fetch_without_redirect
from fabric.system.urls import is_web_address

_TRIES, _PAUSE, _SECONDS = 5, 1.0, 10.0
_OK, _REDIRECTS, _SERVER_ERROR = 200, 300, 500
_EXAMPLE = "use a URL such as --tunnel-url https://name.example.net"
# Waits so many seconds; says whether there is nobody any more who wants to know.
Pause = Callable[[float], bool]


class Tunnel(Struct, frozen=True):
    url: str
    host: str


def parse_tunnel(text: str) -> Tunnel:
    """Parse a tunnel URL. Raises if providers could not send requests to it."""
    if not is_web_address(text) or urlsplit(text).port == 0:
        raise _invalid_tunnel_error("must be an https:// or http:// URL with a host")
    parts = urlsplit(text)
    if wrong := _extra_url_part_message(text, parts):
        raise _invalid_tunnel_error(
            f"must contain only a scheme, host and port, but contains {wrong}"
        )
    host = parts.hostname or ""
    try:
        socket.getaddrinfo(host, parts.port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise _invalid_tunnel_error(f"has an unknown host: `{host}`") from error
    return Tunnel(f"{parts.scheme}://{parts.netloc}", host)


def _extra_url_part_message(text: str, parts: SplitResult) -> str:
    """A password is not shown again."""
    if "@" in parts.netloc:
        return "a user or a password"
    if {"?", "#"} & set(text):
        return "a query or a fragment"
    return "a path" if parts.path not in ("", "/") else ""


def verify_tunnel(tunnel: Tunnel, end: TunnelEnd, pause: Pause) -> bool:
    """Verify that the tunnel reaches this machine, with retries for a new tunnel.

    Raises if it reaches another server. Returns false if the wait was stopped.
    """
    for attempt in range(_TRIES):
        try:
            answer = fetch_without_redirect(f"{tunnel.url}{end.path}", _SECONDS)
        except FabricError as error:
            if attempt == _TRIES - 1:
                raise FabricError(_unreachable_problem(tunnel)) from error
        else:
            if answer.status == _OK and answer.text == end.nonce:
                return True
            if answer.status < _SERVER_ERROR or attempt == _TRIES - 1:
                raise FabricError(_wrong_target_problem(tunnel, answer))
        if pause(_PAUSE):
            return False
    return False


def _unreachable_problem(tunnel: Tunnel) -> Problem:
    hint = "open the tunnel to the local port, then run the command again"
    return Problem("provider/unreachable", f"the tunnel {tunnel.url} cannot be reached", hint)


def _wrong_target_problem(tunnel: Tunnel, answer: HttpAnswer) -> Problem:
    """Return the problem of a wrong target. Shows none of its response, which is untrusted."""
    said = f"another server returned {answer.status}"
    hint = "open the tunnel to the local port, and set --tunnel-url to its URL"
    if _REDIRECTS <= answer.status < _REDIRECTS + 100:
        said = f"it redirects to another URL ({answer.status})"
        hint = "set --tunnel-url to the URL it redirects to, usually https://"
    message = f"the tunnel {tunnel.url} does not reach this process: {said}"
    return Problem("dev/other-tunnel", message, hint)


def _invalid_tunnel_error(why: str) -> FabricError:
    return FabricError(Problem("usage/bad-tunnel-url", f"--tunnel-url {why}", _EXAMPLE))
