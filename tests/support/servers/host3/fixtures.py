"""One server for each worker, and an app of its own for each test."""

from collections.abc import Iterator

import pytest

from tests.support.servers.host3.client import Host3Server
from tests.support.servers.host3.front import Host3Front, host3_front


@pytest.fixture(scope="session")
def host3_served() -> Iterator[Host3Front]:
    with host3_front() as front:
        yield front


@pytest.fixture
def host3(host3_served: Host3Front) -> Iterator[Host3Server]:
    app = Host3Server(host3_served)
    yield app
    app.forget()
