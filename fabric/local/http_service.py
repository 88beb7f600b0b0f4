"""The local HTTP server of functions: its port, its tunnel, and the requests that it admits."""

import re
import socket
from collections.abc import Callable

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.system.http.answers import ServedAnswer, build_json_answer
from fabric.system.http.connection import SendReply
from fabric.system.http.listening import bind_socket, find_free_port
from fabric.system.http.requests import BadRequestError, RequestHead, ServedRequest
from fabric.system.http.server import HttpService

Answering = Callable[[ServedRequest, SendReply], None]
_PROOF_PATH = "/.fabric/dev/"
_LOOPBACK = re.compile(r"localhost|[A-Za-z0-9.-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\]")


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 means any free port."""
    try:
        return bind_socket(host, port)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        free = find_free_port(host, port)
        hint = f"use --port {free}, which is free" if free else "choose another --port"
        message = f"cannot listen on {host}:{port}: {why}"
        raise FabricError(Problem("local/port-taken", message, hint=hint)) from error


class _LocalRequests:
    """Admits requests for this machine, and for `hosts`."""

    def __init__(self, answer: Answering, hosts: frozenset[str]) -> None:
        self.answer = answer
        self._hosts = hosts

    def admit(self, head: RequestHead) -> None:
        host = head.header("host")
        if host and not is_loopback(host) and _name_of(host) not in self._hosts:
            message = f"unknown host {host}: only names of this machine are served"
            raise BadRequestError(421, message)

    def refuse(self, error: BadRequestError) -> ServedAnswer:
        return build_json_answer(error.status, {"message": error.message})


def build_local_service(answer: Answering, hosts: frozenset[str] = frozenset()) -> HttpService:
    """Build the content of a server. A page from another site has another host than this machine
    or its tunnel, which is in `hosts`."""
    requests = _LocalRequests(answer, hosts)
    return HttpService(lambda _: requests, build_json_answer(503, {"message": "busy"}))


class TunnelEnd(Struct, frozen=True):
    """The local end of a tunnel, with a proof that the tunnel points here.

    A caller that receives `nonce` from that address has reached this process: no other process
    knows it.
    """

    # The tunnel's hostname.
    host: str
    nonce: str

    @property
    def path(self) -> str:
        return _PROOF_PATH + self.nonce

    def proof(self, head: RequestHead) -> ServedAnswer | None:
        """Return the response to a proof request."""
        if head.path != self.path:
            return None
        kind = (("content-type", "text/plain"), ("cache-control", "no-store"))
        return ServedAnswer(200, kind, self.nonce.encode())


def is_loopback(host: str) -> bool:
    """Return whether a Host header names this machine."""
    return _LOOPBACK.fullmatch(_name_of(host)) is not None


def _name_of(host: str) -> str:
    """Return the host without its port."""
    return re.sub(r":\d*\Z", "", host).lower()
