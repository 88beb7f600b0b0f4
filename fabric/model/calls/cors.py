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
# All keys that fabric reads.
CORS_KEYS = frozenset(
    (*_ORIGINS, *_ALLOWED_METHODS, *_HEADERS, *_EXPOSED, *_CREDENTIALS, *_AGE),
)


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
def parse_cors_setting(text: str) -> Cors | None:
    """Parse `cors` of a trigger: `true`, an origin, or settings as JSON. None if disabled."""
    if not text:
        return None
    if not text.startswith("{"):
        return Cors() if text == "true" else Cors((text,))
    said = json.loads(text)
    return Cors(
        _read_texts(said, _ORIGINS) or _ALL,
        _read_texts(said, _ALLOWED_METHODS) or _METHODS,
        _read_texts(said, _HEADERS),
        _read_texts(said, _EXPOSED),
        credentials=_find_first_setting(said, _CREDENTIALS) is True,
        max_age=str(_find_first_setting(said, _AGE) or ""),
    )


def encode_cors(said: object) -> JsonObject | None:
    """Encode CORS settings for another server. `said` is the `cors` of a trigger's JSON."""
    cors = parse_cors_setting(_encode_as_text(said))
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


def _encode_as_text(said: object) -> str:
    if isinstance(said, bool):
        return "true" if said else ""
    return json.dumps(said, sort_keys=True) if isinstance(said, Mapping) else str(said or "")


def _find_first_setting(said: dict[str, Json], names: Sequence[str]) -> Json:
    return next((said[name] for name in names if name in said), None)


def _read_texts(said: dict[str, Json], names: Sequence[str]) -> tuple[str, ...]:
    value = _find_first_setting(said, names)
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, list) else ()
