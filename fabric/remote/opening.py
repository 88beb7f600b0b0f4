"""Open a shared cache from its URL. Makes no network call."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from fabric.model.backends import BackendKind, back_end_facts
from fabric.model.problems import FabricError
from fabric.model.secrets.secret import Secret
from fabric.remote.contract import CAPS, Carrier, CarrierRefusedError
from fabric.system.http.urls import is_plain, is_web_address

if TYPE_CHECKING:
    from fabric.state.contract import Backend

_STORES = {
    BackendKind.OBJSTORE1: ("objstore1Bucket", "objstore1Prefix"),
    BackendKind.OBJSTORE2: ("objstore2Bucket", "objstore2Prefix"),
    BackendKind.OBJSTORE3: ("objstore3Container", "objstore3Prefix"),
}
_TURBO = "turbo+"
FORMS = "turbo+https://host, https://host/path, or objstore1|2|3://bucket/prefix"


class SharedCacheAddress(Struct, frozen=True):
    """A cache address. `env` are the credentials of an object store; relative files in them start
    at `folder`."""

    url: str
    token: Secret[str | None]
    team: str
    env: Secret[Mapping[str, str]]
    folder: Path


def build_carrier_opener(where: SharedCacheAddress) -> Callable[[], Carrier]:
    """Return a function that opens the store on demand.

    Raises ValueError for an invalid URL, with a message without any part of it: it can contain a
    password.
    """
    scheme = where.url.partition("://")[0].lower()
    if scheme in _STORES:
        return _store_opener(BackendKind(scheme), where)
    is_turbo = scheme.startswith(_TURBO)
    base = where.url[len(_TURBO) :] if is_turbo else where.url
    _refuse_unfit(base)
    return lambda: _open_web_carrier(base.rstrip("/"), where, is_turbo=is_turbo)


def list_url_packages(url: str) -> tuple[str, ...]:
    """Return the optional packages that the store of this URL imports."""
    scheme = url.partition("://")[0].lower()
    if scheme in _STORES:
        return back_end_facts(scheme).packages
    return ("httpx",) if url else ()


def _refuse_unfit(base: str) -> None:
    if not is_web_address(base):
        raise ValueError(f"it must be {FORMS}")
    parts = urlsplit(base)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("it must not contain a user, query or fragment")
    if is_plain(base):
        raise ValueError("plain HTTP would expose the token")


def _open_web_carrier(base: str, where: SharedCacheAddress, *, is_turbo: bool) -> Carrier:
    from fabric.remote.web_carrier import WebPlace, open_web  # httpx: only when it is wanted

    try:
        return open_web(WebPlace(base, where.token, where.team), is_turbo=is_turbo)
    except FabricError as error:
        raise CarrierRefusedError(f"{error.first.message}: {error.first.hint}") from error


def _store_opener(kind: BackendKind, where: SharedCacheAddress) -> Callable[[], Carrier]:
    parts = urlsplit(where.url)
    if not parts.netloc or "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError(f"it must be {kind}://bucket/prefix")
    bucket, prefix = _STORES[kind]
    settings = {bucket: parts.netloc, prefix: parts.path.strip("/")}
    return lambda: _store(kind, settings, where)


def _store(kind: BackendKind, settings: Mapping[str, str], where: SharedCacheAddress) -> Carrier:
    from fabric.remote.store_carrier import StoreCarrier

    try:
        return StoreCarrier(_open_backend(kind, settings, where))
    except FabricError as error:
        raise CarrierRefusedError(f"{error.first.message}: {error.first.hint}") from error


def _open_backend(
    kind: BackendKind, settings: Mapping[str, str], where: SharedCacheAddress
) -> "Backend":
    """Open a backend without resolving lost replies, which would read back every existing pack."""
    from fabric.state.backends.registry import open_bare_backend

    home, most = where.folder / ".fabric", max(CAPS.values())
    return open_bare_backend(kind, settings, where.env.reveal(), home, most)
