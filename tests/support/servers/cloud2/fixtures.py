"""One server for each worker, and a project of its own for each test."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.cloud2.client import Cloud2Server
from tests.support.servers.cloud2.server import Cloud2World, cloud2_world


@pytest.fixture(scope="session")
def cloud2_endpoint() -> Iterator[Cloud2World]:
    with cloud2_world() as world:
        yield world


@pytest.fixture
def cloud2(cloud2_endpoint: Cloud2World, tmp_path: Path) -> Iterator[Cloud2Server]:
    ident = f"p-{uuid.uuid4().hex[:12]}"
    yield Cloud2Server(cloud2_endpoint.project(ident, tmp_path / "cloud2"))
    cloud2_endpoint.forget(ident)
