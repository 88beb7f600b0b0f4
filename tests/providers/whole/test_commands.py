"""The command line over a service that is deployed as a whole."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.model.catalog import find_provider_facts
from tests.support.in_process import project
from tests.support.provider_shop import EVERY_HOUR, ProviderShop
from tests.support.whole_site import WholeSite

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


class WholeShop(ProviderShop):
    @property
    def whole(self) -> WholeSite:
        assert isinstance(self.site, WholeSite)
        return self.site

    def ran(self, *words: str) -> int:
        """How many calls a success took."""
        super().ran(*words)
        return self.whole.calls()


@pytest.fixture
def shop(site: WholeSite, tmp_path: Path) -> Iterator[WholeShop]:
    made = WholeShop(site, project(tmp_path / "project", sources={}))
    made.has("hello", "one", EVERY_HOUR)
    made.has("bye", "bye")
    yield made
    made.site.close()


def test_a_trigger_and_a_function_that_leave_the_config_leave_the_provider(
    shop: WholeShop,
) -> None:
    shop.has("late", "late", EVERY_HOUR)
    shop.ran("deploy")
    shop.has("hello", "one")
    del shop.functions["late"]
    shop.ran("deploy")
    server = shop.whole.server
    names = [one.removeprefix("shop-dev-") for one in server.left()["functions"]]
    assert names == ["bye", "hello"]
    assert server.schedules() == {}
    assert shop.said("late") == "404"


def test_rollback_restores_triggers_and_functions(shop: WholeShop) -> None:
    shop.ran("deploy")
    (before,) = shop.whole.server.schedules().values()
    assert "0 * * * *" in before
    shop.has("hello", "two", "{type: cron, schedule: rate(1 day)}", path="/greet")
    del shop.functions["bye"]
    shop.ran("deploy")
    assert (shop.said("greet"), shop.said("bye")) == ("two", "404")
    shop.ran("rollback")
    assert list(shop.whole.server.schedules().values()) == [before]
    assert (shop.said("hello"), shop.said("greet"), shop.said("bye")) == ("one", "404", "bye")


def test_single_function_removal_or_deploy_is_refused(shop: WholeShop) -> None:
    shop.ran("deploy")
    shop.site.reset()
    done = shop.run("remove", "--function", "hello", "--yes")
    assert done.error["problems"][0]["code"] == "remove/whole-service"
    assert shop.whole.calls() == 0
    shop.has("hello", "two")
    done = shop.run("deploy", "--function", "hello")
    (problem,) = done.error["problems"]
    assert problem["code"] == "deploy/whole-service"
    assert "cannot deploy only `hello`" in problem["message"]
    assert shop.whole.calls() == 0
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("two", "bye")


def test_forced_deploy_restores_a_removed_version(shop: WholeShop) -> None:
    shop.ran("deploy")
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "in-sync"
    shop.whole.unpublish()
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "missing", entry
    assert shop.ran("deploy") == 0
    shop.ran("deploy", "--force")
    assert shop.said("hello") == "one"


def test_another_place_is_refused_before_the_first_change(shop: WholeShop) -> None:
    shop.ran("deploy")
    own, other = shop.whole, shop.whole.beside("shop")
    shop.site = other
    for words in (("plan",), ("deploy",), ("rollback",), ("remove", "--yes")):
        done = shop.run(*words)
        (problem,) = done.error["problems"]
        assert (done.code, problem["code"]) == (1, "deploy/other-place"), done.out
    assert other.calls() == 0
    other.close()
    shop.site = own
    shop.ran("remove", "--yes")
    assert own.left() == {}


def test_unsupported_schedule_is_reported_at_plan_with_its_line(shop: WholeShop) -> None:
    shop.has("hello", "one", "{type: cron, schedule: rate(7 minutes)}")
    done = shop.run("plan")
    (problem,) = done.error["problems"]
    assert (done.code, problem["code"]) == (65, "config/unfit")
    assert "rate(7 minutes)" in problem["message"]
    assert problem["where"]["line"] == 4
    assert shop.whole.calls() == 0


def test_indistinguishable_routes_are_refused_at_plan(shop: WholeShop) -> None:
    shop.has("hello", "one", path="/things/{id}")
    shop.has("bye", "bye", path="/things/{name}")
    done = shop.run("plan")
    assert done.code == 65, done.out
    assert "/things/{name}" in done.error["message"]


def test_a_python_service_is_refused_at_plan(shop: WholeShop) -> None:
    provider = shop.site.provider
    facts = find_provider_facts(provider)
    if facts is None or "python" in facts.platform.families:
        return  # it runs there
    config = (
        f"service: shop\nprovider: {{name: {provider}, runtime: python3.12}}\n"
        "functions: [{name: hello, entry: hello.py}]\n"
    )
    handler = "def handler(event, context):\n    return 1\n"
    shop.project.write({"hello.py": handler, "fabric.yml": config})
    real = {f"FABRIC_{provider.upper()}_REAL_DEPLOY": "1"}
    done = shop.project.json("plan", env={**shop.site.environment, **real})
    assert "has the runtime `python3.12`, and fabric supports only" in done.error["message"]


def test_values_that_went_with_their_version_have_to_be_known(shop: WholeShop) -> None:
    for mood in ("glad", "sad"):
        shop.more = f"env: {{MOOD: {mood}}}\n"
        shop.ran("deploy")
    shop.whole.delete_first_version()
    done = shop.run("rollback")
    assert "MOOD" in done.error["message"], done.out
    assert shop.said("hello") == "onesad"
