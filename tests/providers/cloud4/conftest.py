"""A service of its own at the server of cloud4 for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cloud4_site import Cloud4Site
from tests.support.servers.cloud4.client import Cloud4Server


@pytest.fixture
def site(cloud4: Cloud4Server, tmp_path: Path) -> Iterator[Cloud4Site]:
    made = Cloud4Site(cloud4, tmp_path)
    yield made
    made.close()
