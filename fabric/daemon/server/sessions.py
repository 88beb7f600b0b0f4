"""Who has shown a key in a browser: sessions of its pages, known by the digests of their tokens."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable

from msgspec import Struct

from fabric.daemon.exchange import Right
from fabric.system.chance import Chance

SESSION_SECONDS = 12 * 3600
MOST_SESSIONS = 1000
_TOKEN_BYTES = 32


class BrowserSession(Struct, frozen=True):
    right: Right
    until: float


class BrowserSessions:
    """Thread-safe, and gone with the process. Of too many the oldest ends.

    A token is not the key, and nobody can tell either from what is kept. `cookie` is its name in
    the browser: cookies of one host are shared by all ports, so each server needs another one.
    """

    def __init__(self, cookie: str, chance: Chance, monotonic: Callable[[], float]) -> None:
        self.cookie = cookie
        self._chance, self._monotonic = chance, monotonic
        self._lock = threading.Lock()
        self._known: OrderedDict[str, BrowserSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def begin(self, right: Right) -> str:
        token, now = self._chance(_TOKEN_BYTES), self._monotonic()
        with self._lock:
            self._drop_old(now)
            self._known[_digest(token)] = BrowserSession(right, now + SESSION_SECONDS)
            if len(self._known) > MOST_SESSIONS:
                self._known.popitem(last=False)
        return token

    def right_of(self, token: str) -> Right | None:
        """Looked up by digest: the time that it takes tells nothing about tokens."""
        with self._lock:
            found = self._known.get(_digest(token))
        return found.right if found and found.until > self._monotonic() else None

    def end(self, token: str) -> None:
        with self._lock:
            self._known.pop(_digest(token), None)

    def token_in(self, header: str) -> str:
        """That of a `Cookie` header; empty where it has none of ours."""
        for pair in header.split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self.cookie:
                return value
        return ""

    def _drop_old(self, now: float) -> None:
        """All last equally long, so the oldest end first."""
        while self._known and next(iter(self._known.values())).until <= now:
            self._known.popitem(last=False)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
