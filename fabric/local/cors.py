"""What browsers of other origins may do: as a trigger's `cors` says it."""

import functools
import json
from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from fabric.local.http_request import RequestHead, is_loopback
from fabric.model.outcomes.json_struct import Json

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_ALL = ("*",)
# The spellings of the providers' own settings.
_ORIGINS = ("allowOrigins", "allowedOrigins", "origins", "origin")
_ALLOWED_METHODS = ("allowMethods", "allowedMethods", "methods")
_HEADERS = ("allowHeaders", "allowedHeaders", "headers")
_EXPOSED = ("exposeHeaders", "exposedHeaders", "exposedResponseHeaders")
_CREDENTIALS = ("allowCredentials", "credentials")
_AGE = ("maxAge", "maxAgeSeconds")

Pairs = tuple[tuple[str, str], ...]


class Cors(Struct, frozen=True):
    origins: tuple[str, ...] = _ALL
    methods: tuple[str, ...] = _METHODS
    headers: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    credentials: bool = False
    max_age: str = ""

    def admits(self, origin: str) -> bool:
        return any(one in ("*", origin) for one in self.origins)

    def answer_headers(self, origin: str) -> Pairs:
        """What every answer to a page of that origin carries."""
        if not origin or not self.admits(origin):
            return ()
        is_open = "*" in self.origins and not self.credentials
        named: Pairs = () if is_open else (("vary", "origin"),)
        return (
            ("access-control-allow-origin", "*" if is_open else origin),
            *named,
            *_listed("access-control-expose-headers", self.exposed),
            *((("access-control-allow-credentials", "true"),) if self.credentials else ()),
        )

    def preflight_headers(self, head: RequestHead) -> Pairs:
        """What a browser wants to know before it asks."""
        wanted = head.header("access-control-request-headers")
        headers = self.headers or tuple(filter(None, (wanted,)))
        return (
            *self.answer_headers(head.header("origin")),
            *_listed("access-control-allow-methods", self.methods),
            *_listed("access-control-allow-headers", headers),
            *((("access-control-max-age", self.max_age),) if self.max_age else ()),
        )


@functools.lru_cache(256)
def cors_of(text: str) -> Cors | None:
    """`cors` as a trigger has it: `true`, an origin, or settings as JSON; None for none."""
    if not text:
        return None
    if not text.startswith("{"):
        return Cors() if text == "true" else Cors((text,))
    said = json.loads(text)
    return Cors(
        _texts(said, _ORIGINS) or _ALL,
        _texts(said, _ALLOWED_METHODS) or _METHODS,
        _texts(said, _HEADERS),
        _texts(said, _EXPOSED),
        credentials=_first(said, _CREDENTIALS) is True,
        max_age=str(_first(said, _AGE) or ""),
    )


def is_foreign(head: RequestHead) -> bool:
    """Whether a page from elsewhere asks: those of this machine are the developer's own."""
    origin = head.header("origin")
    if not origin:
        return head.header("sec-fetch-site") == "cross-site" and head.method not in ("GET", "HEAD")
    try:
        return not is_loopback(urlsplit(origin).netloc)
    except ValueError:
        return True


def _first(said: dict[str, Json], names: Sequence[str]) -> Json:
    return next((said[name] for name in names if name in said), None)


def _texts(said: dict[str, Json], names: Sequence[str]) -> tuple[str, ...]:
    value = _first(said, names)
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _listed(name: str, values: Sequence[str]) -> Pairs:
    return ((name, ", ".join(values)),) if values else ()
