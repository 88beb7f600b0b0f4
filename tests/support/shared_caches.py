"""Every kind of shared cache as tests meet it: a place of its own on a real server."""

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fabric.model.secrets.secret import Secret
from fabric.remote.contract import Carrier
from fabric.remote.opening import SharedCacheAddress, build_carrier_opener
from tests.support.servers import artifacts, nginx
from tests.support.servers.azurite import CONTAINER
from tests.support.servers.fleet import Fleet
from tests.support.servers.moto import BUCKET, KEYS

KEY = "a-key-that-only-the-tests-know-of-0123456789"


@dataclass(frozen=True)
class CachePlaceOfTests:
    """What the environment says. `keeps_conditions`: no writer loses another's part."""

    url: str
    token: str = ""
    team: str = ""
    more: Mapping[str, str] = field(default_factory=dict)
    keeps_conditions: bool = False

    @property
    def env(self) -> dict[str, str]:
        found = {
            "FABRIC_REMOTE_CACHE_URL": self.url,
            "FABRIC_REMOTE_CACHE_TOKEN": self.token,
            "FABRIC_REMOTE_CACHE_TEAM": self.team,
            "FABRIC_REMOTE_CACHE_KEY": KEY,
            # However slow this machine is just now: tests of the limit set their own.
            "FABRIC_REMOTE_CACHE_WAIT": "60s",
            **self.more,
        }
        return {name: value for name, value in found.items() if value}

    @property
    def writing(self) -> dict[str, str]:
        return {**self.env, "FABRIC_CACHE": "local:rw,remote:rw"}

    @contextlib.contextmanager
    def carrier(self, token: str | None = None) -> Iterator[Carrier]:
        said = self.token if token is None else token
        env = Secret[Mapping[str, str]](self.more)
        where = SharedCacheAddress(self.url, Secret(said or None), self.team, env, Path("/none"))
        with contextlib.closing(build_carrier_opener(where)()) as carrier:
            yield carrier


Makes = Callable[[Fleet], CachePlaceOfTests]


def on_turbo(fleet: Fleet) -> CachePlaceOfTests:
    url = f"turbo+{fleet.artifacts.address}"
    return CachePlaceOfTests(url, artifacts.TOKEN, f"team_{uuid.uuid4().hex}")


def on_nginx(fleet: Fleet) -> CachePlaceOfTests:
    return CachePlaceOfTests(f"{fleet.dav.address}/{uuid.uuid4().hex}", nginx.TOKEN)


def on_objstore1(fleet: Fleet) -> CachePlaceOfTests:
    more = {**KEYS, "OBJSTORE1_ENDPOINT_URL": fleet.moto.endpoint}
    url = f"objstore1://{BUCKET}/{uuid.uuid4().hex}"
    return CachePlaceOfTests(url, more=more, keeps_conditions=True)


def on_objstore2(fleet: Fleet) -> CachePlaceOfTests:
    more = {
        "OBJSTORE2_ACCESS_TOKEN": fleet.gcs.token,
        "OBJSTORE2_ENDPOINT_URL": fleet.gcs.endpoint,
    }
    url = f"objstore2://{fleet.gcs.bucket}/{uuid.uuid4().hex}"
    return CachePlaceOfTests(url, more=more, keeps_conditions=True)


def on_objstore3(fleet: Fleet) -> CachePlaceOfTests:
    more = {
        "OBJSTORE3_ACCOUNT": fleet.azurite.name,
        "OBJSTORE3_KEY": fleet.azurite.key,
        "OBJSTORE3_ENDPOINT_URL": fleet.azurite.endpoint,
    }
    url = f"objstore3://{CONTAINER}/{uuid.uuid4().hex}/deep"
    return CachePlaceOfTests(url, more=more, keeps_conditions=True)


ALL = [
    pytest.param(on_turbo, id="turbo", marks=pytest.mark.slow),
    pytest.param(on_nginx, id="nginx", marks=pytest.mark.slow),
    pytest.param(on_objstore1, id="objstore1", marks=pytest.mark.slow),
    pytest.param(on_objstore2, id="objstore2"),
    pytest.param(on_objstore3, id="objstore3", marks=(pytest.mark.slow, pytest.mark.network)),
]
