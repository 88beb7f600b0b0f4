"""The local end of a tunnel, with a proof that the tunnel points here."""

from msgspec import Struct

from fabric.system.http.answers import ServedAnswer
from fabric.system.http.requests import RequestHead

_PATH = "/.fabric/dev/"


class TunnelEnd(Struct, frozen=True):
    """The local end.

    A caller that receives `nonce` from that address has reached this process: no other process
    knows it.
    """

    # The tunnel's hostname.
    host: str
    nonce: str

    @property
    def path(self) -> str:
        return _PATH + self.nonce

    def proof(self, head: RequestHead) -> ServedAnswer | None:
        """Return the response to a proof request."""
        if head.path != self.path:
            return None
        kind = (("content-type", "text/plain"), ("cache-control", "no-store"))
        return ServedAnswer(200, kind, self.nonce.encode())
