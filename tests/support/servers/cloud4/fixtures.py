"""One server for each worker, and an account of its own for each test."""

from collections.abc import Iterator

import pytest

from tests.support.servers.cloud4.client import Cloud4Server
from tests.support.servers.cloud4.front import Cloud4Front, cloud4_front


@pytest.fixture(scope="session")
def cloud4_served() -> Iterator[Cloud4Front]:
    with cloud4_front() as front:
        yield front


@pytest.fixture
def cloud4(cloud4_served: Cloud4Front) -> Iterator[Cloud4Server]:
    server = Cloud4Server(cloud4_served)
    yield server
    server.forget()
