"""From the config's `backend` keys and the environment to open stores. Reaches none of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fabric.config.values import BackendKind
from fabric.model.problems import FabricError, Problem
from fabric.state.backends import cloud1, shared_key, tokens
from fabric.state.backends.failures import bad_url, extra, no_credentials
from fabric.state.backends.local import Local
from fabric.state.backends.lock_table import LockTable
from fabric.state.backends.objstore1 import Objstore1
from fabric.state.backends.objstore2 import DEFAULT_ENDPOINT, Objstore2
from fabric.state.backends.objstore3 import Objstore3
from fabric.state.backends.postgres import Postgres
from fabric.state.backends.settled import Settled
from fabric.state.backends.sql import Sql
from fabric.state.backends.sqlite import Sqlite
from fabric.state.contract import Backend
from fabric.state.shelf import Stores
from fabric.system.clock import SystemClock
from fabric.system.http_client import Http, open_http
from fabric.system.retry import PATIENT, Patience

_SQL_URL = "FABRIC_STATE_SQL_URL"
_SQL_TABLE = "fabric_state"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a store is opened from. `home` is the project's `.fabric` folder."""

    settings: Mapping[str, str]
    env: Mapping[str, str] = field(repr=False)
    home: Path
    patience: Patience

    def needed(self, key: str) -> str:
        if value := self.settings.get(key):
            return value
        problem = Problem("config/backend-incomplete", f"the state back end needs `{key}`")
        raise FabricError(problem)

    def endpoint(self, name: str, default: str) -> str:
        return _checked(name, self.env.get(name) or default)


def open_backend(
    kind: BackendKind,
    settings: Mapping[str, str],
    env: Mapping[str, str],
    home: Path,
    patience: Patience = PATIENT,
) -> Stores:
    """The stores of a config; whether they can be reached shows on the first call."""
    return _OPENERS[kind](Wish(settings, env, home, patience))


def _local(wish: Wish) -> Stores:
    return _one(Local(wish.home / "state"))


def _sql(wish: Wish) -> Stores:
    name = wish.settings.get("sqlConnectionStringEnv") or _SQL_URL
    table = wish.settings.get("sqlTable") or _SQL_TABLE
    url = wish.env.get(name, "")
    if not url:
        return _one(Sql(Sqlite(wish.home / "state.db"), table))
    scheme = url.partition(":")[0].lower()
    if scheme == "sqlite":
        return _one(Sql(Sqlite(_sqlite_path(name, url, wish.home.parent)), table))
    if scheme in ("postgresql", "postgres"):
        return _one(Sql(Postgres(url, name, wish.patience), table))
    raise bad_url(name, "it begins with none of `sqlite:`, `postgresql:` and `postgres:`")


def _objstore1(wish: Wish) -> Stores:
    bucket = wish.needed("objstore1Bucket")
    prefix = wish.settings.get("objstore1Prefix", "")
    keys = cloud1.account(wish.env, "S3")
    state = Settled(Objstore1(keys, bucket, prefix, wish.patience))
    table = wish.settings.get("lockTable")
    if not table:
        return Stores(state, state)
    keys = cloud1.account(wish.env, "DYNAMODB")
    locks = LockTable(keys, table, f"{bucket}/{prefix}", wish.patience)
    return Stores(state, Settled(locks))


def _objstore2(wish: Wish) -> Stores:
    bucket = wish.needed("objstore2Bucket")
    endpoint = wish.endpoint("OBJSTORE2_ENDPOINT_URL", DEFAULT_ENDPOINT)
    http = _http(wish.patience)
    prefix = wish.settings.get("objstore2Prefix", "")
    return _one(Objstore2(http, _bearer(wish, http), endpoint, bucket, prefix))


def _bearer(wish: Wish, http: Http) -> tokens.Bearer:
    if token := wish.env.get("OBJSTORE2_ACCESS_TOKEN"):
        return tokens.GivenToken(token)
    if file := wish.env.get("OBJSTORE2_CREDENTIALS_FILE"):
        return tokens.ServiceAccount(wish.home.parent / file, http, SystemClock())
    raise no_credentials("objstore2", tokens.CREDENTIALS)


def _objstore3(wish: Wish) -> Stores:
    container = wish.needed("objstore3Container")
    account = shared_key.account(wish.env)
    _checked("OBJSTORE3_ENDPOINT_URL", account.endpoint)
    prefix = wish.settings.get("objstore3Prefix", "")
    return _one(Objstore3(_http(wish.patience), account, SystemClock(), container, prefix))


_OPENERS: dict[BackendKind, Callable[[Wish], Stores]] = {
    BackendKind.LOCAL: _local,
    BackendKind.SQL: _sql,
    BackendKind.OBJSTORE1: _objstore1,
    BackendKind.OBJSTORE2: _objstore2,
    BackendKind.OBJSTORE3: _objstore3,
}


def _one(backend: Backend) -> Stores:
    settled = Settled(backend)
    return Stores(settled, settled)


def _http(patience: Patience) -> Http:
    with extra("cloud"):
        return open_http(patience)


def _checked(name: str, url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        raise bad_url(name, "it has to be `http(s)://host[:port]`, without a user in it")
    return url.rstrip("/")


def _sqlite_path(name: str, url: str, folder: Path) -> Path:
    """`sqlite:///file` lies below the project, `sqlite:////file` at an absolute path."""
    parts = urlsplit(url)
    path = unquote(parts.path.removeprefix("/"))
    if parts.netloc or path in ("", ":memory:"):
        raise bad_url(name, "a file is named as `sqlite:///path`")
    return folder / path
