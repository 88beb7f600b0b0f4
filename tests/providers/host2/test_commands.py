"""The command line over all of it: what a user does in a day, and how often host2 is asked."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host2_site import Host2Site
from tests.support.in_process import project
from tests.support.provider_shop import EVERY_HOUR, ProviderShop
from tests.support.servers.host2.client import Host2Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

_HEAD = "service: shop\nprovider: {name: host2, runtime: nodejs}\n"


class SiteShop(ProviderShop):
    @property
    def host2(self) -> Host2Server:
        assert isinstance(self.site, Host2Site)
        return self.site.host2

    def ran(self, *words: str) -> int:
        """How many calls a success took."""
        super().ran(*words)
        return len(self.host2.calls())


@pytest.fixture
def shop(host2: Host2Server, tmp_path: Path) -> Iterator[SiteShop]:
    made = SiteShop(Host2Site(host2, tmp_path), project(tmp_path / "project", sources={}))
    made.has("hello", "one", EVERY_HOUR)
    made.has("bye", "bye")
    yield made
    made.site.close()


def test_a_day_of_a_service(shop: SiteShop) -> None:
    plan = shop.run("plan")
    assert plan.code == 0, plan.out
    assert shop.host2.calls() == []
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    assert shop.ran("deploy") == 0
    shop.has("hello", "two", EVERY_HOUR)
    # The function, and the one beside it that the clock calls.
    assert (shop.ran("deploy"), shop.said("hello")) == (2 + 7, "two")
    done = shop.run("invoke", "run", "--function", "hello")
    assert done.result["response"] == "two"
    assert (shop.ran("rollback"), shop.said("hello")) == (5, "one")
    shop.ran("remove", "--yes")
    assert shop.host2.left() == {}
    assert shop.run("remove", "--yes").code == 0


def test_many_functions_are_one_upload_each(shop: SiteShop) -> None:
    shop.functions = {}
    for number in range(12):
        shop.has(f"f{number}", str(number))
    assert shop.ran("deploy") == 12 + 7
    shop.has("f7", "other")
    assert (shop.ran("deploy"), shop.said("f7"), shop.said("f0")) == (1 + 7, "other", "0")


def test_a_trigger_and_a_function_that_leave_the_config_leave_the_provider(shop: SiteShop) -> None:
    shop.has("late", "late", EVERY_HOUR)
    shop.ran("deploy")
    shop.has("hello", "one")
    del shop.functions["late"]
    shop.ran("deploy")
    assert shop.host2.left()["functions"] == ["shop-dev-bye", "shop-dev-hello"]
    assert shop.host2.schedules() == {}
    assert shop.said("late") == "404"


def test_rollback_restores_triggers_and_functions(shop: SiteShop) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", "{type: cron, schedule: rate(1 day)}", path="/greet")
    del shop.functions["bye"]
    shop.ran("deploy")
    assert (shop.said("greet"), shop.said("bye")) == ("two", "404")
    shop.ran("rollback")
    assert list(shop.host2.schedules().values()) == ["0 * * * *"]
    assert (shop.said("hello"), shop.said("greet"), shop.said("bye")) == ("one", "404", "bye")


def test_single_function_removal_or_deploy_is_refused(shop: SiteShop) -> None:
    shop.ran("deploy")
    shop.host2.reset()
    done = shop.run("remove", "--function", "hello", "--yes")
    assert done.error["problems"][0]["code"] == "remove/whole-service"
    assert shop.host2.calls() == []
    shop.has("hello", "two")
    done = shop.run("deploy", "--function", "hello")
    (problem,) = done.error["problems"]
    assert problem["code"] == "deploy/whole-service"
    assert "cannot deploy only `hello`" in problem["message"]
    assert shop.host2.calls() == []
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("two", "bye")


def test_forced_deploy_restores_a_removed_deploy(shop: SiteShop) -> None:
    shop.ran("deploy")
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "in-sync"
    shop.host2.site.published = ""
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "missing", entry
    assert shop.ran("deploy") == 0
    shop.ran("deploy", "--force")
    assert shop.said("hello") == "one"


def test_another_site_is_refused_before_the_first_change(shop: SiteShop) -> None:
    shop.ran("deploy")
    own, other = shop.host2, Host2Server(shop.host2.front)
    shop.site = Host2Site(other, shop.site.folder)
    for words in (("plan",), ("deploy",), ("rollback",), ("remove", "--yes")):
        done = shop.run(*words)
        (problem,) = done.error["problems"]
        assert (done.code, problem["code"]) == (1, "deploy/other-place"), done.out
    assert other.calls() == []
    shop.site.close()
    shop.site = Host2Site(own, shop.site.folder)
    shop.ran("remove", "--yes")
    assert own.left() == {}


def test_unsupported_schedule_is_reported_at_plan_with_its_line(shop: SiteShop) -> None:
    shop.has("hello", "one", "{type: cron, schedule: rate(7 minutes)}")
    done = shop.run("plan")
    (problem,) = done.error["problems"]
    assert (done.code, problem["code"]) == (65, "config/unfit")
    assert "rate(7 minutes)" in problem["message"]
    assert problem["where"]["line"] == 4
    assert shop.host2.calls() == []


def test_indistinguishable_routes_are_refused_at_plan(shop: SiteShop) -> None:
    shop.has("hello", "one", path="/things/{id}")
    shop.has("bye", "bye", path="/things/{name}")
    done = shop.run("plan")
    assert done.code == 65, done.out
    assert "/things/{name}" in done.error["message"]


def test_a_python_service_is_refused_at_plan(shop: SiteShop) -> None:
    config = _HEAD.replace("nodejs", "python3.12") + "functions: [{name: hello, entry: hello.py}]\n"
    handler = "def handler(event, context):\n    return 1\n"
    shop.project.write({"hello.py": handler, "fabric.yml": config})
    env = {**shop.host2.environment, "FABRIC_HOST2_REAL_DEPLOY": "1"}
    done = shop.project.json("plan", env=env)
    assert "only JavaScript" in done.error["message"]


def test_values_that_went_with_their_deploy_have_to_be_known(shop: SiteShop) -> None:
    for mood in ("glad", "sad"):
        shop.more = f"env: {{MOOD: {mood}}}\n"
        shop.ran("deploy")
    first = next(iter(shop.host2.site.deploys))
    shop.host2.api("DELETE", f"/deploys/{first}")
    done = shop.run("rollback")
    assert "MOOD" in done.error["message"], done.out
    assert shop.said("hello") == "onesad"


def test_many_functions_roll_back_to_values_unknown_locally(shop: SiteShop) -> None:
    """A title has no room for the marks of so many: the record has noted which deploy it was."""
    shop.functions = {}
    for number in range(25):
        shop.has(f"f{number}", str(number))
    for mood in ("glad", "sad"):
        shop.more = f"env: {{MOOD: {mood}}}\n"
        shop.ran("deploy")
    assert shop.said("f3") == "3sad"
    shop.ran("rollback")
    assert shop.said("f3") == "3glad"
    shop.has("f3", "new")
    shop.more = "env: {MOOD: mad}\n"
    shop.ran("deploy")
    check = "{enabled: true, url: /nothing-here}"
    shop.more = f"env: {{MOOD: bad}}\ndeploy: {{rollbackOnFailure: true, healthCheck: {check}}}\n"
    assert shop.run("deploy").code == 1
    assert shop.said("f3") == "newmad"


def test_rollback_ignores_wrapper_changes(shop: SiteShop) -> None:
    for mood in ("glad", "sad"):
        shop.more = f"env: {{MOOD: {mood}}}\n"
        shop.ran("deploy")
    first, row = next(iter(shop.host2.site.deploys.items()))
    words = str(row.title).split(" ")
    words[2] = "0" * len(words[2])
    shop.host2.site.deploys[first] = dataclasses.replace(row, title=" ".join(words))
    shop.ran("rollback")
    assert shop.said("hello") == "oneglad"


def test_rollback_checks_the_published_deploy(shop: SiteShop) -> None:
    shop.ran("deploy")
    first = shop.host2.site.published
    shop.has("hello", "two", EVERY_HOUR)
    shop.ran("deploy")
    shop.ran("deploy", "--force")
    shop.host2.api("POST", f"/sites/{shop.host2.site.id}/deploys/{first}/restore")
    assert shop.said("hello") == "one"
    shop.ran("rollback")
    assert shop.said("hello") == "two"
