"""Browser sessions of users that showed a key, stored as token hashes."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable

from msgspec import Struct

from fabric.daemon.http_types import Right
from fabric.system.crypto.randomness import Chance

SESSION_SECONDS = 12 * 3600
MOST_SESSIONS = 1000
_TOKEN_BYTES = 32


class BrowserSession(Struct, frozen=True):
    right: Right
    until: float


class BrowserSessions:
    """Thread-safe, in memory only. If there are too many, the oldest ends.

    Neither token nor key can be recovered from the stored hash. `cookie` is the cookie name, unique
    per server because cookies are shared by all ports.
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
            self._known[_hash_token(token)] = BrowserSession(right, now + SESSION_SECONDS)
            if len(self._known) > MOST_SESSIONS:
                self._known.popitem(last=False)
        return token

    def right_of(self, token: str) -> Right | None:
        """Return the right of a token. The lookup by hash leaks no timing."""
        with self._lock:
            found = self._known.get(_hash_token(token))
        return found.right if found and found.until > self._monotonic() else None

    def end(self, token: str) -> None:
        with self._lock:
            self._known.pop(_hash_token(token), None)

    def token_in(self, header: str) -> str:
        """Return the token in a `Cookie` header; empty if absent."""
        for pair in header.split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self.cookie:
                return value
        return ""

    def _drop_old(self, now: float) -> None:
        """Drop expired sessions. All last equally long, so the oldest end first."""
        while self._known and next(iter(self._known.values())).until <= now:
            self._known.popitem(last=False)


def _hash_token(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
