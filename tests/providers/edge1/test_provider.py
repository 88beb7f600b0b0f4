"""From the first deploy to the last removal: what users meet, and how often edge1 is asked."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.records.record import FunctionRecord
from fabric.providers.core.contract import FunctionOrder
from tests.support.edge1_site import Edge1Site
from tests.support.orders import HTTP, trigger

pytestmark = pytest.mark.slow

_BYE = trigger("http", method="GET", path="/bye/{name}")
_EVERY_HOUR = trigger("cron", schedule="rate(1 hour)")
_HELLO = "shop-dev-hello"


def both(site: Edge1Site, word: str = "one") -> Iterator[FunctionOrder]:
    yield site.order("hello", HTTP, _EVERY_HOUR, word=word)
    yield site.order("bye", _BYE, word="bye")


def calls_on(site: Edge1Site, worker: str) -> int:
    return sum(f"/scripts/{worker}" in f"{path}/" for _, path, _ in site.edge1.calls())


def test_users_meet_a_function_once_it_is_released(site: Edge1Site) -> None:
    site.deploy(site.order("hello", HTTP, _EVERY_HOUR))
    assert site.edge1.left() == {"workers": [_HELLO]}
    assert site.edge1.schedules(_HELLO) == []
    released = site.up(site.order("hello", HTTP, _EVERY_HOUR))
    assert site.said() == "one"
    assert site.edge1.schedules(_HELLO) == ["0 * * * *"]
    assert dict(released.outputs) == {
        "url": released.endpoint,
        "url_hello": f"{released.endpoint}/hello",
        "arn_hello": _HELLO,
    }


def test_a_first_deploy_is_four_calls_a_function_and_six_around_it(site: Edge1Site) -> None:
    site.up(*both(site))
    assert (calls_on(site, _HELLO + "/"), calls_on(site, "shop-dev-bye/")) == (4, 3)
    assert len(site.edge1.calls()) == 4 + 3 + 5


def test_new_version_receives_no_traffic_before_release(site: Edge1Site) -> None:
    site.up(*both(site))
    site.deploy(site.order("hello", HTTP, _EVERY_HOUR, word="two"))
    assert site.said() == "one"
    site.release(["hello", "bye"])
    assert site.said() == "two"


def test_another_code_is_three_calls(site: Edge1Site) -> None:
    site.up(*both(site))
    site.edge1.reset()
    site.deploy(site.order("hello", HTTP, _EVERY_HOUR, word="two"))
    site.release(["hello", "bye"])
    assert len(site.edge1.calls()) == 3, site.edge1.calls()


def test_environment_change_creates_a_new_version(site: Edge1Site) -> None:
    secret = site.order("hello", HTTP, MODE="-dark", WORD="hidden")
    site.up(replace(secret, secret=frozenset(["WORD"])))
    assert site.said() == "one-dark"
    kinds = {one["name"]: one["type"] for one in site.edge1.bindings(_HELLO)}
    assert kinds == {"MODE": "plain_text", "WORD": "secret_text"}


def test_removed_trigger_is_deleted_at_the_provider(site: Edge1Site) -> None:
    site.up(site.order("hello", HTTP, _EVERY_HOUR))
    site.up(site.order("hello", HTTP))
    assert site.edge1.schedules(_HELLO) == []
    site.up(site.order("hello"))
    assert site.edge1.left() == {"workers": [_HELLO]}


def test_rollback_to_an_existing_version_takes_two_calls(site: Edge1Site) -> None:
    site.up(*both(site))
    then = site.live("hello")
    site.up(*both(site, "two"))
    site.edge1.reset()
    order = replace(next(both(site)), version=then.resource_id)
    assert site.deploy(order)[0].resource_id == then.resource_id
    site.release(["hello", "bye"])
    assert site.said() == "one"
    assert len(site.edge1.calls()) == 2


def test_version_is_found_by_mark_before_and_after_release(site: Edge1Site) -> None:
    first = next(both(site))
    site.up(*both(site))
    site.deploy(site.order("hello", HTTP, word="two"))
    address = site.address(site.record)
    met = site.deployer.find(address, "hello")
    assert met is not None
    assert (met.artifact_sha256, met.mark) == (first.artifact.sha256, first.mark)
    second = site.deployer.find(address, "hello", site.order("hello", HTTP, word="two").mark)
    assert second is not None
    assert second.resource_id == site.live("hello").resource_id != met.resource_id
    assert site.deployer.find(address, "hello", "0" * 32) is None
    assert site.deployer.find(address, "none") is None


def test_forced_deploy_recreates_deleted_workers(site: Edge1Site) -> None:
    site.up(*both(site))
    for name in ("shop-dev", _HELLO):
        site.edge1.api(
            "DELETE", f"/accounts/{site.edge1.account}/workers/scripts/{name}?force=true"
        )
    site.up(*both(site), force=True)
    assert site.said() == "one"
    assert site.edge1.schedules(_HELLO) == ["0 * * * *"]


def test_forced_deploy_restores_a_moved_deployment(site: Edge1Site) -> None:
    site.up(*both(site))
    old = site.live("hello").resource_id.partition("@")[2]
    site.up(*both(site, "two"))
    path = f"/accounts/{site.edge1.account}/workers/scripts/{_HELLO}/deployments"
    versions = [{"version_id": old, "percentage": 100}]
    site.edge1.api("POST", path, {"strategy": "percentage", "versions": versions})
    assert site.said() == "one"
    site.up(*both(site, "two"), force=True)
    assert site.said() == "two"


def test_function_refused_as_foreign_does_not_block_removal(site: Edge1Site) -> None:
    other = Edge1Site(site.edge1, site.folder, service="shop-dev")
    other.up(other.order("hello"), other.order("x"))
    site.deploy(site.order("hello"))
    assert site.record is not None
    refused = FunctionRecord("dev-hello", "", "")
    site.record = replace(site.record, functions=(*site.record.functions, refused))
    site.dissolve()
    assert site.edge1.left() == {"workers": ["shop-dev-dev-hello", "shop-dev-dev-x"]}
    assert (
        "the Worker `shop-dev-dev-hello` does not belong to shop/dev/dev-hello and was not deleted"
        in (site.talk)
    )
    other.close()


def test_foreign_front_worker_does_not_block_removal(site: Edge1Site) -> None:
    other = Edge1Site(site.edge1, site.folder, service="sho")
    other.up(other.order("p-dev"))
    mine = Edge1Site(site.edge1, site.folder, service="sho-dev-p")
    mine.deploy(mine.order("hello", HTTP))
    with pytest.raises(FabricError) as raised:
        mine.release(["hello"])
    assert raised.value.first.code == "deploy/foreign"
    mine.dissolve()
    assert site.edge1.left() == {"workers": ["sho-dev-p-dev"]}
    assert any("`sho-dev-p-dev` does not belong to sho-dev-p/dev" in one for one in mine.talk)
    other.close()
    mine.close()


def test_a_gate_and_its_address_are_missed(site: Edge1Site) -> None:
    site.up(*both(site))
    scripts = f"/accounts/{site.edge1.account}/workers/scripts/shop-dev"

    def missing() -> list[str]:
        return list(site.deployer.missing(site.address(site.record), site.lives()))

    assert missing() == []
    site.edge1.api("POST", f"{scripts}/subdomain", {"enabled": False})
    assert site.record is not None
    assert missing() == [f"the address `{site.record.endpoint}` of the front Worker `shop-dev`"]
    site.edge1.api("DELETE", f"{scripts}?force=true")
    assert missing() == ["the front Worker `shop-dev`"]


def test_a_route_of_a_host_name_is_missed(site: Edge1Site) -> None:
    site.env = {"EDGE1_ZONE_ID": site.edge1.zone}
    site.extension = {"hostname": "shop.example.test"}
    site.up(*both(site))
    address = site.address(site.record)
    assert site.deployer.missing(address, ()) == ()
    routes = f"/zones/{site.edge1.zone}/workers/routes"
    (row,) = site.edge1.api("GET", routes)
    site.edge1.api("DELETE", f"{routes}/{row['id']}")
    assert len(site.deployer.missing(address, ())) == 1


def test_foreign_worker_is_not_modified(site: Edge1Site) -> None:
    other = Edge1Site(site.edge1, site.folder, service="shop-dev")
    other.up(other.order("x"))
    name = "shop-dev-dev-x"
    with pytest.raises(FabricError) as raised:
        site.deploy(site.order("dev-x", HTTP))
    assert raised.value.first.code == "deploy/foreign"
    assert f"`{name}`" in raised.value.first.message
    site.up(site.order("hello", HTTP))
    assert site.edge1.versions()[name] == 1
    other.close()
