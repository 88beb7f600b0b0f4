"""A service of its own at a strict cloud1 for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cloud1_site import Cloud1Site
from tests.support.servers.strict_cloud1.client import StrictCloud1


@pytest.fixture
def site(cloud1: StrictCloud1, tmp_path: Path) -> Iterator[Cloud1Site]:
    made = Cloud1Site(cloud1, tmp_path)
    yield made
    made.close()
