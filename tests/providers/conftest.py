"""A service of its own at every provider that fabric deploys to itself, one after the other."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric.providers.registry import REAL_PROVIDERS
from tests.support.cloud1_site import Cloud1Site
from tests.support.cloud2_site import Cloud2Site
from tests.support.cloud3_site import Cloud3Site
from tests.support.cloud4_site import Cloud4Site
from tests.support.cluster_site import ClusterSite
from tests.support.edge1_site import Edge1Site
from tests.support.host1_site import Host1Site
from tests.support.host2_site import Host2Site
from tests.support.host3_site import Host3Site
from tests.support.service_site import ServiceSite
from tests.support.whisk_site import Cloud5Site, WhiskSite

# By the fixture that gives its server.
_SITES: dict[str, Callable[[Any, Path], ServiceSite]] = {
    "cloud1": Cloud1Site,
    "cloud2": Cloud2Site,
    "cloud3": Cloud3Site,
    "cloud4": Cloud4Site,
    "edge1": Edge1Site,
    "cluster": ClusterSite,
    "host1": Host1Site,
    "host2": Host2Site,
    "host3": Host3Site,
    "cloud5": Cloud5Site,
    "cloud6": WhiskSite,
}


@pytest.fixture(params=REAL_PROVIDERS)
def any_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServiceSite]:
    provider = str(request.param).partition("-")[0]
    made = _SITES[provider](request.getfixturevalue(provider), tmp_path)
    yield made
    made.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Rules that hold at any provider: a run of all tests samples the providers."""
    for item in items:
        if "any_site" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.sampled)
