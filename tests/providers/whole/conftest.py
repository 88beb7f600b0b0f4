"""A service of its own at each provider that deploys it as a whole, one after the other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host1_site import Host1Site
from tests.support.host2_site import Host2Site
from tests.support.whole_site import WholeSite

_SITES: dict[str, type[WholeSite]] = {"host1": Host1Site, "host2": Host2Site}


@pytest.fixture(params=list(_SITES))
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WholeSite]:
    server = request.getfixturevalue(request.param)
    made = _SITES[request.param](server, tmp_path)
    yield made
    made.close()
