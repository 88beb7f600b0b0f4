"""Client of an OpenWhisk namespace."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.errors import (
    Judged,
    Quoted,
    RefusedCallError,
    format_generic_hint,
)
from fabric.providers.core.http_calls import (
    ProviderCall,
    decode_reply,
    open_provider_http,
    send_with_login,
)
from fabric.providers.core.ownership import other_place_problem
from fabric.providers.core.triggers import shorten_name
from fabric.system.http.http_client import Http

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


_LOGIN, _RIGHTS, _LARGE = 401, 403, 413
CONFLICT = 409


def build_refusal_classifier(provider: str, login: str, rights: str) -> Judged:
    """Build a classifier. `login` is the hint for an invalid key, `rights` the one for missing
    permissions."""

    def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
        words = f"{whose}: `{error.call}` was rejected, {error.status} {quoted(error.words)}"
        hint = _HINTS.get(error.status)
        if error.status in (_LOGIN, _RIGHTS):
            hint = login if error.status == _LOGIN else rights
            return Problem("credentials/refused", words, hint)
        return Problem("provider/refused", words, hint or format_generic_hint(provider))

    return classify_refusal


_HINTS = {
    _LARGE: "include fewer files: an archive can have 48 MB in base64, or the limit of "
    "the installation"
}


# Names there have 256 letters; ours have other names behind them.
_LONGEST = 200
_BETWEEN = "--"
_DIGEST = 12
OWNER, MARK, AROUND, ARCHIVE, MET = (
    *("fabric-owner", "fabric-mark", "fabric-around", "fabric-archive"),
    "fabric-met",
)


class WhiskPlace(Struct, frozen=True):
    """A namespace; `host` distinguishes equal names at several installations."""

    namespace: str
    host: str = ""

    @property
    def id(self) -> str:
        return f"{self.host}/{self.namespace}" if self.host else self.namespace


def refuse_ways_out(variable: str, namespace: str) -> None:
    """Raise for a path part such as `..`, which escaping cannot make safe."""
    if namespace.strip(".") == "":
        message = f"`{variable}` is `{namespace}`, which is not a valid namespace"
        raise FabricError(Problem("credentials/unreadable", message))


class WhiskAnnotation(Struct, frozen=True):
    key: str
    value: object = None


Annotations = Sequence[WhiskAnnotation]


def read_annotation(annotations: Annotations, name: str) -> str:
    """Return the text of an annotation, or an empty text for any other value."""
    found = next((one.value for one in annotations if one.key == name), "")
    return found if isinstance(found, str) else ""


def build_annotations(texts: Mapping[str, Json]) -> list[Json]:
    return [{"key": name, "value": value} for name, value in texts.items()]


def package_name(address: DeploymentAddress) -> str:
    return shorten_name(f"{address.service}-{address.stage}", _LONGEST)


def package_owner(address: DeploymentAddress) -> str:
    return f"{address.service}/{address.stage}"


def format_action_owner(address: DeploymentAddress, function: str) -> str:
    return f"{package_owner(address)}/{function}"


def build_version_name(function: str, mark: str, around: str) -> str:
    return f"{function}{_BETWEEN}{hash_fields((mark, around))[:_DIGEST]}"


def format_resource_id(place: WhiskPlace, package: str, version: str) -> str:
    return f"{place.id}/{package}/{version}"


def place_in(resource: str) -> str:
    """Return the place in a resource id; empty for another kind of id."""
    parts = resource.rsplit("/", 2)
    return parts[0] if len(parts) > 2 else ""  # noqa: PLR2004 - place, package, version


def read_version(resource: str) -> str:
    """Return the name of the version's action; empty if the id names none."""
    return resource.rpartition("/")[2]


# Of each function: the version with traffic, and its callers.
MET_NOW = "met:"


def find_place_conflict(record: Record, place: WhiskPlace) -> Problem | None:
    """Return a problem if the record belongs to another namespace. A missing namespace is reported
    with the missing credentials."""
    places = [place_in(one.resource_id) for one in record.functions]
    other = [one for one in places if one and one != place.id]
    if not other or not place.namespace:
        return None
    hint = (
        "set the variables to that namespace, or run `fabric remove` there before you deploy "
        "elsewhere"
    )
    return other_place_problem(record, f"in `{other[0]}`", f"not in `{place.id}`", hint)
