"""A service in an app of its own at the server of host3 for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host3_site import Host3Site
from tests.support.servers.host3.client import Host3Server


@pytest.fixture
def site(host3: Host3Server, tmp_path: Path) -> Iterator[Host3Site]:
    made = Host3Site(host3, tmp_path)
    yield made
    made.close()
