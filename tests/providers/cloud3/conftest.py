"""A service in a resource group of its own at the server of cloud3 for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cloud3_site import Cloud3Site
from tests.support.servers.cloud3.client import Cloud3Server


@pytest.fixture
def site(cloud3: Cloud3Server, tmp_path: Path) -> Iterator[Cloud3Site]:
    made = Cloud3Site(cloud3, tmp_path)
    yield made
    made.close()
