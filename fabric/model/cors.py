"""Cross-origin permissions from a trigger's `cors`."""

import functools
import json
from collections.abc import Mapping, Sequence

from msgspec import Struct

from fabric.model.outcomes.json_struct import Json, JsonObject

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_ALL = ("*",)
# The spellings of the providers' own settings.
_ORIGINS = ("allowOrigins", "allowedOrigins", "origins", "origin")
_ALLOWED_METHODS = ("allowMethods", "allowedMethods", "methods")
_HEADERS = ("allowHeaders", "allowedHeaders", "headers")
_EXPOSED = ("exposeHeaders", "exposedHeaders", "exposedResponseHeaders")
_CREDENTIALS = ("allowCredentials", "credentials")
_AGE = ("maxAge", "maxAgeSeconds")


class Cors(Struct, frozen=True):
    origins: tuple[str, ...] = _ALL
    methods: tuple[str, ...] = _METHODS
    headers: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    credentials: bool = False
    max_age: str = ""

    def admits(self, origin: str) -> bool:
        return any(one in ("*", origin) for one in self.origins)


@functools.lru_cache(256)
def cors_of(text: str) -> Cors | None:
    """Parse `cors` of a trigger: `true`, an origin, or settings as JSON. None if disabled."""
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


def cors_row(said: object) -> JsonObject | None:
    """Encode CORS settings for another server. `said` is the `cors` of a trigger's JSON."""
    cors = cors_of(_as_text(said))
    if cors is None:
        return None
    return {
        "origins": list(cors.origins),
        "methods": list(cors.methods),
        "headers": list(cors.headers),
        "exposed": list(cors.exposed),
        "credentials": cors.credentials,
        "maxAge": cors.max_age,
    }


def _as_text(said: object) -> str:
    if isinstance(said, bool):
        return "true" if said else ""
    return json.dumps(said, sort_keys=True) if isinstance(said, Mapping) else str(said or "")


def _first(said: dict[str, Json], names: Sequence[str]) -> Json:
    return next((said[name] for name in names if name in said), None)


def _texts(said: dict[str, Json], names: Sequence[str]) -> tuple[str, ...]:
    value = _first(said, names)
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, list) else ()
