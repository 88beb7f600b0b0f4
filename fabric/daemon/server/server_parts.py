"""The parts of a server."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct

from fabric.daemon.server.gate import Admission, CallHead
from fabric.daemon.server.limits import ServerLimits
from fabric.daemon.server.tasks import ServerLog

StartResponse: TypeAlias = Callable[..., object]
Wsgi: TypeAlias = Callable[[dict[str, object], StartResponse], Iterable[bytes]]


class ServerParts(Struct, frozen=True):
    """`shares_address` detects addresses that many clients share."""

    app: Wsgi
    admit: Callable[[CallHead, str], Admission]
    teller: ServerLog
    new_id: Callable[[], str]
    shares_address: Callable[[str], bool]
    limits: ServerLimits = ServerLimits()
