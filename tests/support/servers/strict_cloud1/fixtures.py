"""One server for each worker, and an account of its own for each test."""

from collections.abc import Iterator

import pytest

from tests.support.servers.strict_cloud1.client import StrictCloud1, strict_server


@pytest.fixture(scope="session")
def strict_cloud1_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with strict_server(tmp_path_factory.mktemp("strict-cloud1")) as endpoint:
        yield endpoint


@pytest.fixture
def cloud1(strict_cloud1_server: str) -> Iterator[StrictCloud1]:
    account = StrictCloud1(strict_cloud1_server)
    yield account
    account.forget()
    account.close()
