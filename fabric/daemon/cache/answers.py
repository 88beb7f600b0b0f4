"""Cached answers by path, body and stage, for authorized callers."""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from fabric.cache_seal import CacheSeal
from fabric.daemon.http_types import ApiAnswer, ApiCall
from fabric.daemon.options import AnswerCache
from fabric.daemon.parameters import STAGE
from fabric.daemon.server.answers import encode_body
from fabric.daemon.statuses import OK


class Lookup(Struct, frozen=True):
    """The cached text, and the epoch for a new one; None if unknown."""

    text: bytes | None = None
    epoch: bytes | None = None


HEADER = "X-Fabric-Cache"
_FORM = b"fabric-answer 2"
Answering = Callable[[ApiCall], ApiAnswer]


class Store(Protocol):
    def find(self, key: str, stage: str) -> Lookup: ...
    def keep(self, key: str, stage: str, text: bytes, epoch: bytes, seconds: float) -> bool: ...
    def clear(self, stage: str) -> None: ...


class Meant(Protocol):
    """The meaning of omitted request parts."""

    def stage_of(self, call: ApiCall) -> str | None: ...
    def own_body(self) -> bytes: ...


class AnswerSeal(Struct, frozen=True):
    """Seals answers, so that writers to the cache server cannot forge them.

    `owner` hashes everything else that answers depend on, so that other servers' answers are
    ignored.
    """

    # Belongs to this server.
    key: CacheSeal
    owner: str

    def pack(self, meant: str, body: bytes) -> bytes:
        """Encode an answer as text, readable on the cache server."""
        return b"\n".join((_FORM, self._mark(meant, body), body))

    def unpack(self, meant: str, text: bytes | None) -> bytes | None:
        """Decode an answer. Foreign or damaged ones count as missing."""
        if text is None:
            return None
        form, _, rest = text.partition(b"\n")
        mark, _, body = rest.partition(b"\n")
        is_own = secrets.compare_digest(mark, self._mark(meant, body))
        return body if form == _FORM and is_own else None

    def _mark(self, meant: str, body: bytes) -> bytes:
        return self.key.mark(f"{self.owner}\n{meant}", body).hex().encode()


class CachedAnswers:
    """Answers through a cache. `told` receives whether an answer was cached."""

    def __init__(
        self,
        store: Store,
        options: AnswerCache,
        seal: AnswerSeal,
        meant: Meant,
        told: Callable[[str], None],
    ) -> None:
        self._store = store
        self._options = options
        self._seal = seal
        self._meant = meant
        self._told = told

    def of(self, endpoint: str, answer: Answering) -> Answering:
        """Wrap an endpoint, so that it answers from the cache if possible."""
        return lambda call: self._find_or_compute(endpoint, answer, call)

    def _find_or_compute(self, endpoint: str, answer: Answering, call: ApiCall) -> ApiAnswer:
        stage = self._meant.stage_of(call)
        if stage is None or call.query.values.keys() - {STAGE.name}:
            return answer(call)  # what else the query says is no part of the key
        # The server's own config may do more than the same text of a stranger.
        is_own = not call.body.strip()
        body = self._meant.own_body() if is_own else call.body
        key = f"{endpoint}:{hashlib.sha256(body).hexdigest()}:{stage}"
        meant = f"{key} {'own' if is_own else 'given'}"
        found = self._store.find(key, stage)
        kept = self._seal.unpack(meant, found.text)
        if kept is not None:
            self._told("hit")
            return ApiAnswer(OK, headers={HEADER: "hit"}, text=kept.decode())
        self._told("miss")
        fresh = answer(call)
        if fresh.status == OK and found.epoch is not None:
            seconds = self._options.seconds_of(endpoint)
            packed = self._seal.pack(meant, encode_body(fresh))
            self._store.keep(key, stage, packed, found.epoch, seconds)
        return replace(fresh, headers={**fresh.headers, HEADER: "miss"})


def hash_owner(about: Mapping[str, object]) -> str:
    """Hash everything that answers depend on. Secrets cannot be recovered from it."""
    return hashlib.sha256(repr(sorted(about.items())).encode()).hexdigest()
