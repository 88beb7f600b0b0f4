"""One server for each worker, and a project of its own for each test."""

from collections.abc import Iterator

import pytest

from tests.support.servers.host1.client import Host1Server
from tests.support.servers.host1.front import Host1Front, host1_front


@pytest.fixture(scope="session")
def host1_served() -> Iterator[Host1Front]:
    with host1_front() as front:
        yield front


@pytest.fixture
def host1(host1_served: Host1Front) -> Iterator[Host1Server]:
    project = Host1Server(host1_served)
    yield project
    project.forget()
