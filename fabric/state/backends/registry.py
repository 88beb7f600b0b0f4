"""From the config's `backend` keys and the environment to open stores. Reaches none of them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from fabric.model.backends import BackendKind, back_end_facts
from fabric.model.distribution import Extra
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import Secret
from fabric.state.backends.failures import bad_url_error, import_extra, no_credentials_error
from fabric.state.backends.local import Local
from fabric.state.contract import Backend, MovedError, Stored, Version
from fabric.state.store import BackEndPair
from fabric.system.clock import SystemClock
from fabric.system.http.http_client import MOST_BYTES
from fabric.system.http.urls import is_plain
from fabric.system.retry import PATIENT, Patience

if TYPE_CHECKING:
    from fabric.state.backends.sql import Database
    from fabric.system.crypto.signed_tokens import Bearer
    from fabric.system.http.http_client import Http


_POSTGRES = ("postgresql", "postgres")


class _BackendRequest(Struct, frozen=True):
    """The settings of a store.

    With `most_bytes` an object store rejects larger objects.
    """

    settings: Mapping[str, str]
    env: Secret[Mapping[str, str]]
    # The project's `.fabric` directory.
    home: Path
    patience: Patience
    most_bytes: int = MOST_BYTES

    def setting(self, kind: BackendKind, key: str) -> str:
        """Return the setting from the config, or its default."""
        return self.settings.get(key) or dict(back_end_facts(kind).defaults)[key]

    def require_setting(self, key: str) -> str:
        if value := self.settings.get(key):
            return value
        problem = Problem(
            "config/backend-incomplete", f"`{key}` is required for this state backend"
        )
        raise FabricError(problem)


def open_backend(
    kind: BackendKind,
    settings: Mapping[str, str],
    env: Mapping[str, str],
    home: Path,
    patience: Patience = PATIENT,
) -> BackEndPair:
    """Open the stores of a config without connecting. The first call connects."""
    return _OPENERS[kind](_BackendRequest(settings, Secret(env), home, patience))


def list_backend_packages(
    kind: BackendKind, settings: Mapping[str, str], env: Mapping[str, str]
) -> tuple[str, ...]:
    """The optional packages that opening a store imports."""
    wish = _BackendRequest(settings, Secret(env), Path(), PATIENT)
    if kind is BackendKind.SQL and _parse_scheme(_read_database_url(wish)) in _POSTGRES:
        return ("psycopg",)
    return back_end_facts(kind).packages


def is_on_this_machine(
    kind: BackendKind, settings: Mapping[str, str], env: Mapping[str, str]
) -> bool:
    """Whether no other machine reads the store."""
    if kind is not BackendKind.SQL:
        return back_end_facts(kind).is_own_folder
    return (
        _parse_scheme(_read_database_url(_BackendRequest(settings, Secret(env), Path(), PATIENT)))
        not in _POSTGRES
    )


def open_bare_backend(
    kind: BackendKind,
    settings: Mapping[str, str],
    env: Mapping[str, str],
    home: Path,
    most_bytes: int,
) -> Backend:
    """Open the bare store, for content-addressed objects. Lost replies are not resolved and nothing
    is retried."""
    wish = _BackendRequest(settings, Secret(env), home, Patience(tries=1), most_bytes)
    state = _OPENERS[kind](wish).state
    return state.bare if isinstance(state, LostReplies) else state


# Each opener imports its own kind: a project has one, and the others cost as much to load.
def _open_local(wish: _BackendRequest) -> BackEndPair:
    return _pair_with_itself(Local(wish.home / "state"))


def _open_sql(wish: _BackendRequest) -> BackEndPair:
    from fabric.state.backends.sql import Sql

    return _pair_with_itself(Sql(_open_database(wish), wish.setting(BackendKind.SQL, "sqlTable")))


def _open_database(wish: _BackendRequest) -> "Database":
    name, url = _find_url_variable(wish), _read_database_url(wish)
    scheme = _parse_scheme(url)
    if scheme in _POSTGRES:
        from fabric.state.backends.postgres import Postgres

        return Postgres(url, name, wish.patience)
    if scheme in ("", "sqlite"):
        from fabric.state.backends.sqlite import Sqlite

        default = wish.home / "state.db"
        return Sqlite(_parse_sqlite_path(name, url, wish.home.parent) if url else default)
    raise bad_url_error(name, "must begin with `sqlite:`, `postgresql:` or `postgres:`")


def _find_url_variable(wish: _BackendRequest) -> str:
    return wish.setting(BackendKind.SQL, "sqlConnectionStringEnv")


def _read_database_url(wish: _BackendRequest) -> str:
    return wish.env.reveal().get(_find_url_variable(wish), "")


def _parse_scheme(url: str) -> str:
    return url.partition(":")[0].lower()


def _open_objstore1(wish: _BackendRequest) -> BackEndPair:
    from fabric.state.backends.cloud1 import read_store_account
    from fabric.state.backends.objstore1 import Objstore1

    bucket = wish.require_setting("objstore1Bucket")
    prefix = wish.settings.get("objstore1Prefix", "")
    keys = read_store_account(wish.env.reveal(), "S3")
    if keys.endpoint:
        _check_url("OBJSTORE1_ENDPOINT_URL", keys.endpoint)
    state = LostReplies(Objstore1(keys, bucket, prefix, wish.patience, wish.most_bytes))
    table = wish.settings.get("lockTable")
    if not table:
        return BackEndPair(state, state)
    from fabric.state.backends.objstore1 import LockTable

    keys = read_store_account(wish.env.reveal(), "DYNAMODB")
    return BackEndPair(
        state, LostReplies(LockTable(keys, table, f"{bucket}/{prefix}", wish.patience))
    )


def _open_objstore2(wish: _BackendRequest) -> BackEndPair:
    from fabric.state.backends.objstore2 import DEFAULT_ENDPOINT, Objstore2

    bucket = wish.require_setting("objstore2Bucket")
    endpoint = _check_url(
        "OBJSTORE2_ENDPOINT_URL",
        wish.env.reveal().get("OBJSTORE2_ENDPOINT_URL") or DEFAULT_ENDPOINT,
    )
    if is_plain(endpoint):
        raise bad_url_error(
            "OBJSTORE2_ENDPOINT_URL", "it uses plain HTTP, and a token would be sent unencrypted"
        )
    http = _open_http(wish)
    prefix = wish.settings.get("objstore2Prefix", "")
    return _pair_with_itself(Objstore2(http, _build_bearer(wish, http), endpoint, bucket, prefix))


def _build_bearer(wish: _BackendRequest, http: "Http") -> "Bearer":
    from fabric.state.backends.objstore2 import CREDENTIALS, ServiceAccount
    from fabric.system.crypto.signed_tokens import IssuedToken

    if token := wish.env.reveal().get("OBJSTORE2_ACCESS_TOKEN"):
        return IssuedToken(Secret(token))
    if file := wish.env.reveal().get("OBJSTORE2_CREDENTIALS_FILE"):
        return ServiceAccount(wish.home.parent / file, http, SystemClock())
    raise no_credentials_error("objstore2", CREDENTIALS)


def _open_objstore3(wish: _BackendRequest) -> BackEndPair:
    from fabric.state.backends.objstore3 import Objstore3, read_objstore3_account

    container = wish.require_setting("objstore3Container")
    owner = read_objstore3_account(wish.env.reveal())
    _check_url("OBJSTORE3_ENDPOINT_URL", owner.endpoint)
    prefix = wish.settings.get("objstore3Prefix", "")
    return _pair_with_itself(Objstore3(_open_http(wish), owner, SystemClock(), container, prefix))


_OPENERS: dict[BackendKind, Callable[[_BackendRequest], BackEndPair]] = {
    BackendKind.LOCAL: _open_local,
    BackendKind.SQL: _open_sql,
    BackendKind.OBJSTORE1: _open_objstore1,
    BackendKind.OBJSTORE2: _open_objstore2,
    BackendKind.OBJSTORE3: _open_objstore3,
}


def _pair_with_itself(backend: Backend) -> BackEndPair:
    settled = LostReplies(backend)
    return BackEndPair(settled, settled)


def _open_http(wish: _BackendRequest) -> "Http":
    from fabric.system.http.http_client import open_http

    with import_extra(Extra.CLOUD):
        return open_http(wish.patience, wish.most_bytes)


def _check_url(name: str, url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise bad_url_error(name, "not a URL") from error
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        raise bad_url_error(name, "must be `http(s)://host[:port]`, without a user")
    return url.rstrip("/")


def _parse_sqlite_path(name: str, url: str, folder: Path) -> Path:
    """Parse an SQLite URL. `sqlite:///file` is relative to the project, `sqlite:////file` is
    absolute."""
    parts = urlsplit(url)
    path = unquote(parts.path.removeprefix("/"))
    if parts.netloc or path in ("", ":memory:"):
        raise bad_url_error(name, "use `sqlite:///path` for a file")
    return folder / path


class LostReplies:
    """A backend that never reports a conflict with the caller's own write.

    If two callers write identical bytes, both can succeed. Callers that need one winner put a
    unique id into the content, as locks and states do.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def bare(self) -> Backend:
        """Return the wrapped backend, for contents that need no conflict resolution."""
        return self._backend

    @property
    def kind(self) -> str:
        return self._backend.kind

    @property
    def place(self) -> str:
        return self._backend.place

    def read(self, key: str) -> Stored | None:
        return self._backend.read(key)

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        try:
            return self._backend.write(key, content, expected)
        except MovedError:
            found = self._backend.read(key)
            # An old version with the same bytes is not ours: that write was told its version.
            if found is None or found.content != content or found.version == expected:
                raise
            return found.version

    def delete(self, key: str, expected: Version) -> None:
        self._backend.delete(key, expected)

    def list(self, prefix: str) -> tuple[str, ...]:
        return self._backend.list(prefix)

    def close(self) -> None:
        self._backend.close()
