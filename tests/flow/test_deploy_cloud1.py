"""Deploys to a strict cloud1 that are killed, refused half-way, or at work at the same time."""

from pathlib import Path

import pytest

from tests.support.cloud1_shop import EVERY_HOUR, FROM_QUEUE, Shop
from tests.support.cloud1_site import make_queue
from tests.support.in_process import project
from tests.support.project import ended
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.until import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

_MANY = 200
_REFUSED = {"status": 400, "code": "InvalidParameterValueException"}


def shop_of(cloud1: StrictCloud1, folder: Path) -> Shop:
    return Shop(cloud1, project(folder, sources={}))


def killed_after(shop: Shop, calls: int, *words: str) -> None:
    """The command is gone once cloud1 was asked so often, or it was done before."""
    shop.cloud1.reset()
    child = shop.start(*words)
    until(lambda: sum(shop.cloud1.calls().values()) >= calls or child.poll() is not None)
    child.kill()
    child.communicate()


def released(shop: Shop) -> dict[str, object]:
    """Which version users meet under each name."""
    client = shop.cloud1.client("lambda")
    names = [one["FunctionName"] for one in client.list_functions()["Functions"]]
    return {
        name: client.get_alias(FunctionName=name, Name="live")["FunctionVersion"] for name in names
    }


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4, 0.6, 0.8, 0.95])
def test_a_deploy_that_was_killed_is_finished_by_the_next(
    cloud1: StrictCloud1, tmp_path: Path, share: float
) -> None:
    shop = shop_of(cloud1, tmp_path)
    make_queue(cloud1)
    for name in ("hello", "bye", "more"):
        shop.has(name, "one", EVERY_HOUR)
    shop.has("hello", "one", EVERY_HOUR, FROM_QUEUE)
    whole = sum(shop.ran("deploy").values())
    made = cloud1.left()
    shop.ran("remove", "--yes")
    assert cloud1.left() == {}
    killed_after(shop, int(whole * share), "deploy", "--force")
    shop.ran("deploy")
    assert {kind: len(names) for kind, names in cloud1.left().items()} == {
        kind: len(names) for kind, names in made.items()
    }
    assert [shop.said(name) for name in shop.functions] == ["one"] * 3
    shop.has("more", "two", EVERY_HOUR)
    killed_after(shop, 1 + int(8 * share), "deploy")
    assert shop.said("more") in {"one", "two"}
    shop.ran("deploy")
    assert shop.said("more") == "two"
    assert shop.ran("deploy") == {}
    shop.ran("remove", "--yes")
    assert cloud1.left() == {}


def test_a_removal_that_was_killed_is_finished_by_the_next(
    cloud1: StrictCloud1, tmp_path: Path
) -> None:
    shop = shop_of(cloud1, tmp_path)
    for name in ("hello", "bye", "more"):
        shop.has(name, "one", EVERY_HOUR)
    shop.ran("deploy")
    killed_after(shop, 6, "remove", "--yes")
    shop.ran("remove", "--yes")
    assert cloud1.left() == {}


def test_one_refusal_among_two_hundred_moves_no_alias(cloud1: StrictCloud1, tmp_path: Path) -> None:
    shop = shop_of(cloud1, tmp_path)
    for number in range(_MANY):
        shop.has(f"f{number}", "one")
    shop.ran("deploy")
    before = released(shop)
    for number in range(_MANY):
        shop.has(f"f{number}", "two")
    cloud1.reset()
    cloud1.fault("lambda.UpdateFunctionCode", skip=_MANY // 2, **_REFUSED)
    done = shop.run("deploy", "--rollback-on-failure")
    assert (done.code, done.error["code"]) == (1, "provider/refused"), done.error
    assert "lambda.UpdateAlias" not in cloud1.calls()
    assert released(shop) == before
    assert {shop.said(f"f{number}") for number in (0, 99, 100, 199)} == {"one"}
    shop.ran("deploy")
    assert {shop.said(f"f{number}") for number in (0, 99, 100, 199)} == {"two"}


def test_two_deploys_at_once_are_one_after_the_other(cloud1: StrictCloud1, tmp_path: Path) -> None:
    shop = shop_of(cloud1, tmp_path)
    for name in ("hello", "bye"):
        shop.has(name, "one", EVERY_HOUR)
    words = ("deploy", "--json", "--lock-timeout", "60s")
    runs = [ended(child) for child in [shop.start(*words) for _ in range(2)]]
    assert [done.code for done in runs] == [0, 0], [done.out + done.err for done in runs]
    calls = cloud1.calls()
    assert (calls["lambda.CreateFunction"], calls["apigatewayv2.CreateApi"]) == (2, 1)
    assert shop.ran("deploy") == {}
