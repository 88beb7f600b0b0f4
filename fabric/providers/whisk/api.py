"""Client of an OpenWhisk namespace."""

import threading
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct

from fabric.model.secret import Secret
from fabric.providers.core.errors import RefusedCallError
from fabric.providers.core.http_calls import (
    ProviderCall,
    decode_reply,
    open_provider_http,
    send_with_login,
)
from fabric.system.http_client import Http

T = TypeVar("T")
_HIDDEN = "[REDACTED]"
_WEB = "/api/v1/web"
_API = "/api/v1/namespaces"


class WhiskDoor(Struct, frozen=True):
    """The endpoint of a namespace: `login` is the whole authorization value, `key` its secret
    part."""

    base_url: str
    namespace: str
    login: Secret[str]
    key: Secret[str]

    @property
    def web(self) -> str:
        """The base URL of its web actions."""
        return f"{self.base_url.rstrip('/')}{_WEB}/{quote(self.namespace, safe='')}"


class _WhiskRefusal(Struct, frozen=True):
    error: str = ""


class WhiskApi:
    """Thread-safe client. `find` returns the endpoint, possibly with an API call, and is called
    once."""

    def __init__(
        self, provider: str, find: Callable[[Http], WhiskDoor], http: Http | None = None
    ) -> None:
        self.http = http or open_provider_http(provider)
        self._find = find
        self._guard = threading.Lock()
        self._door: WhiskDoor | None = None
        self._seen: set[str] = set()

    def close(self) -> None:
        self.http.close()

    @property
    def door(self) -> WhiskDoor:
        with self._guard:
            if self._door is None:
                self._door = self._find(self.http)
            return self._door

    def has_seen(self, package: str) -> bool:
        """Return whether the package was ours when last read. The answer avoids listing all its
        actions again."""
        return package in self._seen

    def see(self, package: str, *, is_own: bool) -> None:
        (self._seen.add if is_own else self._seen.discard)(package)

    def once(self, call: ProviderCall, kind: type[T], namespace: str = "") -> T:
        """Make a call once. Raises a TransientError if a retry can help, otherwise a
        RefusedCallError.

        Paths are relative to a namespace, by default that of the endpoint.
        """
        door = self.door
        path = f"{_API}/{quote(namespace or door.namespace, safe='')}{call.path}"
        asked = ProviderCall(call.method, path, call.content, call.content_type)
        reply = send_with_login(self.http, door.base_url, door.login, asked)
        if reply.ok:
            return decode_reply(asked, reply, kind)
        words = decode_reply(asked, reply, _WhiskRefusal).error
        for secret in (door.login.reveal().partition(" ")[2], door.key.reveal()):
            words = words.replace(secret, _HIDDEN) if secret else words
        raise RefusedCallError(reply.status, words, asked.title)
