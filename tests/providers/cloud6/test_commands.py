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


def test_change_takes_one_call_for_the_version_and_one_for_the_release(shop: ProviderShop) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", EVERY_HOUR)
    assert (shop.ran("deploy"), shop.said("hello")) == (2, "two")
    assert (shop.ran("rollback"), shop.said("hello")) == (1, "one")


def test_each_function_has_a_separate_url(shop: ProviderShop, server: WhiskServer) -> None:
    shop.ran("deploy")
    outputs = shop.run("outputs").result["services"][0]["outputs"]
    assert outputs["url_hello"] == server.url("shop-dev", "hello") + "/hello"
    assert outputs["url_bye"] == server.url("shop-dev", "bye") + "/bye"
    assert "url" not in outputs


def test_rollback_restores_schedules(shop: ProviderShop, server: WhiskServer) -> None:
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


def test_unsupported_schedule_is_reported_at_plan_with_its_line(
    shop: ProviderShop, server: WhiskServer
) -> None:
    shop.has("hello", "one", "{type: cron, schedule: rate(7 minutes)}")
    done = shop.run("plan")
    (problem,) = done.error["problems"]
    assert problem["code"] == "config/unfit"
    assert "rate(7 minutes)" in problem["message"]
    assert (problem["where"]["line"], done.code) == (4, 65)
    assert server.calls() == []


def test_one_public_function_gives_its_service_the_address_that_paths_are_below(
    shop: ProviderShop, server: WhiskServer
) -> None:
    shop.functions.pop("bye")
    shop.more = "deploy: {healthCheck: {enabled: true, url: /hello}}\n"
    shop.ran("deploy")
    outputs = shop.run("outputs").result["services"][0]["outputs"]
    assert outputs["url"] == server.url("shop-dev", "hello")


def test_health_check_requests_each_function_at_its_url(shop: ProviderShop) -> None:
    shop.more = "deploy: {healthCheck: {enabled: true}}\n"
    shop.ran("deploy", "--rollback-on-failure")
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    shop.more = "deploy: {healthCheck: {enabled: true, url: /nowhere}}\n"
    done = shop.run("plan")
    assert (done.code, done.error["code"]) == (65, "config/unfit")


def test_reserved_tags_are_reported_at_plan(shop: ProviderShop) -> None:
    shop.write()
    text = (shop.project.root / "fabric.yml").read_text()
    entry = "entry: src/hello.ts, "
    shop.project.write({"fabric.yml": text.replace(entry, f"{entry}tags: {{fabric-owner: me}}, ")})
    done = shop.project.json("plan", env=shop.env)
    assert (done.code, "fabric-owner" in done.error["message"]) == (65, True)


def test_forced_release_ignores_the_recorded_live_version(
    shop: ProviderShop, server: WhiskServer
) -> None:
    shop.ran("deploy")
    met = server.space.actions["shop-dev/hello"]
    other = server.space.actions["shop-dev/bye"]
    met["exec"] = other["exec"]
    assert shop.said("hello") == "404"
    shop.ran("deploy", "--force")
    assert shop.said("hello") == "one"


def test_removal_reports_foreign_actions_it_leaves(shop: ProviderShop, server: WhiskServer) -> None:
    shop.ran("deploy")
    foreign = {**server.space.actions["shop-dev/bye"], "annotations": []}
    server.space.actions["shop-dev/foreign"] = foreign
    done = shop.project.fabric("remove", "--yes", env=shop.env)
    assert done.code == 0
    assert "the action `foreign` does not belong to this service and was not deleted" in done.err
    assert list(server.space.actions) == ["shop-dev/foreign"]


def test_invoke_and_reconcile_refuse_a_different_namespace(
    shop: ProviderShop, server: WhiskServer
) -> None:
    shop.ran("deploy")
    theirs = server.beside()
    env = {**shop.env, **theirs.environment}
    shop.project.write({"event.json": "{}"})
    words = ("--function", "hello", "--event", "event.json")
    done = shop.project.json("invoke", "run", *words, env=env)
    assert done.error["code"] == "deploy/other-place"
    assert shop.project.json("state", "reconcile", env=env).error["code"] == "deploy/other-place"


def test_keep_going_releases_functions_that_built(shop: ProviderShop) -> None:
    shop.ran("deploy")
    shop.has("hello", "two")
    shop.project.write({"src/bye.ts": "export const handler = (\n"})
    done = shop.run("deploy", "--keep-going")
    assert (done.code, shop.said("hello"), shop.said("bye")) == (2, "two", "bye")
    shop.has("bye", "later")
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("two", "later")


def test_oversized_environment_is_reported_at_plan(shop: ProviderShop) -> None:
    shop.more = f"env: {{LARGE: {'x' * 1_100_000}}}\n"
    done = shop.run("plan")
    assert (done.code, "LARGE" in done.out or "1,048,576" in done.out) == (65, True)


def test_manually_deleted_package_is_reported(shop: ProviderShop, server: WhiskServer) -> None:
    shop.ran("deploy")
    server.space.actions.clear()
    server.space.packages.clear()
    shop.has("third", "new")
    shop.write()
    done = shop.project.fabric("deploy", env=shop.env)
    assert "was deleted with all its functions" in done.err
    shop.ran("deploy", "--force")
    assert (shop.said("hello"), shop.said("third")) == ("one", "new")
