"""Names of functions that the config sets: `functionName`."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.cloud1_shop import EVERY_HOUR, Shop
from tests.support.in_process import project
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


class NamedShop(Shop):
    """A service with one function, whose name at AWS is `named`."""

    function = "hello"
    named = "orders-${stage}"
    code = "one"

    def write(self) -> None:
        self.functions = {}
        self.has(
            self.function, self.code, EVERY_HOUR, "{type: cron, schedule: at(2040-01-01T00:00:00)}"
        )
        self.more = f', functionName: "{self.named}"' if self.named else ""
        self.more += f', env: {{OWN: "${{function:{self.function}.name}}"}}'
        super().write()

    @property
    def names(self) -> list[str]:
        rows = self.cloud1.client("lambda").list_functions()["Functions"]
        return sorted(one["FunctionName"] for one in rows)

    def refused(self, *words: str) -> str:
        done = self.run(*words)
        assert done.code, done.out
        return str(done.document["error"]["message"])


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> NamedShop:
    return NamedShop(cloud1, project(tmp_path / "project", sources={}))


def test_a_function_has_the_name_of_the_config_for_its_whole_life(shop: NamedShop) -> None:
    shop.ran("deploy")
    assert shop.names == ["orders-dev"]
    assert shop.said("hello") == "one"
    found: Any = shop.cloud1.client("lambda").get_function_configuration(FunctionName="orders-dev")
    assert found["Environment"]["Variables"]["OWN"] == "orders-dev"
    assert shop.ran("deploy") == {}
    shop.code = "two"
    shop.ran("deploy")
    assert (shop.names, shop.said("hello")) == (["orders-dev"], "two")
    shop.ran("rollback")
    assert shop.said("hello") == "one"
    shop.ran("remove", "--yes")
    assert not shop.cloud1.left()


def test_a_deployed_function_is_renamed_only_with_its_name_in_the_config(shop: NamedShop) -> None:
    shop.ran("deploy")
    shop.named = ""
    assert "AWS cannot rename it to `shop-dev-hello`" in shop.refused("plan")
    assert "AWS cannot rename it" in shop.refused("deploy")
    shop.function, shop.named = "world", "parcels"
    calls = shop.cloud1.answers
    shop.ran("deploy")
    order = [name for name, _ in calls()]
    assert order.index("lambda.CreateFunction") < order.index("lambda.DeleteFunction")
    assert (shop.names, shop.said("world")) == (["parcels"], "one")


def test_a_deploy_that_failed_is_found_by_the_name_of_its_first_call(shop: NamedShop) -> None:
    shop.cloud1.fault("lambda.CreateFunction", after=True, times=1)
    shop.cloud1.fault("lambda.GetFunction", skip=1, times=50)
    assert shop.run("deploy").code
    assert shop.names == ["orders-dev"]
    shop.cloud1.reset()
    shop.named = "parcels"
    assert "`orders-dev` by an interrupted deploy" in shop.refused("deploy")
    shop.function = "world"
    shop.ran("deploy")
    assert shop.names == ["parcels"]


def test_a_taken_name_is_refused_and_another_one_is_possible(shop: NamedShop) -> None:
    shop.ran("deploy")
    shop.service = "other"
    assert "the function `orders-dev` already exists" in shop.refused("deploy")
    shop.named = "others"
    shop.ran("deploy")
    assert shop.names == ["orders-dev", "others"]


def test_a_new_name_after_a_killed_deploy_without_one_is_refused(shop: NamedShop) -> None:
    shop.named = ""
    shop.cloud1.fault("lambda.CreateFunction", after=True, times=1)
    shop.cloud1.fault("lambda.GetFunction", skip=1, times=50)
    assert shop.run("deploy").code
    shop.cloud1.reset()
    shop.named = "orders"
    assert "`shop-dev-hello` by an interrupted deploy" in shop.refused("deploy")
    assert shop.names == ["shop-dev-hello"]
    shop.named = ""
    shop.ran("deploy")
    assert shop.said("hello") == "one"
