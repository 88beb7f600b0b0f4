"""The command line at cloud4: what is special there beside what holds at every provider."""

from pathlib import Path

import pytest

from tests.support.cloud4_site import Cloud4Site
from tests.support.in_process import project
from tests.support.provider_shop import EVERY_DAY, EVERY_HOUR, ProviderShop
from tests.support.servers.cloud4.client import Cloud4Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


@pytest.fixture
def shop(site: Cloud4Site, tmp_path: Path) -> ProviderShop:
    made = ProviderShop(site, project(tmp_path / "project", sources={}))
    made.has("hello", "one", EVERY_HOUR)
    made.has("bye", "bye")
    return made


def test_a_change_takes_three_changing_calls_and_a_rollback_one(shop: ProviderShop) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", EVERY_HOUR)
    assert (shop.ran("deploy"), shop.said("hello")) == (3, "two")
    assert (shop.ran("rollback"), shop.said("hello")) == (1, "one")


def test_each_function_has_a_separate_url(shop: ProviderShop, cloud4: Cloud4Server) -> None:
    shop.ran("deploy")
    outputs = shop.run("outputs").result["services"][0]["outputs"]
    assert outputs["url_hello"] == cloud4.url("shop-dev-hello") + "/hello"
    assert outputs["url_bye"] == cloud4.url("shop-dev-bye") + "/bye"
    assert outputs["arn_bye"] == cloud4.account.arn("shop-dev-bye")
    assert "url" not in outputs


def test_an_address_stays_from_deploy_to_deploy(shop: ProviderShop) -> None:
    shop.ran("deploy")
    before = shop.run("outputs").result["services"][0]["outputs"]
    shop.has("hello", "two", EVERY_DAY)
    shop.ran("deploy")
    shop.ran("rollback")
    assert shop.run("outputs").result["services"][0]["outputs"] == before


def test_rollback_restores_schedules(shop: ProviderShop, cloud4: Cloud4Server) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", EVERY_DAY, path="/greet")
    shop.ran("deploy")
    assert cloud4.schedules() == ["@every 1440m"]
    shop.ran("rollback")
    assert cloud4.schedules() == ["@every 60m"]


def test_a_release_that_breaks_off_leaves_clocks_as_they_were(
    shop: ProviderShop, cloud4: Cloud4Server
) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", EVERY_DAY)
    shop.site.refuse_release()
    assert shop.run("deploy", "--rollback-on-failure").code != 0
    assert cloud4.schedules() == ["@every 60m"]
    assert shop.said("hello") == "one"


def test_reconcile_misses_a_clock(shop: ProviderShop, cloud4: Cloud4Server) -> None:
    shop.ran("deploy")
    cloud4.function("shop-dev-hello").triggers.clear()
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "missing"
    assert "the trigger `fabric-clock-" in entry["detail"]
    assert "the trigger `fabric-http` of `shop-dev-hello`" in entry["detail"]
    shop.ran("deploy", "--force")
    assert shop.said("hello") == "one"


def test_invoke_returns_the_response_and_logs(shop: ProviderShop) -> None:
    source = 'export const handler = async (event) => { console.log("hey"); return event; };\n'
    shop.project.write({"src/loud.ts": source})
    shop.functions["loud"] = [EVERY_HOUR]
    shop.ran("deploy")
    shop.write()
    shop.project.write({"event.json": '{"given": 7}'})
    done = shop.run("invoke", "run", "--function", "loud", "--event", "event.json")
    assert done.code == 0, done.out + done.err
    assert done.result["response"] == {"given": 7}
    assert "hey" in done.result["logs"]


def test_unsupported_trigger_is_reported_at_plan_with_its_line(
    shop: ProviderShop, cloud4: Cloud4Server
) -> None:
    shop.has("hello", "one", "{type: queue, queue: jobs}")
    done = shop.run("plan")
    (problem,) = done.error["problems"]
    assert problem["code"] == "config/unfit"
    assert "`queue`" in problem["message"]
    assert (problem["where"]["line"], done.code) == (4, 65)
    assert cloud4.calls() == []


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ("{role: shop}", "extensions.cloud4-fc.role"),
        ("{diskSize: 600}", "extensions.cloud4-fc.diskSize"),
        ("{cpu: 0.33}", "extensions.cloud4-fc.cpu"),
        ("{cpu: much}", "a number from 0.05 to 16"),
        ("{cpu: 2}", "1 to 4 GB"),
    ],
)
def test_invalid_provider_settings_are_reported_at_plan(
    shop: ProviderShop, own: str, words: str
) -> None:
    shop.more = f"extensions: {{cloud4-fc: {own}}}\n"
    done = shop.run("plan")
    assert done.code == 65
    assert words in str(done.error["problems"])
    assert shop.site.calls() == 0


def test_a_service_moves_to_another_region_by_its_removal(shop: ProviderShop) -> None:
    shop.ran("deploy")
    shop.region = "cn-shanghai"
    done = shop.run("plan")
    assert done.error["code"] == "deploy/other-place"
    shop.ran("remove", "--yes")
    assert not shop.site.left()


@pytest.mark.parametrize("lang", ["ts", "js", "py"])
def test_a_new_project_has_a_runtime_that_cloud4_has(
    cloud4: Cloud4Server, tmp_path: Path, lang: str
) -> None:
    made = project(tmp_path / "new", sources={})
    (made.root / "fabric.yml").unlink()
    words = ("--template", "http", "--provider", "cloud4-fc", "--lang", lang)
    assert made.json("init", "--dir", "shop", "--skip-install", *words).code == 0
    env = {**cloud4.environment, "FABRIC_CLOUD4_REAL_DEPLOY": "1"}
    done = made.json("plan", "-c", "shop", env=env)
    assert done.code == 0, done.out + done.err
