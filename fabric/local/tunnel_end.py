"""This machine's end of a tunnel: how it proves that the tunnel leads here."""

from msgspec import Struct

from fabric.local.http_answer import ServedAnswer
from fabric.local.http_request import RequestHead

_PATH = "/.fabric/dev/"


class TunnelEnd(Struct, frozen=True):
    """`host` is the tunnel's name, which requests through it are for. Whoever is told `nonce` at
    its own address has met this very process: nobody else knows it."""

    host: str
    nonce: str

    @property
    def path(self) -> str:
        return _PATH + self.nonce

    def proof(self, head: RequestHead) -> ServedAnswer | None:
        """The answer to who asks for it."""
        if head.path != self.path:
            return None
        kind = (("content-type", "text/plain"), ("cache-control", "no-store"))
        return ServedAnswer(200, kind, self.nonce.encode())
