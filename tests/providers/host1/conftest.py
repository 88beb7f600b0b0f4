"""A service in a project of its own at the server of host1 for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host1_site import Host1Site
from tests.support.servers.host1.client import Host1Server


@pytest.fixture
def site(host1: Host1Server, tmp_path: Path) -> Iterator[Host1Site]:
    made = Host1Site(host1, tmp_path)
    yield made
    made.close()
