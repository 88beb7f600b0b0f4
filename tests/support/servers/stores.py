"""Every kind of state store as tests meet it: a space of its own on a real server."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fabric.model.backends import BackendKind
from fabric.state.backends.registry import open_backend
from fabric.state.contract import Backend
from fabric.state.store import BackEndPair
from fabric.system.retry import Patience
from tests.support.servers.azurite import CONTAINER
from tests.support.servers.fleet import Fleet
from tests.support.servers.moto import BUCKET, KEYS
from tests.support.servers.process import free_port

IMPATIENT = Patience(tries=2, sleep=lambda _: None)


@dataclass(frozen=True)
class Space:
    """What a config and its environment say; `secrets` must never be shown."""

    kind: BackendKind
    home: Path
    settings: dict[str, str]
    env: dict[str, str]
    secrets: tuple[str, ...] = ()
    in_lock_table: bool = False

    def open(self) -> Backend:
        return self._one(open_backend(self.kind, self.settings, self.env, self.home))

    def open_impatiently(self) -> Backend:
        return self._one(open_backend(self.kind, self.settings, self.env, self.home, IMPATIENT))

    def with_env(self, **env: str) -> "Space":
        return replace(self, env={**self.env, **env})

    def _one(self, stores: BackEndPair) -> Backend:
        if not self.in_lock_table:
            return stores.state
        stores.state.close()
        return stores.locks


@dataclass(frozen=True)
class Store:
    """`lost`: the same store where nothing listens; `wrong`: with credentials that are wrong."""

    id: str
    space: Callable[[Fleet, Path], Space]
    lost: Callable[[Space], Space]
    wrong: Callable[[Fleet, Space], Space] | None = None


def _local(fleet: Fleet, folder: Path) -> Space:
    return Space(BackendKind.LOCAL, folder / ".fabric", {}, {})


def _local_lost(space: Space) -> Space:
    space.home.mkdir(exist_ok=True)
    (space.home / "state").write_text("a file where a folder should be")
    return space


def _sqlite(fleet: Fleet, folder: Path) -> Space:
    return Space(BackendKind.SQL, folder / ".fabric", {}, {})


def _sqlite_lost(space: Space) -> Space:
    (space.home / "state.db").mkdir(parents=True)
    return space


def _postgres(fleet: Fleet, folder: Path) -> Space:
    settings = {"sqlConnectionStringEnv": "MY_URL", "sqlTable": f"State_{uuid.uuid4().hex}"}
    env = {"MY_URL": fleet.postgres.url}
    return Space(BackendKind.SQL, folder, settings, env, (fleet.postgres.password, env["MY_URL"]))


def _postgres_lost(space: Space) -> Space:
    return space.with_env(MY_URL=f"postgresql://me:hush-hush@127.0.0.1:{free_port()}/db")


def _postgres_wrong(fleet: Fleet, space: Space) -> Space:
    url = fleet.postgres.url_with("wrong-secret")
    return replace(space.with_env(MY_URL=url), secrets=("wrong-secret",))


def _objstore1(fleet: Fleet, folder: Path) -> Space:
    settings = {"objstore1Bucket": BUCKET, "objstore1Prefix": f"{uuid.uuid4()}/"}
    env = {**KEYS, "OBJSTORE1_ENDPOINT_URL": fleet.moto.endpoint}
    secrets = (KEYS["CLOUD1_SECRET_ACCESS_KEY"],)
    return Space(BackendKind.OBJSTORE1, folder, settings, env, secrets)


def _lock_table(fleet: Fleet, folder: Path) -> Space:
    space = _objstore1(fleet, folder)
    settings = {**space.settings, "lockTable": f"locks-{uuid.uuid4()}"}
    return replace(space, settings=settings, in_lock_table=True)


def _objstore1_lost(space: Space) -> Space:
    return space.with_env(OBJSTORE1_ENDPOINT_URL=f"http://127.0.0.1:{free_port()}")


def _objstore2(fleet: Fleet, folder: Path) -> Space:
    settings = {"objstore2Bucket": fleet.gcs.bucket, "objstore2Prefix": str(uuid.uuid4())}
    env = {
        "OBJSTORE2_ACCESS_TOKEN": fleet.gcs.token,
        "OBJSTORE2_ENDPOINT_URL": fleet.gcs.endpoint,
    }
    return Space(BackendKind.OBJSTORE2, folder, settings, env, (fleet.gcs.token,))


def _objstore2_lost(space: Space) -> Space:
    return space.with_env(OBJSTORE2_ENDPOINT_URL=f"http://127.0.0.1:{free_port()}")


def _objstore2_wrong(fleet: Fleet, space: Space) -> Space:
    return replace(space.with_env(OBJSTORE2_ACCESS_TOKEN="wrong-secret"), secrets=("wrong-secret",))  # noqa: S106


def _objstore3(fleet: Fleet, folder: Path) -> Space:
    settings = {"objstore3Container": CONTAINER, "objstore3Prefix": f"/{uuid.uuid4()}/deep"}
    env = {
        "OBJSTORE3_ACCOUNT": fleet.azurite.name,
        "OBJSTORE3_KEY": fleet.azurite.key,
        "OBJSTORE3_ENDPOINT_URL": fleet.azurite.endpoint,
    }
    return Space(BackendKind.OBJSTORE3, folder, settings, env, (fleet.azurite.key,))


def _objstore3_lost(space: Space) -> Space:
    return space.with_env(OBJSTORE3_ENDPOINT_URL=f"http://127.0.0.1:{free_port()}")


def _objstore3_wrong(fleet: Fleet, space: Space) -> Space:
    key = "d3Jvbmctc2VjcmV0"
    return replace(space.with_env(OBJSTORE3_KEY=key), secrets=(key,))


LOCAL = Store("local", _local, _local_lost)
SQLITE = Store("sqlite", _sqlite, _sqlite_lost)
POSTGRES = Store("postgres", _postgres, _postgres_lost, _postgres_wrong)
OBJSTORE1 = Store("objstore1", _objstore1, _objstore1_lost)
LOCK_TABLE = Store("lock-table", _lock_table, _objstore1_lost)
OBJSTORE2 = Store("objstore2", _objstore2, _objstore2_lost, _objstore2_wrong)
OBJSTORE3 = Store("objstore3", _objstore3, _objstore3_lost, _objstore3_wrong)

_MARKS = {
    POSTGRES: (pytest.mark.slow,),
    OBJSTORE1: (pytest.mark.slow,),
    LOCK_TABLE: (pytest.mark.slow,),
    OBJSTORE3: (pytest.mark.slow, pytest.mark.network),
}


def parameters(*stores: Store) -> list[object]:
    """For `parametrize`; a store whose server takes a second to start is marked so."""
    return [pytest.param(store, id=store.id, marks=marks(store)) for store in stores]


def marks(store: Store) -> tuple[pytest.MarkDecorator, ...]:
    return _MARKS.get(store, ())


ALL = (LOCAL, SQLITE, POSTGRES, OBJSTORE1, LOCK_TABLE, OBJSTORE2, OBJSTORE3)
