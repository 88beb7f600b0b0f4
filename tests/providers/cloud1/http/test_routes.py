"""Routes that are led to a tunnel and back: whichever answer is lost, all is as it was."""

import itertools
from functools import partial
from typing import Any

import pytest

from fabric.model.problems import FabricError
from fabric.model.records.record import Diversion
from tests.support.cloud1_site import Cloud1Site, changing
from tests.support.orders import HTTP
from tests.support.service_site import BYE, LostAnswer, problems_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

TUNNEL = "https://name.example.net"


def routes(site: Cloud1Site) -> dict[str, str]:
    client = site.cloud1.client("apigatewayv2")
    (api,) = client.get_apis()["Items"]
    found = client.get_routes(ApiId=api["ApiId"])["Items"]
    return {one["RouteKey"]: one["Target"] for one in found}


def integrations(site: Cloud1Site) -> list[Any]:
    client = site.cloud1.client("apigatewayv2")
    (api,) = client.get_apis()["Items"]
    return list(client.get_integrations(ApiId=api["ApiId"])["Items"])


def diversion(site: Cloud1Site) -> Diversion:
    found = site.deployer.diversion(site.address(site.record), TUNNEL, "m1")
    assert found
    return found


def up(site: Cloud1Site, *, force: bool = False) -> None:
    site.up(site.order("hello", HTTP), site.order("bye", BYE), force=force)


def there_and_back(site: Cloud1Site, way: Diversion) -> None:
    address = site.address(site.record)
    site.deployer.divert(address, way)
    site.deployer.turn_back(address, way)


def test_all_routes_are_diverted_to_one_address_and_restored(site: Cloud1Site) -> None:
    up(site)
    before, address = routes(site), site.address(site.record)
    way = diversion(site)
    site.reset()
    assert site.deployer.divert(address, way) == ["GET /bye", "GET /hello"]
    assert changing(site.cloud1) == {
        "apigatewayv2.CreateIntegration": 1,
        "apigatewayv2.UpdateRoute": 2,
    }
    (target,) = set(routes(site).values())
    (ours,) = (one for one in integrations(site) if one["IntegrationType"] == "HTTP_PROXY")
    assert (target, ours["IntegrationUri"]) == (f"integrations/{ours['IntegrationId']}", TUNNEL)
    assert site.deployer.turn_back(address, way) == []
    assert routes(site) == before
    assert len(integrations(site)) == 2
    assert site.deployer.turn_back(address, way) == []


@pytest.mark.parametrize("way_of_loss", list(LostAnswer))
def test_whichever_answer_is_lost_all_can_be_turned_back(
    site: Cloud1Site, way_of_loss: LostAnswer
) -> None:
    up(site)
    before, address = routes(site), site.address(site.record)
    site.gives_up = True
    for skip in itertools.count():
        way = diversion(site)
        site.reset()
        site.lose(way_of_loss, skip)
        said = problems_of(partial(there_and_back, site, way))
        assert all(one.startswith("provider/unreachable") for one in said), said
        was_lost = site.has_lost()
        site.reset()
        site.deployer.turn_back(address, way)
        assert routes(site) == before, f"call {skip}"
        assert len(integrations(site)) == 2, f"call {skip}"
        if not was_lost:
            return


def test_a_service_without_routes_has_nothing_to_turn(site: Cloud1Site) -> None:
    site.up(site.order("hello"))
    assert site.deployer.diversion(site.address(site.record), TUNNEL, "m1") is None


def test_tunnel_of_another_machine_is_not_diverted(site: Cloud1Site) -> None:
    up(site)
    before, address = routes(site), site.address(site.record)
    way = diversion(site)
    site.deployer.divert(address, way)
    with pytest.raises(FabricError, match="the tunnel of another"):
        site.deployer.diversion(address, TUNNEL, "m2")
    site.deployer.turn_back(address, way)
    assert routes(site) == before


def test_resources_deleted_during_diversion_are_ignored(site: Cloud1Site) -> None:
    up(site)
    address, way = site.address(site.record), diversion(site)
    site.deployer.divert(address, way)
    client = site.cloud1.client("apigatewayv2")
    (api,) = client.get_apis()["Items"]
    (bye, *_) = client.get_routes(ApiId=api["ApiId"])["Items"]
    client.delete_route(ApiId=api["ApiId"], RouteId=bye["RouteId"])
    assert site.deployer.turn_back(address, way) == []
    assert len(integrations(site)) == 2
    client.delete_api(ApiId=api["ApiId"])
    assert not site.deployer.turn_back(address, way)


def test_api_invisible_to_other_credentials_is_not_treated_as_deleted(site: Cloud1Site) -> None:
    up(site)
    address, way = site.address(site.record), diversion(site)
    before = (*(pair for pair in way.before if pair[0] != "account"), ("account", "123456789012"))
    elsewhere = Diversion(
        way.url, way.mark, tuple((name, "gone" if name == "api" else text) for name, text in before)
    )
    with pytest.raises(FabricError) as raised:
        site.deployer.turn_back(address, elsewhere)
    assert raised.value.first.code == "dev/other-account"


def test_forced_deploy_removes_a_leftover_diversion(site: Cloud1Site) -> None:
    up(site)
    before, address = routes(site), site.address(site.record)
    site.deployer.divert(address, diversion(site))
    up(site, force=True)
    assert routes(site) == before
    assert len(integrations(site)) == 2
