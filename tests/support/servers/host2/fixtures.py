"""One server for each worker, and a site of its own for each test."""

from collections.abc import Iterator

import pytest

from tests.support.servers.host2.client import Host2Server
from tests.support.servers.host2.front import Host2Front, host2_front


@pytest.fixture(scope="session")
def host2_served() -> Iterator[Host2Front]:
    with host2_front() as front:
        yield front


@pytest.fixture
def host2(host2_served: Host2Front) -> Iterator[Host2Server]:
    site = Host2Server(host2_served)
    yield site
    site.forget()
