"""A service of its own at the server of cloud6 for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.whisk.client import WhiskServer
from tests.support.whisk_site import WhiskSite


@pytest.fixture
def site(cloud6: WhiskServer, tmp_path: Path) -> Iterator[WhiskSite]:
    made = WhiskSite(cloud6, tmp_path)
    yield made
    made.close()
