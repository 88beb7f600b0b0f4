"""The command line over all of it: what a user does in a day, and how often host1 is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host1_site import Host1Site
from tests.support.in_process import project
from tests.support.provider_shop import EVERY_HOUR, ProviderShop
from tests.support.servers.host1.client import Host1Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


class HostShop(ProviderShop):
    @property
    def host1(self) -> Host1Server:
        assert isinstance(self.site, Host1Site)
        return self.site.host1

    def ran(self, *words: str) -> int:
        """How many calls a success took."""
        super().ran(*words)
        return len(self.host1.calls())


@pytest.fixture
def shop(host1: Host1Server, tmp_path: Path) -> Iterator[HostShop]:
    made = HostShop(Host1Site(host1, tmp_path), project(tmp_path / "project", sources={}))
    made.has("hello", "one", EVERY_HOUR)
    made.has("bye", "bye")
    yield made
    made.site.close()


def test_a_day_of_a_service(shop: HostShop) -> None:
    plan = shop.run("plan")
    assert plan.code == 0, plan.out
    assert shop.host1.calls() == []
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    assert shop.ran("deploy") == 0
    shop.has("hello", "two", EVERY_HOUR)
    # Its code, its clock's path, and where that leads.
    assert (shop.ran("deploy"), shop.said("hello")) == (3 + 11, "two")
    done = shop.run("invoke", "run", "--function", "hello")
    assert done.result["response"] == "two"
    assert (shop.ran("rollback"), shop.said("hello")) == (8, "one")
    shop.ran("remove", "--yes")
    assert shop.host1.left() == {}
    assert shop.run("remove", "--yes").code == 0


def test_functions_share_uploaded_wrapper_files(shop: HostShop) -> None:
    shop.functions = {}
    for number in range(12):
        shop.has(f"f{number}", str(number))
    shop.ran("deploy")
    project = shop.host1.project
    (row,) = project.deployments.values()
    assert len(project.blobs) < len(row.files) / 5
    shop.has("f7", "other")
    assert (shop.ran("deploy"), shop.said("f7"), shop.said("f0")) == (1 + 11, "other", "0")
