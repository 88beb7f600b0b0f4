"""A service of its own at the server of cloud2 for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cloud2_site import Cloud2Site
from tests.support.servers.cloud2.client import Cloud2Server


@pytest.fixture
def site(cloud2: Cloud2Server, tmp_path: Path) -> Iterator[Cloud2Site]:
    made = Cloud2Site(cloud2, tmp_path)
    yield made
    made.close()
