"""A service in an app of its own at the server of host3 for each test."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from tests.support.host3_site import Host3Site
from tests.support.servers.host3.client import Host3Server


class UnscheduledSite(Host3Site):
    """Without a clock each version has one machine."""

    supports_schedules: ClassVar[bool] = False


@pytest.fixture
def site(host3: Host3Server, tmp_path: Path) -> Iterator[Host3Site]:
    made = UnscheduledSite(host3, tmp_path)
    yield made
    made.close()


@pytest.fixture
def clocked(host3: Host3Server, tmp_path: Path) -> Iterator[Host3Site]:
    made = Host3Site(host3, tmp_path)
    yield made
    made.close()
