"""What is special about a service that is one deploy of one site: calls, drafts, versions."""

import dataclasses

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.providers.core.contract import FunctionOrder
from tests.support.host2_site import Host2Site
from tests.support.orders import HTTP
from tests.support.service_site import BYE, EVERY_HOUR

pytestmark = pytest.mark.slow


def test_a_first_deploy_is_one_upload_a_function_and_seven_calls_around(site: Host2Site) -> None:
    site.up(site.order("hello", HTTP), site.order("bye", BYE))
    assert site.host2.changes() == {"POST": 2, "PUT": 2}
    assert len(site.host2.calls()) == 2 + 7


def test_only_changed_code_is_uploaded(site: Host2Site) -> None:
    site.up(site.order("hello", HTTP), site.order("bye", BYE))
    site.reset()
    site.up(site.order("hello", HTTP, word="two"), site.order("bye", BYE))
    assert site.host2.changes() == {"POST": 2, "PUT": 1}


def test_deploy_receives_no_traffic_before_release(site: Host2Site) -> None:
    site.up(*site.both())
    site.deploy(*site.both("two"))
    assert site.said() == "one"
    assert site.host2.deploys() == 2


def test_rollback_publishes_the_previous_deploy(site: Host2Site) -> None:
    site.up(*site.both())
    then = site.live("hello").resource_id
    site.up(*site.both("two"))
    site.reset()
    site.up(*(replace(one, version=then) for one in site.both()))
    assert site.live("hello").resource_id == then
    assert site.host2.changes() == {"POST": 1}
    assert len(site.host2.calls()) == 2 + 3
    assert site.said() == "one"


def test_a_service_that_is_as_it_was_released_is_looked_at_once(site: Host2Site) -> None:
    site.up(*site.both())
    site.reset()
    site.release(["hello", "bye"])
    assert (len(site.host2.calls()), site.changes()) == (1, 0)


def test_forced_deploy_replaces_a_foreign_publication(site: Host2Site) -> None:
    site.up(*site.both())
    old = site.live("hello").resource_id.split("/")[1]
    site.up(*site.both("two"))
    site.host2.api("POST", f"/sites/{site.host2.site.id}/deploys/{old}/restore")
    assert site.said() == "one"
    assert site.deployer.missing(site.address(site.record), ()) != ()
    site.up(*site.both("two"), force=True)
    assert site.said() == "two"
    assert site.deployer.missing(site.address(site.record), ()) == ()


def test_secret_variables_are_marked_as_secret(site: Host2Site) -> None:
    order = site.order("hello", HTTP, MODE="dark", WORD="hidden")
    site.up(replace(order, secret=frozenset(["WORD"])))
    assert site.host2.variables() == {"MODE": False, "WORD": True}
    (row,) = site.host2.site.deploys.values()
    scopes = {one["key"]: one["scopes"] for one in row.body["environment"]}
    assert scopes["WORD"] == ["builds", "functions", "runtime"]
    assert scopes["MODE"] == [*scopes["WORD"], "post-processing"]
    assert site.said() == "onedark"


def test_deploy_progress_is_reported(site: Host2Site) -> None:
    site.host2.slow(3)
    site.up(*site.both())
    assert any("is processing" in one for one in site.talk)
    assert any("receives all traffic" in one for one in site.talk)


def test_removal_leaves_an_empty_deploy_and_reports_it(site: Host2Site) -> None:
    site.up(*site.both())
    site.up(*site.both("two"))
    site.dissolve()
    assert site.host2.left() == {}
    assert site.said() == "404"
    assert any("it shows the empty deploy" in one for one in site.talk)
    assert "deleted 2 deploys of shop/dev" in site.talk


def test_removal_before_any_release_deletes_the_deploy(site: Host2Site) -> None:
    site.deploy(*site.both())
    site.dissolve()
    assert site.host2.left() == {}
    assert site.host2.site.published == ""


def test_a_site_of_a_removed_service_is_free_for_another(site: Host2Site) -> None:
    site.up(*site.both())
    site.dissolve()
    other = Host2Site(site.host2, site.folder, "other")
    other.up(other.order("bye", BYE, word="other"))
    assert other.said("/bye") == "other"
    other.close()


def test_foreign_site_is_not_modified(site: Host2Site) -> None:
    site.up(*site.both())
    before = site.host2.deploys()
    other = Host2Site(site.host2, site.folder, "other")
    with pytest.raises(FabricError) as raised:
        other.up(other.order("bye", BYE))
    assert raised.value.first.code == "deploy/foreign"
    assert "shop/dev" in raised.value.first.message
    assert site.host2.deploys() == before
    other.dissolve()
    assert site.said() == "one"
    assert any("does not belong to other/dev" in one for one in other.talk)
    other.close()


def test_manually_published_deploy_is_not_replaced(site: Host2Site) -> None:
    path = f"/sites/{site.host2.site.id}/deploys"
    site.host2.api("POST", path, {"files": {}, "functions": {}})
    with pytest.raises(FabricError) as raised:
        site.up(*site.both())
    assert raised.value.first.code == "deploy/foreign"
    assert "without a title" in raised.value.first.message
    assert site.host2.changes() == {"POST": 1}


def test_under_another_site_nothing_is_changed(site: Host2Site) -> None:
    site.up(*site.both())
    other = site.beside("shop")
    assert isinstance(other, Host2Site)
    site.env = other.host2.environment
    for change in (lambda: site.up(*site.both("two")), site.dissolve):
        with pytest.raises(FabricError) as raised:
            change()
        assert raised.value.first.code == "deploy/other-place"
        assert site.host2.site.id in raised.value.first.hint
    assert other.host2.calls() == []
    other.close()


def test_functions_of_two_deploys_are_not_released(site: Host2Site) -> None:
    site.up(*site.both())
    site.deploy(site.order("hello", HTTP, EVERY_HOUR, word="two"))
    with pytest.raises(FabricError) as raised:
        site.release(["hello", "bye"])
    assert raised.value.first.code == "deploy/incomplete"
    assert site.said() == "one"


def test_more_deploys_than_a_page_has_are_all_removed(site: Host2Site) -> None:
    site.up(*site.both())
    (row,) = site.host2.site.deploys.values()
    for number in range(250):
        copy = dataclasses.replace(row, id=f"{number:024d}")
        site.host2.site.deploys[copy.id] = copy
    site.dissolve()
    assert site.host2.left() == {}


def test_deleted_deploy_is_not_rebuilt_by_a_version_only_rollback(site: Host2Site) -> None:
    site.up(*site.both())
    then = site.live("hello").resource_id
    site.up(*site.both("two"))
    site.lose_version(replace(site.live("hello"), resource_id=then))
    site.reset()
    back = [replace(one, version=then, only_version=True) for one in site.both()]
    with pytest.raises(FabricError) as raised:
        site.deploy(*back)
    assert raised.value.first.code == "rollback/version-gone"
    assert site.changes() == 0


def test_functions_that_were_in_many_deploys_go_back_to_the_one_they_share(
    site: Host2Site,
) -> None:
    hello, bye = site.both()
    site.up(hello, bye)
    then = site.live("hello").resource_id
    site.up(site.order("hello", HTTP, word="two"), bye)
    site.up(hello, site.order("bye", BYE, word="late"))
    found = site.deployer.find_versions(site.address(), dict(marks(hello, bye)))
    versions = [found[one.name] for one in (hello, bye)]
    assert len(set(versions)) == 2
    orders = zip((hello, bye), versions, strict=True)
    back = [replace(one, version=version, only_version=True) for one, version in orders]
    assert {one.resource_id for one in site.deploy(*back)} == {then}


def marks(*orders: FunctionOrder) -> list[tuple[str, str]]:
    return [(one.name, one.mark) for one in orders]
