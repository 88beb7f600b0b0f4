"""Client of the Cloudflare API: calls with a token, typed responses and error codes."""

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import Problem
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.errors import Quoted, RefusedCallError, format_generic_hint
from fabric.providers.core.http_calls import (
    ProviderCall,
    TokenApi,
    decode_reply,
)
from fabric.providers.core.triggers import format_resource_name, shorten_name
from fabric.system.http.http_client import Http

T = TypeVar("T")
_LEFT = re.compile(r"\br=(\d+)\s*;\s*t=(\d+)")
_QUOTA = re.compile(r"\bq=(\d+)")
# From here on the calls that are left are spread over the time until there are new ones.
_SHORT = 10


class Edge1Account(Struct, frozen=True):
    """A Cloudflare account and its endpoint."""

    base_url: str
    token: Secret[str]
    account: str
    # Empty without a zone route.
    zone: str = ""
    # Replaces workers.dev URLs, with a `{worker}` placeholder.
    workers_url: str = ""


class Edge1Api(TokenApi[Edge1Account]):
    provider = "edge1-workers"

    def __init__(self, account: Edge1Account, http: Http | None = None) -> None:
        super().__init__(account, http)
        self.rate = RateBudget()
        self.resources = FoundResources()

    def once(self, call: ProviderCall, kind: type[T]) -> T:
        """Make a call once. Raises a TransientError if the outcome is unknown, otherwise a
        RefusedCallError."""
        reply = self._send(call)
        self.rate.learn(reply.headers)
        envelope = decode_reply(call, reply, _Envelope)
        if not (reply.ok and envelope.success):
            raise Edge1RefusedError(reply.status, envelope.errors or (), call.title)
        return decode_reply(call, replace(reply, content=bytes(envelope.result)), kind)


class FoundResources:
    """The resources that a run found or created, by kind and name. Thread-safe: functions that
    share a resource are deployed at the same time, and one of them creates it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._found: dict[str, str] = {}
        self._created: set[str] = set()

    def note_created(self, key: str) -> None:
        """Note a creation before its call, whose response can be lost."""
        with self._guard:
            self._created.add(key)

    def is_created(self, key: str) -> bool:
        with self._guard:
            return key in self._created

    def find(self, key: str, look: Callable[[], str]) -> str:
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._found:
                self._found[key] = look()
            return self._found[key]

    def forget(self, key: str) -> None:
        with self._guard:
            self._found.pop(key, None)
            self._created.discard(key)


class RateBudget:
    """A thread-safe budget: each caller takes the next free moment."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._guard = threading.Lock()
        self._distance = 0.0
        self._next = 0.0

    def learn(self, headers: Mapping[str, str]) -> None:
        left = _LEFT.search(headers.get("ratelimit", ""))
        quota = _QUOTA.search(headers.get("ratelimit-policy", ""))
        if left is None or quota is None:
            return
        calls, seconds = int(left[1]), int(left[2])
        is_short = calls * _SHORT < int(quota[1])
        with self._guard:
            self._distance = seconds / max(calls, 1) if is_short else 0.0

    def pause(self) -> float:
        """Return the delay before the next call, in seconds."""
        with self._guard:
            now = self._now()
            begin = max(now, self._next)
            self._next = begin + self._distance
            return begin - now if self._distance else 0.0


_UPLOAD = "10021"
_NO_ROUTE = "7003"
_LOGIN = frozenset(("10000", "9106", "9109", "6003", "6111"))
_LOGIN_STATUS = frozenset((401, 403))


class Edge1Fault(Struct, frozen=True):
    """One error of a response."""

    code: int = 0
    message: str = ""

    @property
    def words(self) -> str:
        """The message. For an upload, only the runtime's own message."""
        return self.message if str(self.code) == _UPLOAD else f"{self.code} {self.message}"


class _Envelope(Struct, frozen=True):
    success: bool = False
    result: msgspec.Raw = msgspec.Raw(b"null")
    errors: tuple[Edge1Fault, ...] | None = ()


class Edge1RefusedError(RefusedCallError):
    def __init__(self, status: int, faults: tuple[Edge1Fault, ...], call: str) -> None:
        codes = frozenset(str(one.code) for one in faults)
        super().__init__(status, "; ".join(one.words for one in faults), call, codes)

    @property
    def is_gone(self) -> bool:
        """Whether the resource is missing. An unknown account or zone does not count."""
        return super().is_gone and _NO_ROUTE not in self.codes


def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {quoted(error.words)}"
    if error.codes & _LOGIN or error.status in _LOGIN_STATUS:
        hint = "check `EDGE1_API_TOKEN` and its permission to edit Workers scripts of this account"
        return Problem("credentials/refused", words, hint)
    if _NO_ROUTE in error.codes:
        is_zone = "/zones/" in error.call
        name = "EDGE1_ZONE_ID" if is_zone else "EDGE1_ACCOUNT_ID"
        hint = f"check `{name}`: use the ID of 32 characters, not the name"
        return Problem("credentials/refused", words, hint)
    if _UPLOAD in error.codes:
        message = f"{whose}: the upload was rejected: {quoted(error.words)}"
        return Problem("provider/refused", message, "this is a message from the Workers runtime")
    return Problem("provider/refused", words, format_generic_hint("Cloudflare"))


# What the shim is tried with; a later date changes what Workers can do, and how.
COMPATIBILITY_DATE = "2026-04-01"
FLAGS = ("nodejs_compat",)
_NAME_LENGTH = 63
_OTHERS = re.compile(r"[^a-z0-9-]+")
_OWNER_LENGTH = 16
_MESSAGE = re.compile(r"archive ([0-9a-f]{64})(?:, migration ([^;]*))?;")


class Edge1Settings(Struct, frozen=True, rename="camel"):
    """The settings of this provider's config section."""

    hostname: str = ""
    compatibility_date: str = COMPATIBILITY_DATE
    compatibility_flags: tuple[str, ...] = ()
    # With the names of Wrangler, checked by the schema.
    placement: JsonObject = {}
    limits: JsonObject = {}
    assets: JsonObject = {}
    bindings: JsonObject = {}

    @property
    def metadata(self) -> JsonObject:
        """The settings of every version of a function, in addition to those of fabric."""
        added = [one for one in self.compatibility_flags if one not in FLAGS]
        found: JsonObject = {
            "compatibility_flags": [*FLAGS, *added] if added else [],
            "placement": self.placement,
            "limits": self.limits,
        }
        return {name: value for name, value in found.items() if value}


class Edge1Place(Struct, frozen=True):
    """The account in the environment; empty if unset."""

    account: str = ""
    zone: str = ""
    has_token: bool = False

    @property
    def is_known(self) -> bool:
        return bool(self.account and self.has_token)


def build_worker_name(address: DeploymentAddress, function: str) -> str:
    """Build a name for a hostname: lowercase characters, digits and hyphens."""
    return shorten_name(_normalize_name(format_resource_name(address, function)), _NAME_LENGTH)


def build_gate_name(address: DeploymentAddress) -> str:
    return shorten_name(_normalize_name(f"{address.service}-{address.stage}"), _NAME_LENGTH)


def _normalize_name(name: str) -> str:
    return _OTHERS.sub("-", name.lower()).strip("-")


class Owner(Struct, frozen=True):
    """The owner of a Worker: a function, or the front Worker if there is no function."""

    service: str
    stage: str
    function: str = ""

    @property
    def title(self) -> str:
        return f"{self.service}/{self.stage}" + (f"/{self.function}" if self.function else "")

    @property
    def begin(self) -> str:
        """The prefix of the tags of all versions; a tag has at most 100 bytes."""
        digest = hash_fields((self.service, self.stage, self.function))
        return f"fabric:{digest[:_OWNER_LENGTH]}:"

    def tag(self, mark: str) -> str:
        return self.begin + mark

    def mark_in(self, tag: str) -> str:
        return tag.removeprefix(self.begin).partition(":")[0] if self.is_of(tag) else ""

    def is_of(self, tag: str) -> bool:
        return tag.startswith(self.begin)


def build_worker_owner(address: DeploymentAddress, function: str = "") -> Owner:
    return Owner(address.service, address.stage, function)


def format_version_message(owner: Owner, archive: str, migration: str = "") -> str:
    """Format a version message for people, archive hash first: a long text is cut at its end."""
    migrated = f", migration {migration}" if migration else ""
    return f"archive {archive}{migrated}; {owner.title}, deployed by fabric"


def read_archive_hash(message: str) -> str:
    found = _MESSAGE.match(message)
    return found[1] if found else ""


def read_migration(message: str) -> str:
    """Return the migration of a version's Durable Objects; empty if it has none."""
    found = _MESSAGE.match(message)
    return (found[2] or "") if found else ""


def format_worker_version_id(account: str, worker: str, version: str) -> str:
    return f"{account}/{worker}@{version}"


def read_version_account(resource_id: str) -> str:
    """Return the account of an id; empty if it names none."""
    return resource_id.rpartition("/")[0]


def read_version(resource_id: str) -> str:
    """Return the version of an id; empty if it names none."""
    return resource_id.partition("@")[2]
