"""The command line over all of it: what a user does in a day, and how often cloud2 is changed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cloud2_site import Cloud2Site
from tests.support.in_process import project
from tests.support.provider_shop import EVERY_HOUR, ProviderShop
from tests.support.servers.cloud2.client import Cloud2Server
from tests.support.until import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


class CloudShop(ProviderShop):
    @property
    def cloud2(self) -> Cloud2Server:
        assert isinstance(self.site, Cloud2Site)
        return self.site.cloud2

    def said(self, name: str, path: str = "") -> str:
        """What users are answered."""
        url = self.cloud2.project.url(f"shop-dev-{name}") + (path or f"/{name}")
        answer = self.cloud2.http("GET", url)
        return answer.content.decode() if answer.status == 200 else str(answer.status)


@pytest.fixture
def shop(cloud2: Cloud2Server, tmp_path: Path) -> Iterator[CloudShop]:
    made = CloudShop(Cloud2Site(cloud2, tmp_path), project(tmp_path / "project", sources={}))
    made.has("hello", "one", EVERY_HOUR)
    made.has("bye", "bye")
    yield made
    made.site.close()


def test_a_day_of_a_service(shop: CloudShop) -> None:
    plan = shop.run("plan")
    assert plan.code == 0, plan.out
    assert shop.cloud2.calls() == []
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    shop.cloud2.reset()
    assert shop.run("deploy").code == 0
    assert shop.cloud2.calls() == []
    shop.has("hello", "two", EVERY_HOUR)
    assert (shop.ran("deploy"), shop.said("hello")) == (4, "two")
    done = shop.run("invoke", "run", "--function", "hello")
    assert done.result["response"] == "two"
    assert (shop.ran("rollback"), shop.said("hello")) == (1, "one")
    shop.ran("remove", "--yes")
    assert shop.cloud2.left() == {}
    assert shop.run("remove", "--yes").code == 0


def test_each_function_has_a_separate_url(shop: CloudShop) -> None:
    shop.ran("deploy")
    outputs = shop.run("outputs").result["services"][0]["outputs"]
    url = shop.cloud2.project.url
    assert outputs["url_hello"] == url("shop-dev-hello") + "/hello"
    assert outputs["url_bye"] == url("shop-dev-bye") + "/bye"
    assert "url" not in outputs


def test_service_url_is_the_base_of_all_public_paths(
    shop: CloudShop,
) -> None:
    del shop.functions["bye"]
    shop.has("hello", "one", "{type: http, path: /items}", path="/items/{id}")
    shop.ran("deploy")
    row = shop.run("outputs").result["services"][0]
    base = shop.cloud2.project.url("shop-dev-hello")
    assert (row["endpoint"], row["outputs"]["url"]) == (base, base)
    assert row["outputs"]["url_hello"] == base + "/items/{id}"


def test_a_health_check_asks_each_public_function(shop: CloudShop) -> None:
    shop.more = "deploy: {healthCheck: {enabled: true}}\n"
    shop.ran("deploy")
    shop.more = "deploy: {healthCheck: {enabled: true, url: /bye}}\n"
    shop.ran("deploy")
    text = "export const handler = async () => ({ statusCode: 503, body: 'no' });\n"
    shop.project.write({"src/bye.ts": text})
    assert shop.run("deploy").error["code"] == "deploy/unhealthy"
    shop.more = "deploy: {healthCheck: {enabled: true, url: /hello}}\n"
    shop.ran("deploy")


def test_a_health_check_at_a_path_that_no_function_has_is_refused_at_plan(shop: CloudShop) -> None:
    shop.more = "deploy: {healthCheck: {enabled: true, url: /nowhere}}\n"
    for command in ("plan", "deploy"):
        done = shop.run(command)
        (problem,) = done.error["problems"]
        assert (done.code, problem["code"]) == (65, "config/unfit")
        assert "/nowhere" in problem["message"]
        assert problem["where"]["line"] == 3
    assert shop.cloud2.calls() == []


def test_missing_upstream_address_is_warned(shop: CloudShop) -> None:
    shop.write()
    own = (shop.project.root / "fabric.yml").read_text()
    listed = (
        "services: {shop: {config: fabric.yml}, web: {config: web/fabric.yml, dependsOn: [shop]}}\n"
    )
    config = own.replace("service: shop", "service: web")
    sources = {
        f"web/src/{name}.ts": "export const handler = () => 1;\n" for name in ("hello", "bye")
    }
    shop.project.write({"web/fabric.yml": config, "fabric.compose.yml": listed, **sources})
    warnings = shop.project.json("compose", "plan", env=shop.env).result["warnings"]
    (told,) = (one for one in warnings if one["code"] == "deploy/no-address")
    assert "SERVICE_SHOP_URL" in told["message"]
    assert "`hello`, `bye`" in told["message"]


def test_changing_one_function_does_not_touch_others(shop: CloudShop) -> None:
    shop.ran("deploy")
    shop.has("bye", "other")
    shop.ran("deploy")
    assert not [path for _, path, _ in shop.cloud2.calls() if "shop-dev-hello?" in path]
    assert shop.cloud2.revisions() == {"shop-dev-hello": 1, "shop-dev-bye": 2}


def test_parameters_of_a_path_reach_a_call(shop: CloudShop) -> None:
    shop.has("item", "item", path="/items/{id}")
    shop.ran("deploy")
    shop.project.write({"event.json": '{"pathParameters": {"id": "7"}}'})
    done = shop.run("invoke", "run", "--function", "item", "--event", "event.json")
    assert done.result["response"] == "item"


def test_a_path_with_accents_is_called_with_its_escapes(shop: CloudShop) -> None:
    shop.functions = {}
    shop.has("menu", "menu", path="/caf\u00e9")
    shop.ran("deploy")
    done = shop.run("invoke", "run", "--function", "menu")
    assert done.result["response"] == "menu"


def test_doctor_accepts_the_alternative_project_variable(shop: CloudShop) -> None:
    shop.write()
    named = {"CLOUD2_PROJECT_ID": "", "CLOUD2_PROJECT": shop.cloud2.project.id}
    assert shop.project.json("doctor", env={**shop.env, **named}).code == 0


def test_rollback_across_a_label_change_builds_nothing(shop: CloudShop) -> None:
    del shop.functions["bye"]
    for team in ("old", "new"):
        shop.has("hello", team)
        shop.write()
        config = (shop.project.root / "fabric.yml").read_text()
        tagged = config.replace("name: hello,", f"name: hello, tags: {{team: {team}}},")
        shop.project.write({"fabric.yml": tagged})
        assert shop.project.json("deploy", env=shop.env).code == 0
    assert shop.project.json("rollback", env=shop.env).code == 0
    assert shop.said("hello") == "old"
    assert shop.cloud2.revisions() == {"shop-dev-hello": 2}
    assert shop.cloud2.function("shop-dev-hello")["labels"]["team"] == "new"


def test_a_trigger_and_a_function_that_leave_the_config_leave_the_provider(
    shop: CloudShop,
) -> None:
    shop.has("late", "late", EVERY_HOUR)
    shop.ran("deploy")
    shop.has("hello", "one")
    del shop.functions["late"]
    shop.ran("deploy")
    assert shop.cloud2.left() == {
        "functions": ["shop-dev-bye", "shop-dev-hello"],
        "services": ["shop-dev-bye", "shop-dev-hello"],
        "callers": ["shop-dev-bye: allUsers", "shop-dev-hello: allUsers"],
    }


def test_rollback_restores_triggers(shop: CloudShop) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", "{type: cron, schedule: rate(1 day)}", path="/greet")
    shop.ran("deploy")
    assert [one["schedule"] for one in shop.cloud2.jobs()] == ["0 0 * * *"]
    shop.ran("rollback")
    assert [one["schedule"] for one in shop.cloud2.jobs()] == ["0 * * * *"]
    assert (shop.said("hello"), shop.said("hello", "/greet")) == ("one", "404")


def test_failed_build_leaves_the_previous_version_live(shop: CloudShop) -> None:
    shop.ran("deploy")
    text = "throw new Error('at the start');\nexport const handler = async () => 1;\n"
    shop.project.write({"src/hello.ts": text})
    done = shop.run("deploy")
    assert done.code != 0
    assert "at the start" in done.error["message"]
    assert shop.said("hello") == "one"


def test_forced_deploy_restores_deleted_jobs_and_bindings(shop: CloudShop) -> None:
    shop.ran("deploy")
    shop.cloud2.project.jobs.clear()
    shop.cloud2.project.services["shop-dev-bye"].policy["bindings"] = []
    assert shop.ran("deploy") == 0
    assert shop.said("bye") == "403"
    shop.ran("deploy", "--force")
    assert shop.said("bye") == "bye"
    assert len(shop.cloud2.jobs()) == 1


def test_reconcile_misses_a_job(shop: CloudShop) -> None:
    shop.ran("deploy")
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "in-sync", entry
    shop.cloud2.project.jobs.clear()
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "missing"
    assert "the scheduler job `shop-dev-hello-" in entry["detail"]


def test_unsupported_schedule_is_reported_at_plan_with_its_line(shop: CloudShop) -> None:
    shop.has("hello", "one", "{type: cron, schedule: rate(7 minutes)}")
    done = shop.run("plan")
    (problem,) = done.error["problems"]
    assert problem["code"] == "config/unfit"
    assert "rate(7 minutes)" in problem["message"]
    assert (problem["where"]["line"], done.code) == (4, 65)
    assert shop.cloud2.calls() == []


def test_invalid_service_account_is_reported_at_plan_with_its_line(shop: CloudShop) -> None:
    shop.more += "extensions:\n  cloud2-functions:\n    serviceAccount: shop\n"
    done = shop.run("plan")
    (problem,) = done.error["problems"]
    assert (problem["code"], problem["where"]["line"]) == ("config/unfit", 5)


def test_a_trigger_that_fabric_does_not_make_there_is_refused_at_plan(shop: CloudShop) -> None:
    shop.has("hello", "one", "{type: queue, queue: work}")
    done = shop.run("plan")
    assert done.code == 65
    assert "does not support for Google Cloud" in done.error["message"]
    assert shop.cloud2.calls() == []


def test_another_project_is_refused_before_the_first_change(shop: CloudShop) -> None:
    shop.ran("deploy")
    shop.cloud2.reset()
    env = {**shop.cloud2.environment, "FABRIC_CLOUD2_REAL_DEPLOY": "1"}
    for words in (("plan",), ("deploy",), ("rollback",), ("remove", "--yes")):
        done = shop.project.json(*words, env={**env, "CLOUD2_PROJECT_ID": "another"})
        (problem,) = done.error["problems"]
        assert (done.code, problem["code"]) == (1, "deploy/other-place"), done.out
    assert shop.cloud2.calls() == []


@pytest.fixture
def moody(shop: CloudShop) -> CloudShop:
    """Whose `bye` was glad once, and is sad now."""
    answer = "{ statusCode: 200, body: process.env.MOOD }"
    shop.project.write({"src/bye.ts": f"export const handler = async () => ({answer});\n"})
    for mood in ("glad", "sad"):
        shop.more = f"env: {{MOOD: {mood}}}\n"
        shop.ran("deploy")
    return shop


def test_deleted_revision_blocks_the_rollback_to_it(moody: CloudShop) -> None:
    for one in moody.cloud2.project.services.values():
        one.revisions.pop(0).instance.stop()
    error = moody.run("rollback").error
    assert error["code"] == "rollback/environment", error
    assert moody.said("bye") == "sad"


def edited(shop: CloudShop, name: str, mood: str) -> None:
    """Somebody changes a variable by hand, which makes a revision with a copy of our mark."""
    place = f"/v2/projects/{shop.cloud2.project.id}/locations/europe-west1/functions/{name}"
    config = shop.cloud2.api("GET", place)["serviceConfig"]
    variables = {**config["environmentVariables"], "MOOD": mood}
    document = {"serviceConfig": {"environmentVariables": variables}}
    mask = "serviceConfig.environmentVariables"
    shop.cloud2.api("PATCH", f"{place}?updateMask={mask}", document)
    until(lambda: shop.cloud2.api("GET", place)["state"] == "ACTIVE", "it is still built")


def test_forced_deploy_and_rollback_replace_manual_edits(
    shop: CloudShop,
) -> None:
    shop.more = "env: {MOOD: glad}\n"
    shop.ran("deploy")
    edited(shop, "shop-dev-bye", "edited")
    shop.ran("deploy", "--force")
    assert shop.said("bye") == "byeglad"
    shop.more = "env: {MOOD: sad}\n"
    shop.ran("deploy")
    assert shop.said("bye") == "byesad"
    shop.ran("rollback")
    assert shop.said("bye") == "byeglad"
