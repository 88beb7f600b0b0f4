"""A gate that is led to a tunnel and back: whichever answer is lost, all is as it was."""

import itertools
from functools import partial

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.records.record import Diversion
from tests.support.edge1_site import Edge1Site
from tests.support.orders import HTTP, trigger
from tests.support.servers.process import free_port
from tests.support.service_site import BYE, LostAnswer, problems_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def up(site: Edge1Site, *, force: bool = False) -> None:
    site.up(site.order("hello", HTTP), site.order("bye", BYE), force=force)


def diversion(site: Edge1Site, mark: str = "m1") -> Diversion:
    url = f"http://127.0.0.1:{free_port()}"  # nobody is there
    found = site.deployer.diversion(site.address(site.record), url, mark)
    assert found
    return found


def there_and_back(site: Edge1Site, way: Diversion) -> None:
    address = site.address(site.record)
    site.deployer.divert(address, way)
    site.deployer.turn_back(address, way)


def test_diverting_the_front_worker_takes_two_calls_and_restoring_one(site: Edge1Site) -> None:
    up(site)
    address, way = site.address(site.record), diversion(site)
    site.reset()
    assert site.deployer.divert(address, way) == ("GET /bye", "GET /hello")
    assert site.changes() == 2
    assert (site.said("/hello"), site.said("/none")) == ("503", "404")
    site.reset()
    assert not site.deployer.turn_back(address, way)
    assert site.changes() == 1
    assert (site.said("/hello"), site.said("/bye")) == ("one", "one")
    assert not site.deployer.turn_back(address, way)


@pytest.mark.parametrize("way_of_loss", list(LostAnswer))
def test_whichever_answer_is_lost_all_can_be_turned_back(
    site: Edge1Site, way_of_loss: LostAnswer
) -> None:
    up(site)
    address = site.address(site.record)
    site.gives_up = True
    for skip in itertools.count():
        way = diversion(site, f"m{skip}")
        site.reset()
        site.lose(way_of_loss, skip)
        said = problems_of(partial(there_and_back, site, way))
        assert all(one.startswith("provider/unreachable") for one in said), said
        was_lost = site.has_lost()
        site.reset()
        assert not site.deployer.turn_back(address, way)
        assert (site.said("/hello"), site.said("/bye")) == ("one", "one"), f"call {skip}"
        if not was_lost:
            return


def test_a_service_without_routes_has_nothing_to_turn(site: Edge1Site) -> None:
    site.up(site.order("hello", trigger("cron", schedule="rate(1 hour)")))
    address = site.address(site.record)
    assert site.deployer.diversion(address, "https://name.example.net", "m1") is None


def test_tunnel_of_another_machine_is_refused_and_ended_by_a_forced_deploy(
    site: Edge1Site,
) -> None:
    up(site)
    site.deployer.divert(site.address(site.record), diversion(site))
    with pytest.raises(FabricError, match="the tunnel of another"):
        diversion(site, "m2")
    up(site, force=True)
    assert site.said("/hello") == "one"


def test_front_worker_redeployed_during_diversion_is_not_restored(site: Edge1Site) -> None:
    up(site)
    address, way = site.address(site.record), diversion(site)
    site.deployer.divert(address, way)
    site.up(site.order("hello", HTTP), force=True)
    assert site.deployer.turn_back(address, way) == ("all routes of the front Worker `shop-dev`",)
    assert (site.said("/hello"), site.said("/bye")) == ("one", "404")


def test_front_worker_invisible_to_other_credentials_is_not_treated_as_deleted(
    site: Edge1Site,
) -> None:
    up(site)
    address, way = site.address(site.record), diversion(site)
    before = (*(one for one in way.before if one[0] != "account"), ("account", "another"))
    with pytest.raises(FabricError) as raised:
        site.deployer.turn_back(address, replace(way, before=before))
    assert raised.value.first.code == "dev/other-account"


def test_a_gate_that_was_deleted_meanwhile_is_nobodys_trouble(site: Edge1Site) -> None:
    up(site)
    address, way = site.address(site.record), diversion(site)
    site.deployer.divert(address, way)
    place = f"/accounts/{site.edge1.account}/workers/scripts/shop-dev"
    site.edge1.api("DELETE", f"{place}?force=true")
    assert not site.deployer.turn_back(address, way)
