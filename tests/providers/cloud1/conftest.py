"""A service of its own at a strict cloud1 for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cloud1_site import Cloud1Site
from tests.support.http_apis import import_certificate
from tests.support.servers.strict_cloud1.client import StrictCloud1


@pytest.fixture
def site(cloud1: StrictCloud1, tmp_path: Path) -> Iterator[Cloud1Site]:
    made = Cloud1Site(cloud1, tmp_path)
    yield made
    made.close()


@pytest.fixture
def certificate(cloud1: StrictCloud1) -> str:
    """The ARN of a certificate that is issued."""
    return import_certificate(cloud1)


@pytest.fixture
def zone(cloud1: StrictCloud1) -> str:
    made = cloud1.client("route53").create_hosted_zone(Name="shop.example", CallerReference="1")
    return str(made["HostedZone"]["Id"].rpartition("/")[2])
