"""One server for each worker, and an account of its own for each test."""

from collections.abc import Iterator

import pytest

from tests.support.servers.edge1.client import Edge1Server, edge1_server


@pytest.fixture(scope="session")
def edge1_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with edge1_server(tmp_path_factory.mktemp("edge1")) as endpoint:
        yield endpoint


@pytest.fixture
def edge1(edge1_endpoint: str) -> Iterator[Edge1Server]:
    account = Edge1Server(edge1_endpoint)
    account.reset()
    yield account
    account.forget()
