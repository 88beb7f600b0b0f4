"""A service of its own at the server of edge1 for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.edge1_site import Edge1Site
from tests.support.servers.edge1.client import Edge1Server


@pytest.fixture
def site(edge1: Edge1Server, tmp_path: Path) -> Iterator[Edge1Site]:
    made = Edge1Site(edge1, tmp_path)
    yield made
    made.close()
