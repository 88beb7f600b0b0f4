"""Good answers given again: by the address, the body and the stage, to whoever may ask."""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from fabric.cache_seal import CacheSeal
from fabric.daemon.cache.lookup import Lookup
from fabric.daemon.exchange import ApiAnswer, ApiCall
from fabric.daemon.options import AnswerCache
from fabric.daemon.parameters import STAGE
from fabric.daemon.server.answers import body_of
from fabric.daemon.statuses import OK

HEADER = "X-Fabric-Cache"
_FORM = b"fabric-answer 2"
Answering = Callable[[ApiCall], ApiAnswer]


class Store(Protocol):
    def find(self, key: str, stage: str) -> Lookup: ...
    def keep(self, key: str, stage: str, text: bytes, epoch: bytes, seconds: float) -> bool: ...
    def clear(self, stage: str) -> None: ...


class Meant(Protocol):
    """What a request says by leaving something out."""

    def stage_of(self, call: ApiCall) -> str | None: ...
    def own_body(self) -> bytes: ...


class AnswerSeal(Struct, frozen=True):
    """Whoever can write to the cache server must not answer for this one: `key` is its own.
    `owner` stands for all of a server that an answer hangs on besides the body and the stage:
    another server's answers are not ours."""

    key: CacheSeal
    owner: str

    def pack(self, meant: str, body: bytes) -> bytes:
        """Text, as people look at it on the server."""
        return b"\n".join((_FORM, self._mark(meant, body), body))

    def unpack(self, meant: str, text: bytes | None) -> bytes | None:
        """What is not ours, or not whole, is not there."""
        if text is None:
            return None
        form, _, rest = text.partition(b"\n")
        mark, _, body = rest.partition(b"\n")
        is_own = secrets.compare_digest(mark, self._mark(meant, body))
        return body if form == _FORM and is_own else None

    def _mark(self, meant: str, body: bytes) -> bytes:
        return self.key.mark(f"{self.owner}\n{meant}", body).hex().encode()


class CachedAnswers:
    """`told` hears whether an answer was there."""

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
        """The same, from the cache where it is there."""
        return lambda call: self._answer(endpoint, answer, call)

    def _answer(self, endpoint: str, answer: Answering, call: ApiCall) -> ApiAnswer:
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
            packed = self._seal.pack(meant, body_of(fresh))
            self._store.keep(key, stage, packed, found.epoch, seconds)
        return replace(fresh, headers={**fresh.headers, HEADER: "miss"})


def owner_of(about: Mapping[str, object]) -> str:
    """One word for what answers hang on; no secret is among it."""
    return hashlib.sha256(repr(sorted(about.items())).encode()).hexdigest()
