"""The command line over all of it: what a user does in a day, and how often edge1 is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.edge1_site import Edge1Site
from tests.support.in_process import project
from tests.support.provider_shop import EVERY_HOUR, ProviderShop
from tests.support.servers.edge1.client import Edge1Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

_HEAD = "service: shop\nprovider: {name: edge1-workers, runtime: nodejs}\n"


class EdgeShop(ProviderShop):
    @property
    def edge1(self) -> Edge1Server:
        assert isinstance(self.site, Edge1Site)
        return self.site.edge1

    def ran(self, *words: str) -> int:
        """How many calls a success took."""
        super().ran(*words)
        return len(self.edge1.calls())


@pytest.fixture
def shop(edge1: Edge1Server, tmp_path: Path) -> Iterator[EdgeShop]:
    made = EdgeShop(Edge1Site(edge1, tmp_path), project(tmp_path / "project", sources={}))
    made.has("hello", "one", EVERY_HOUR)
    made.has("bye", "bye")
    yield made
    made.site.close()


def test_a_day_of_a_service(shop: EdgeShop) -> None:
    plan = shop.run("plan")
    assert plan.code == 0, plan.out
    assert shop.edge1.calls() == []
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    assert shop.ran("deploy") == 0
    shop.has("hello", "two", EVERY_HOUR)
    assert (shop.ran("deploy"), shop.said("hello")) == (3, "two")
    done = shop.run("invoke", "run", "--function", "hello")
    assert done.result["response"] == "two"
    assert (shop.ran("rollback"), shop.said("hello")) == (2, "one")
    shop.ran("remove", "--yes")
    assert shop.edge1.left() == {}
    assert shop.run("remove", "--yes").code == 0


def test_functions_side_by_side_are_four_calls_each(shop: EdgeShop) -> None:
    shop.functions = {}
    for number in range(8):
        shop.has(f"f{number}", str(number), EVERY_HOUR)
    assert shop.ran("deploy") == 8 * 4 + 5
    shop.has("f7", "other", EVERY_HOUR)
    assert (shop.ran("deploy"), shop.said("f7"), shop.said("f0")) == (3, "other", "0")


def test_parameters_of_a_path_reach_a_call(shop: EdgeShop) -> None:
    shop.has("item", "item", path="/items/{id}")
    shop.ran("deploy")
    shop.project.write({"event.json": '{"pathParameters": {"id": "7"}}'})
    done = shop.run("invoke", "run", "--function", "item", "--event", "event.json")
    assert done.result["response"] == "item"


def test_a_bundle_of_es_modules_runs_as_it_is(shop: EdgeShop) -> None:
    shop.more += "build: {format: esm}\n"
    shop.has("esm", "module")
    text = 'import { readFileSync } from "node:fs";\nconst word = await Promise.resolve("later");\n'
    answer = "{ statusCode: 200, body: word + typeof readFileSync + typeof require }"
    handler = f"export const handler = async () => ({answer});\n"
    shop.project.write({"src/esm.ts": f"{text}declare const require: unknown;\n{handler}"})
    shop.ran("deploy")
    assert (shop.said("esm"), shop.said("hello")) == ("laterfunctionfunction", "one")


def test_a_trigger_and_a_function_that_leave_the_config_leave_the_provider(shop: EdgeShop) -> None:
    shop.has("late", "late", EVERY_HOUR)
    shop.ran("deploy")
    shop.has("hello", "one")
    del shop.functions["late"]
    shop.ran("deploy")
    assert shop.edge1.left() == {"workers": ["shop-dev", "shop-dev-bye", "shop-dev-hello"]}
    assert shop.edge1.schedules("shop-dev-hello") == []
    assert shop.said("late") == "404"


def test_rollback_restores_triggers(shop: EdgeShop) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", "{type: cron, schedule: rate(1 day)}", path="/greet")
    shop.ran("deploy")
    assert shop.edge1.schedules("shop-dev-hello") == ["0 0 * * *"]
    shop.ran("rollback")
    assert shop.edge1.schedules("shop-dev-hello") == ["0 * * * *"]
    assert (shop.said("hello"), shop.said("greet")) == ("one", "404")


def test_forced_deploy_recreates_a_deleted_worker(shop: EdgeShop) -> None:
    shop.ran("deploy")
    path = f"/accounts/{shop.edge1.account}/workers/scripts/shop-dev?force=true"
    shop.edge1.api("DELETE", path)
    assert shop.ran("deploy") == 0
    shop.ran("deploy", "--force")
    assert shop.said("hello") == "one"


def test_unsupported_schedule_is_reported_at_plan_with_its_line(shop: EdgeShop) -> None:
    shop.has("hello", "one", "{type: cron, schedule: rate(7 minutes)}")
    done = shop.run("plan")
    (problem,) = done.error["problems"]
    assert problem["code"] == "config/unfit"
    assert "rate(7 minutes)" in problem["message"]
    assert problem["where"]["line"] == 4
    assert done.code == 65
    assert shop.edge1.calls() == []


@pytest.mark.parametrize(
    ("setting", "code", "exit_code"),
    [
        ("compatibilityDate: '2099-13-77'", "config/unfit", 65),
        ("compatibilityDate: '2024-02-31'", "config/unfit", 65),
        ("compatibilityDate: soon", "config/unfit", 65),
        ("hostname: https://shop.example.test/x", "config/unfit", 65),
        ("hostname: shop.example.test", "credentials/missing", 77),
    ],
)
def test_invalid_setting_is_reported_once_at_plan_with_its_line(
    shop: EdgeShop, setting: str, code: str, exit_code: int
) -> None:
    zone = "" if code == "credentials/missing" else "EDGE1_ZONE_ID=z\n"
    shop.project.write({".env": zone})
    shop.more += f"extensions:\n  edge1-workers:\n    {setting}\n"
    for command in ("plan", "deploy"):
        done = shop.run(command)
        (problem,) = done.error["problems"]
        assert (done.code, problem["code"]) == (exit_code, code), done.out
        assert problem["where"]["line"] == 5
    assert shop.edge1.calls() == []


def test_another_account_is_refused_before_the_first_change(shop: EdgeShop) -> None:
    shop.ran("deploy")
    own, other = shop.edge1, Edge1Server(shop.edge1.endpoint)
    other.reset()
    shop.site = Edge1Site(other, shop.site.folder)
    for words in (("plan",), ("deploy",), ("rollback",), ("remove", "--yes")):
        done = shop.run(*words)
        (problem,) = done.error["problems"]
        assert (done.code, problem["code"]) == (1, "deploy/other-place"), done.out
    assert other.calls() == []
    shop.site.close()
    shop.site = Edge1Site(own, shop.site.folder)
    assert shop.ran("deploy") == 0
    shop.ran("remove", "--yes")
    assert own.left() == {}
    other.forget()


def test_reconcile_misses_the_gate(shop: EdgeShop) -> None:
    shop.ran("deploy")
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "in-sync"
    path = f"/accounts/{shop.edge1.account}/workers/scripts/shop-dev?force=true"
    shop.edge1.api("DELETE", path)
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "missing"
    assert entry["detail"] == "the front Worker `shop-dev` does not exist at the provider"


def test_a_python_service_is_refused_at_plan(shop: EdgeShop) -> None:
    config = _HEAD.replace("nodejs", "python3.12") + "functions: [{name: hello, entry: hello.py}]\n"
    handler = "def handler(event, context):\n    return 1\n"
    shop.project.write({"hello.py": handler, "fabric.yml": config})
    env = {**shop.edge1.environment, "FABRIC_EDGE1_REAL_DEPLOY": "1"}
    done = shop.project.json("plan", env=env)
    assert "Cloudflare Workers run only JavaScript" in done.error["message"]


def test_a_trigger_that_edge1_lacks_is_refused_at_plan(shop: EdgeShop) -> None:
    shop.has("hello", "one", '{type: storage, bucket: work, events: ["objstore1:ObjectCreated:*"]}')
    done = shop.run("plan")
    assert done.code == 65
    assert "edge1-workers" in done.error["message"]
    assert shop.edge1.calls() == []
