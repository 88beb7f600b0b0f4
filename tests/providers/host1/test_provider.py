"""What is special about a service that is one deployment of one project: calls, domains,
ways back."""

import dataclasses

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from tests.support.host1_site import Host1Site
from tests.support.orders import HTTP
from tests.support.service_site import BYE, EVERY_HOUR

pytestmark = pytest.mark.slow


def test_a_first_deploy_brings_each_file_once(site: Host1Site) -> None:
    site.up(site.order("hello", HTTP), site.order("bye", BYE))
    files = len(site.host1.project.blobs)
    assert site.host1.changes() == {"POST": files + 3}
    assert len(site.host1.calls()) == files + 3 + 9


def test_only_changed_code_is_uploaded(site: Host1Site) -> None:
    site.up(site.order("hello", HTTP), site.order("bye", BYE))
    site.reset()
    site.up(site.order("hello", HTTP, word="two"), site.order("bye", BYE))
    uploads = [path for _, path, _ in site.host1.calls() if path == "/v2/files"]
    assert len(uploads) == 1
    assert site.said() == "two"


def test_deploy_receives_no_traffic_before_release(site: Host1Site) -> None:
    site.up(*site.both())
    site.deploy(*site.both("two"))
    assert site.said() == "one"
    assert site.host1.deployments() == 2


def test_rollback_routes_domains_to_the_previous_deployment(site: Host1Site) -> None:
    site.up(*site.both())
    then = site.live("hello").resource_id
    site.up(*site.both("two"))
    site.reset()
    site.up(*(replace(one, version=then) for one in site.both()))
    assert site.live("hello").resource_id == then
    assert site.host1.changes() == {"POST": 1}
    assert "/rollback/" in next(path for verb, path, _ in site.host1.calls() if verb == "POST")
    assert len(site.host1.calls()) == 4 + 4
    assert site.said() == "one"


def test_rollback_promotes_if_the_plan_has_no_rollback_api(site: Host1Site) -> None:
    site.up(*site.both())
    then = site.live("hello").resource_id
    site.up(*site.both("two"))
    site.host1.project.is_small_plan = True
    site.up(*(replace(one, version=then) for one in site.both()))
    assert (site.live("hello").resource_id, site.said()) == (then, "one")


def test_version_only_rollback_ignores_wrapper_changes(site: Host1Site) -> None:
    site.up(*site.both())
    then = site.live("hello").resource_id
    row = site.host1.project.deployments[then.split("/")[1]]
    row.body["meta"]["fabricMark"] = "0" * 32
    site.up(*site.both("two"))
    site.up(*(replace(one, version=then, only_version=True) for one in site.both()))
    assert (site.live("hello").resource_id, site.said()) == (then, "one")


def test_a_service_that_is_as_it_was_released_is_looked_at_once(site: Host1Site) -> None:
    site.up(*site.both())
    site.reset()
    site.release(["hello", "bye"])
    assert (len(site.host1.calls()), site.changes()) == (1, 0)


def test_forced_deploy_replaces_a_foreign_promotion(site: Host1Site) -> None:
    site.up(*site.both())
    old = site.live("hello").resource_id.split("/")[1]
    site.up(*site.both("two"))
    site.host1.api("POST", f"/v1/projects/{site.host1.project.id}/rollback/{old}")
    assert site.said() == "one"
    assert site.deployer.missing(site.address(site.record), ()) != ()
    site.up(*site.both("two"), force=True)
    assert site.said() == "two"
    assert site.deployer.missing(site.address(site.record), ()) == ()


def test_values_of_variables_are_in_no_file_and_no_metadata(site: Host1Site) -> None:
    order = site.order("hello", HTTP, MODE="-dark", WORD="a-hidden-word")
    site.up(replace(order, secret=frozenset(["WORD"])))
    project = site.host1.project
    assert not [one for one in project.blobs.values() if b"a-hidden-word" in one]
    (row,) = project.deployments.values()
    assert row.body["env"] == {"MODE": "-dark", "WORD": "a-hidden-word"}
    assert "hidden" not in str(row.body["meta"])
    assert site.said() == "one-dark"


def test_deployment_progress_is_reported(site: Host1Site) -> None:
    site.host1.slow(3)
    site.up(*site.both())
    assert any("is ready" in one for one in site.talk)
    assert any("` points to the deployment dpl_" in one for one in site.talk)


def test_custom_domain_serves_users(site: Host1Site) -> None:
    site.host1.domain("www.shop.test", redirect="shop.test")
    site.host1.domain("preview.shop.test", gitBranch="next")
    site.host1.domain("new.shop.test", verified=False)
    site.host1.domain("shop.test")
    assert site.up(*site.both()).endpoint.endswith("/met/shop.test")
    assert site.said() == "one"


def test_project_without_a_domain_is_reported_before_any_change(site: Host1Site) -> None:
    site.host1.project.domains.clear()
    with pytest.raises(FabricError) as raised:
        site.up(*site.both())
    assert raised.value.first.code == "provider/no-domain"
    assert site.changes() == 0


def test_a_project_with_a_root_directory_is_refused_before_the_first_change(
    site: Host1Site,
) -> None:
    site.host1.project.root_directory = "packages/web"
    with pytest.raises(FabricError) as raised:
        site.up(*site.both())
    assert raised.value.first.code == "deploy/unfit-project"
    assert "`packages/web`" in raised.value.first.message
    assert site.changes() == 0


def test_removal_deletes_deployments_and_reports_the_remaining_project(site: Host1Site) -> None:
    site.up(*site.both())
    site.up(*site.both("two"))
    site.dissolve()
    assert site.host1.left() == {}
    assert site.said() == "404"
    assert "deleted 2 deployments of shop/dev; the project was not deleted" in site.talk


def test_removal_before_any_release_deletes_the_deployment(site: Host1Site) -> None:
    site.deploy(*site.both())
    site.dissolve()
    assert site.host1.left() == {}


def test_a_project_of_a_removed_service_is_free_for_another(site: Host1Site) -> None:
    site.up(*site.both())
    site.dissolve()
    other = Host1Site(site.host1, site.folder, "other")
    other.up(other.order("bye", BYE, word="other"))
    assert other.said("/bye") == "other"
    other.close()


def test_a_project_of_another_service_is_left_as_it_is(site: Host1Site) -> None:
    site.up(*site.both())
    before = site.host1.deployments()
    other = Host1Site(site.host1, site.folder, "other")
    with pytest.raises(FabricError) as raised:
        other.up(other.order("bye", BYE))
    assert raised.value.first.code == "deploy/foreign"
    assert "does not point to a deployment of other/dev" in raised.value.first.message
    assert site.host1.deployments() == before
    other.dissolve()
    assert site.said() == "one"
    other.close()


def test_project_holds_only_one_service(site: Host1Site) -> None:
    assert site.deployer.sole_place == f"the project `{site.host1.project.id}`"
    site.env = {"HOST1_PROJECT_ID": ""}
    assert site.deployer.sole_place == ""


def test_under_another_project_nothing_is_changed(site: Host1Site) -> None:
    site.up(*site.both())
    other = site.beside("shop")
    assert isinstance(other, Host1Site)
    site.env = other.host1.environment
    for change in (lambda: site.up(*site.both("two")), site.dissolve):
        with pytest.raises(FabricError) as raised:
            change()
        assert raised.value.first.code == "deploy/other-place"
        assert site.host1.project.id in raised.value.first.hint
    assert other.host1.calls() == []
    other.close()


def test_functions_of_two_deployments_are_not_released(site: Host1Site) -> None:
    site.up(*site.both())
    site.deploy(site.order("hello", HTTP, EVERY_HOUR, word="two"))
    with pytest.raises(FabricError) as raised:
        site.release(["hello", "bye"])
    assert raised.value.first.code == "deploy/incomplete"
    assert site.said() == "one"


def test_more_deployments_than_a_page_has_are_all_removed(site: Host1Site) -> None:
    site.up(*site.both())
    project = site.host1.project
    (row,) = project.deployments.values()
    for number in range(250):
        copy = dataclasses.replace(row, id=f"dpl_{number}", created=next(project.clock))
        project.deployments[copy.id] = copy
    site.dissolve()
    assert site.host1.left() == {}


def test_deleted_deployment_is_not_rebuilt_by_a_version_only_rollback(site: Host1Site) -> None:
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


def test_functions_that_were_in_many_deployments_go_back_to_the_one_they_share(
    site: Host1Site,
) -> None:
    hello, bye = site.both()
    site.up(hello, bye)
    then = site.live("hello").resource_id
    site.up(site.order("hello", HTTP, word="two"), bye)
    site.up(hello, site.order("bye", BYE, word="late"))
    site.reset()
    marks = {one.name: one.mark for one in (hello, bye)}
    found = site.deployer.find_versions(site.address(), marks)
    assert site.calls() == 1
    versions = [found[one.name] for one in (hello, bye)]
    assert len(set(versions)) == 2
    orders = zip((hello, bye), versions, strict=True)
    back = [replace(one, version=version, only_version=True) for one, version in orders]
    assert {one.resource_id for one in site.deploy(*back)} == {then}
