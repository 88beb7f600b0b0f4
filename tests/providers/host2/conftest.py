"""A service in a site of its own at the server of host2 for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host2_site import Host2Site
from tests.support.servers.host2.client import Host2Server


@pytest.fixture
def site(host2: Host2Server, tmp_path: Path) -> Iterator[Host2Site]:
    made = Host2Site(host2, tmp_path)
    yield made
    made.close()
