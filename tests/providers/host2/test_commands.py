"""The command line over all of it: what a user does in a day, and how often host2 is asked."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host2_site import Host2Site
from tests.support.in_process import project
from tests.support.provider_shop import EVERY_HOUR, ProviderShop
from tests.support.servers.host2.client import Host2Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


class SiteShop(ProviderShop):
    @property
    def host2(self) -> Host2Server:
        assert isinstance(self.site, Host2Site)
        return self.site.host2

    def ran(self, *words: str) -> int:
        """How many calls a success took."""
        super().ran(*words)
        return len(self.host2.calls())


@pytest.fixture
def shop(host2: Host2Server, tmp_path: Path) -> Iterator[SiteShop]:
    made = SiteShop(Host2Site(host2, tmp_path), project(tmp_path / "project", sources={}))
    made.has("hello", "one", EVERY_HOUR)
    made.has("bye", "bye")
    yield made
    made.site.close()


def test_a_day_of_a_service(shop: SiteShop) -> None:
    plan = shop.run("plan")
    assert plan.code == 0, plan.out
    assert shop.host2.calls() == []
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    assert shop.ran("deploy") == 0
    shop.has("hello", "two", EVERY_HOUR)
    # The function, and the one beside it that the clock calls.
    assert (shop.ran("deploy"), shop.said("hello")) == (2 + 7, "two")
    done = shop.run("invoke", "run", "--function", "hello")
    assert done.result["response"] == "two"
    assert (shop.ran("rollback"), shop.said("hello")) == (5, "one")
    shop.ran("remove", "--yes")
    assert shop.host2.left() == {}
    assert shop.run("remove", "--yes").code == 0


def test_many_functions_are_one_upload_each(shop: SiteShop) -> None:
    shop.functions = {}
    for number in range(12):
        shop.has(f"f{number}", str(number))
    assert shop.ran("deploy") == 12 + 7
    shop.has("f7", "other")
    assert (shop.ran("deploy"), shop.said("f7"), shop.said("f0")) == (1 + 7, "other", "0")


def test_many_functions_roll_back_to_values_unknown_locally(shop: SiteShop) -> None:
    """A title has no room for the marks of so many: the record has noted which deploy it was."""
    shop.functions = {}
    for number in range(25):
        shop.has(f"f{number}", str(number))
    for mood in ("glad", "sad"):
        shop.more = f"env: {{MOOD: {mood}}}\n"
        shop.ran("deploy")
    assert shop.said("f3") == "3sad"
    shop.ran("rollback")
    assert shop.said("f3") == "3glad"
    shop.has("f3", "new")
    shop.more = "env: {MOOD: mad}\n"
    shop.ran("deploy")
    check = "{enabled: true, url: /nothing-here}"
    shop.more = f"env: {{MOOD: bad}}\ndeploy: {{rollbackOnFailure: true, healthCheck: {check}}}\n"
    assert shop.run("deploy").code == 1
    assert shop.said("f3") == "newmad"


def test_rollback_ignores_wrapper_changes(shop: SiteShop) -> None:
    for mood in ("glad", "sad"):
        shop.more = f"env: {{MOOD: {mood}}}\n"
        shop.ran("deploy")
    first, row = next(iter(shop.host2.site.deploys.items()))
    words = str(row.title).split(" ")
    words[2] = "0" * len(words[2])
    shop.host2.site.deploys[first] = dataclasses.replace(row, title=" ".join(words))
    shop.ran("rollback")
    assert shop.said("hello") == "oneglad"


def test_rollback_checks_the_published_deploy(shop: SiteShop) -> None:
    shop.ran("deploy")
    first = shop.host2.site.published
    shop.has("hello", "two", EVERY_HOUR)
    shop.ran("deploy")
    shop.ran("deploy", "--force")
    shop.host2.api("POST", f"/sites/{shop.host2.site.id}/deploys/{first}/restore")
    assert shop.said("hello") == "one"
    shop.ran("rollback")
    assert shop.said("hello") == "two"
