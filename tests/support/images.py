"""Base images as values, read from a registry of the tests."""

import datetime

from fabric.system.registries.bases import BaseQuery, Bases
from fabric.system.registries.images import BaseImage
from fabric.system.registries.push import Registries
from tests.support.servers.docker_registry import QUICK

NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


def read_base(name: str) -> BaseImage:
    registries = Registries(lambda _: None, patience=QUICK)
    try:
        return Bases(None, registries, lambda: NOW).read(BaseQuery(name))
    finally:
        registries.close()
