"""Servers that the contract tests share: one fleet for each worker."""

from collections.abc import Iterator

import pytest

from tests.support.servers.fleet import Fleet


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with Fleet(tmp_path_factory.mktemp("servers")) as made:
        yield made
