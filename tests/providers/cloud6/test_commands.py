"""The command line over all of it, at both who run OpenWhisk: what a user does in a day, and how
often a namespace is changed."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Done, Project
from tests.support.servers.whisk.client import WhiskServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

_EVERY_HOUR = "{type: cron, schedule: rate(1 hour)}"


@dataclass
class ActionShop:
    """A project of functions with their triggers."""

    server: WhiskServer
    project: Project
    provider: str
    functions: dict[str, list[str]] = field(default_factory=dict)

    def has(self, name: str, word: str, *triggers: str, path: str = "") -> None:
        """At an address of its own, besides."""
        self.functions[name] = [f"{{type: http, path: '{path or '/' + name}'}}", *triggers]
        answer = f"{{ statusCode: 200, body: {word!r} }}"
        text = f"export const handler = async () => ({answer});\n"
        self.project.write({f"src/{name}.ts": text})

    def run(self, *words: str) -> Done:
        rows = [
            f"  - {{name: {name}, entry: src/{name}.ts, triggers: [{', '.join(triggers)}]}}\n"
            for name, triggers in self.functions.items()
        ]
        head = f"service: shop\nprovider: {{name: {self.provider}, runtime: nodejs}}\n"
        self.project.write({"fabric.yml": f"{head}functions:\n{''.join(rows)}"})
        env = {**self.server.environment, "FABRIC_REAL_DEPLOY": "1"}
        return self.project.json(*words, env=env)

    def ran(self, *words: str) -> int:
        """How many changing calls a success took."""
        self.server.reset()
        done = self.run(*words)
        assert done.code == 0, done.out + done.err
        return self.server.changes()

    def said(self, name: str, path: str = "") -> str:
        """What users are answered."""
        url = self.server.url("shop-dev", name) + (path or f"/{name}")
        answer = self.server.http("GET", url)
        return answer.text if answer.status == 200 else str(answer.status)


@pytest.fixture(params=["cloud6", "cloud5"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> ActionShop:
    server = request.getfixturevalue(request.param)
    made = ActionShop(server, project(tmp_path, sources={}), f"{request.param}-functions")
    made.has("hello", "one", _EVERY_HOUR)
    made.has("bye", "bye")
    return made


def test_a_day_of_a_service(shop: ActionShop) -> None:
    plan = shop.run("plan")
    assert plan.code == 0, plan.out
    assert shop.server.calls() == []
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    shop.server.reset()
    assert shop.run("deploy").code == 0
    assert shop.server.calls() == []
    shop.has("hello", "two", _EVERY_HOUR)
    assert (shop.ran("deploy"), shop.said("hello")) == (2, "two")
    done = shop.run("invoke", "run", "--function", "hello")
    assert done.result["response"] == {"statusCode": 200, "body": "two"}
    assert (shop.ran("rollback"), shop.said("hello")) == (1, "one")
    shop.ran("remove", "--yes")
    assert shop.server.left() == {}
    assert shop.run("remove", "--yes").code == 0


def test_each_function_has_an_address_of_its_own(shop: ActionShop) -> None:
    shop.ran("deploy")
    outputs = shop.run("outputs").result["services"][0]["outputs"]
    assert outputs["url_hello"] == shop.server.url("shop-dev", "hello") + "/hello"
    assert outputs["url_bye"] == shop.server.url("shop-dev", "bye") + "/bye"
    assert "url" not in outputs


def test_a_way_back_takes_triggers_along(shop: ActionShop) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", "{type: cron, schedule: rate(1 day)}", path="/greet")
    shop.ran("deploy")
    assert shop.server.schedules() == ["0 0 * * *"]
    shop.ran("rollback")
    assert shop.server.schedules() == ["0 * * * *"]
    assert (shop.said("hello"), shop.said("hello", "/greet")) == ("one", "404")


def test_a_release_that_breaks_off_is_taken_back(shop: ActionShop) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", "{type: cron, schedule: rate(1 day)}")
    shop.server.fault("triggers", method="PUT", status=400, message="no")
    shop.server.fault("triggers", method="POST", status=400, message="no")
    done = shop.run("deploy", "--rollback-on-failure")
    assert done.code != 0
    assert shop.said("hello") == "one"
    assert shop.server.schedules() == ["0 * * * *"]
    shop.server.reset()
    shop.ran("deploy")
    assert shop.said("hello") == "two"


def test_one_function_is_removed_and_deployed_again(shop: ActionShop) -> None:
    shop.ran("deploy")
    before = shop.server.left()
    shop.ran("remove", "--function", "hello", "--yes")
    assert shop.server.left()["met"] == ["shop-dev/bye"]
    shop.ran("deploy")
    assert shop.server.left() == before
    assert shop.said("hello") == "one"


def test_reconcile_misses_a_clock(shop: ActionShop) -> None:
    shop.ran("deploy")
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "in-sync", entry
    shop.server.space.triggers.clear()
    shop.server.space.schedules.clear()
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "missing"
    assert "the trigger `shop-dev-hello-" in entry["detail"]


def test_what_cannot_be_done_is_told_at_plan_with_its_place(shop: ActionShop) -> None:
    shop.has("hello", "one", "{type: cron, schedule: rate(7 minutes)}")
    done = shop.run("plan")
    (problem,) = done.error["problems"]
    assert problem["code"] == "config/unfit"
    assert "rate(7 minutes)" in problem["message"]
    assert (problem["where"]["line"], done.code) == (4, 65)
    assert shop.server.calls() == []


def test_doctor_asks_who_we_are(shop: ActionShop) -> None:
    done = shop.run("doctor")
    assert shop.server.space.name in done.out
    assert shop.server.changes() == 0
