"""The command line at both who run OpenWhisk: what is special there beside what holds at every
provider."""

from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.provider_shop import EVERY_DAY, EVERY_HOUR, ProviderShop
from tests.support.servers.whisk.client import WhiskServer
from tests.support.whisk_site import Cloud5Site, WhiskSite

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


@pytest.fixture(params=["cloud6", "cloud5"])
def server(request: pytest.FixtureRequest) -> WhiskServer:
    found: WhiskServer = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def shop(request: pytest.FixtureRequest, server: WhiskServer, tmp_path: Path) -> ProviderShop:
    kind = Cloud5Site if "cloud5" in request.node.name else WhiskSite
    made = ProviderShop(kind(server, tmp_path), project(tmp_path / "project", sources={}))
    made.has("hello", "one", EVERY_HOUR)
    made.has("bye", "bye")
    return made


def test_a_change_takes_a_call_for_its_version_and_one_for_who_is_met(shop: ProviderShop) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", EVERY_HOUR)
    assert (shop.ran("deploy"), shop.said("hello")) == (2, "two")
    assert (shop.ran("rollback"), shop.said("hello")) == (1, "one")


def test_each_function_has_an_address_of_its_own(shop: ProviderShop, server: WhiskServer) -> None:
    shop.ran("deploy")
    outputs = shop.run("outputs").result["services"][0]["outputs"]
    assert outputs["url_hello"] == server.url("shop-dev", "hello") + "/hello"
    assert outputs["url_bye"] == server.url("shop-dev", "bye") + "/bye"
    assert "url" not in outputs


def test_a_way_back_takes_clocks_along(shop: ProviderShop, server: WhiskServer) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", EVERY_DAY, path="/greet")
    shop.ran("deploy")
    assert server.schedules() == ["0 0 * * *"]
    shop.ran("rollback")
    assert server.schedules() == ["0 * * * *"]


def test_a_release_that_breaks_off_leaves_clocks_as_they_were(
    shop: ProviderShop, server: WhiskServer
) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", EVERY_DAY)
    shop.site.refuse_release()
    assert shop.run("deploy", "--rollback-on-failure").code != 0
    assert server.schedules() == ["0 * * * *"]


def test_reconcile_misses_a_clock(shop: ProviderShop, server: WhiskServer) -> None:
    shop.ran("deploy")
    server.space.triggers.clear()
    server.space.schedules.clear()
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "missing"
    assert "the trigger `shop-dev-hello-" in entry["detail"]


def test_what_cannot_be_done_is_told_at_plan_with_its_place(
    shop: ProviderShop, server: WhiskServer
) -> None:
    shop.has("hello", "one", "{type: cron, schedule: rate(7 minutes)}")
    done = shop.run("plan")
    (problem,) = done.error["problems"]
    assert problem["code"] == "config/unfit"
    assert "rate(7 minutes)" in problem["message"]
    assert (problem["where"]["line"], done.code) == (4, 65)
    assert server.calls() == []
