"""A service of its own at the server of cloud5 for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.whisk.client import WhiskServer
from tests.support.whisk_site import Cloud5Site


@pytest.fixture
def site(cloud5: WhiskServer, tmp_path: Path) -> Iterator[Cloud5Site]:
    made = Cloud5Site(cloud5, tmp_path)
    yield made
    made.close()
