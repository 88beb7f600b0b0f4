"""A service of its own at each provider that deploys it as a whole, one after the other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cloud3_site import Cloud3Site
from tests.support.host1_site import Host1Site
from tests.support.host2_site import Host2Site
from tests.support.host3_site import Host3Site
from tests.support.whole_site import WholeSite

_SITES: dict[str, type[WholeSite]] = {
    "host1": Host1Site,
    "host2": Host2Site,
    "host3": Host3Site,
    "cloud3": Cloud3Site,
}
# Their commands have schedules, which only some providers have.
_SCHEDULED = tuple(name for name, site in _SITES.items() if site.supports_schedules)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "site" in metafunc.fixturenames:
        names = _SCHEDULED if metafunc.module.__name__.endswith("commands") else tuple(_SITES)
        metafunc.parametrize("site", names, indirect=True)


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WholeSite]:
    server = request.getfixturevalue(request.param)
    made = _SITES[request.param](server, tmp_path)
    yield made
    made.close()
