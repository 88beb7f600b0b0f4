"""One server for each worker, and a namespace of its own for each test."""

from collections.abc import Iterator

import pytest

from tests.support.servers.whisk.client import WhiskServer
from tests.support.servers.whisk.front import WhiskFront, whisk_front


@pytest.fixture(scope="session")
def whisk_served() -> Iterator[WhiskFront]:
    with whisk_front() as front:
        yield front


@pytest.fixture
def cloud6(whisk_served: WhiskFront) -> Iterator[WhiskServer]:
    server = WhiskServer(whisk_served)
    yield server
    server.forget()


@pytest.fixture
def cloud5(whisk_served: WhiskFront) -> Iterator[WhiskServer]:
    server = WhiskServer(whisk_served, is_hidden=True)
    yield server
    server.forget()
