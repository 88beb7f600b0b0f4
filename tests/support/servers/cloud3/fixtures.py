"""One server for each worker, and a resource group of its own for each test."""

from collections.abc import Iterator

import pytest

from tests.support.servers.cloud3.client import Cloud3Server
from tests.support.servers.cloud3.front import Cloud3Front, cloud3_front


@pytest.fixture(scope="session")
def cloud3_served() -> Iterator[Cloud3Front]:
    with cloud3_front() as front:
        yield front


@pytest.fixture
def cloud3(cloud3_served: Cloud3Front) -> Iterator[Cloud3Server]:
    group = Cloud3Server(cloud3_served)
    yield group
    group.forget()
