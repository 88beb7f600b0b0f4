"""The command line over all of it: what a user does in a day, and how often host1 is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host1_site import Host1Site
from tests.support.in_process import project
from tests.support.provider_shop import EVERY_HOUR, ProviderShop
from tests.support.servers.host1.client import Host1Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

_HEAD = "service: shop\nprovider: {name: host1, runtime: nodejs}\n"


class HostShop(ProviderShop):
    @property
    def host1(self) -> Host1Server:
        assert isinstance(self.site, Host1Site)
        return self.site.host1

    def ran(self, *words: str) -> int:
        """How many calls a success took."""
        super().ran(*words)
        return len(self.host1.calls())


@pytest.fixture
def shop(host1: Host1Server, tmp_path: Path) -> Iterator[HostShop]:
    made = HostShop(Host1Site(host1, tmp_path), project(tmp_path / "project", sources={}))
    made.has("hello", "one", EVERY_HOUR)
    made.has("bye", "bye")
    yield made
    made.site.close()


def test_a_day_of_a_service(shop: HostShop) -> None:
    plan = shop.run("plan")
    assert plan.code == 0, plan.out
    assert shop.host1.calls() == []
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    assert shop.ran("deploy") == 0
    shop.has("hello", "two", EVERY_HOUR)
    # Its code, its clock's path, and where that leads.
    assert (shop.ran("deploy"), shop.said("hello")) == (3 + 11, "two")
    done = shop.run("invoke", "run", "--function", "hello")
    assert done.result["response"] == "two"
    assert (shop.ran("rollback"), shop.said("hello")) == (8, "one")
    shop.ran("remove", "--yes")
    assert shop.host1.left() == {}
    assert shop.run("remove", "--yes").code == 0


def test_functions_share_uploaded_wrapper_files(shop: HostShop) -> None:
    shop.functions = {}
    for number in range(12):
        shop.has(f"f{number}", str(number))
    shop.ran("deploy")
    project = shop.host1.project
    (row,) = project.deployments.values()
    assert len(project.blobs) < len(row.files) / 5
    shop.has("f7", "other")
    assert (shop.ran("deploy"), shop.said("f7"), shop.said("f0")) == (1 + 11, "other", "0")


def test_a_trigger_and_a_function_that_leave_the_config_leave_the_provider(shop: HostShop) -> None:
    shop.has("late", "late", EVERY_HOUR)
    shop.ran("deploy")
    shop.has("hello", "one")
    del shop.functions["late"]
    shop.ran("deploy")
    assert shop.host1.left()["functions"] == ["shop-dev-bye", "shop-dev-hello"]
    assert shop.host1.schedules() == {}
    assert shop.said("late") == "404"


def test_rollback_restores_triggers_and_functions(shop: HostShop) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", "{type: cron, schedule: rate(1 day)}", path="/greet")
    del shop.functions["bye"]
    shop.ran("deploy")
    assert (shop.said("greet"), shop.said("bye")) == ("two", "404")
    shop.ran("rollback")
    assert list(shop.host1.schedules().values()) == [["0 * * * *"]]
    assert (shop.said("hello"), shop.said("greet"), shop.said("bye")) == ("one", "404", "bye")


def test_single_function_removal_or_deploy_is_refused(shop: HostShop) -> None:
    shop.ran("deploy")
    shop.host1.reset()
    done = shop.run("remove", "--function", "hello", "--yes")
    assert done.error["problems"][0]["code"] == "remove/whole-service"
    assert shop.host1.calls() == []
    shop.has("hello", "two")
    done = shop.run("deploy", "--function", "hello")
    (problem,) = done.error["problems"]
    assert problem["code"] == "deploy/whole-service"
    assert "cannot deploy only `hello`" in problem["message"]
    assert shop.host1.calls() == []
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("two", "bye")


def test_forced_deploy_restores_a_removed_deployment(shop: HostShop) -> None:
    shop.ran("deploy")
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "in-sync"
    shop.host1.project.current = ""
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "missing", entry
    assert shop.ran("deploy") == 0
    shop.ran("deploy", "--force")
    assert shop.said("hello") == "one"


def test_another_project_is_refused_before_the_first_change(shop: HostShop) -> None:
    shop.ran("deploy")
    own, other = shop.host1, Host1Server(shop.host1.front)
    shop.site = Host1Site(other, shop.site.folder)
    for words in (("plan",), ("deploy",), ("rollback",), ("remove", "--yes")):
        done = shop.run(*words)
        (problem,) = done.error["problems"]
        assert (done.code, problem["code"]) == (1, "deploy/other-place"), done.out
    assert other.calls() == []
    shop.site.close()
    shop.site = Host1Site(own, shop.site.folder)
    shop.ran("remove", "--yes")
    assert own.left() == {}


def test_unsupported_schedule_is_reported_at_plan_with_its_line(shop: HostShop) -> None:
    shop.has("hello", "one", "{type: cron, schedule: rate(7 minutes)}")
    done = shop.run("plan")
    (problem,) = done.error["problems"]
    assert (done.code, problem["code"]) == (65, "config/unfit")
    assert "rate(7 minutes)" in problem["message"]
    assert problem["where"]["line"] == 4
    assert shop.host1.calls() == []


def test_indistinguishable_routes_are_refused_at_plan(shop: HostShop) -> None:
    shop.has("hello", "one", path="/things/{id}")
    shop.has("bye", "bye", path="/things/{name}")
    done = shop.run("plan")
    assert done.code == 65, done.out
    assert "/things/{name}" in done.error["message"]


def test_a_python_service_is_refused_at_plan(shop: HostShop) -> None:
    config = _HEAD.replace("nodejs", "python3.12") + "functions: [{name: hello, entry: hello.py}]\n"
    handler = "def handler(event, context):\n    return 1\n"
    shop.project.write({"hello.py": handler, "fabric.yml": config})
    env = {**shop.host1.environment, "FABRIC_HOST1_REAL_DEPLOY": "1"}
    done = shop.project.json("plan", env=env)
    assert "only nodejs20, 22 and 24" in done.error["message"]


def test_values_that_went_with_their_deploy_have_to_be_known(shop: HostShop) -> None:
    for mood in ("glad", "sad"):
        shop.more = f"env: {{MOOD: {mood}}}\n"
        shop.ran("deploy")
    first = next(iter(shop.host1.project.deployments))
    shop.host1.api("DELETE", f"/v13/deployments/{first}")
    done = shop.run("rollback")
    assert "MOOD" in done.error["message"], done.out
    assert shop.said("hello") == "onesad"
