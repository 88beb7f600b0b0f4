"""Deploys to a strict cloud1 that are killed, refused half-way, or at work at the same time."""

from pathlib import Path

import pytest

from tests.support.cloud1_shop import EVERY_HOUR, Shop
from tests.support.in_process import project
from tests.support.project import ended
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

# More than are deployed at a time.
_MANY = 60
_REFUSED = {"status": 400, "code": "InvalidParameterValueException"}


def shop_of(cloud1: StrictCloud1, folder: Path) -> Shop:
    return Shop(cloud1, project(folder, sources={}))


def released(shop: Shop) -> dict[str, object]:
    """Which version users meet under each name."""
    client = shop.cloud1.client("lambda")
    names = [one["FunctionName"] for one in client.list_functions()["Functions"]]
    return {
        name: client.get_alias(FunctionName=name, Name="live")["FunctionVersion"] for name in names
    }


def test_one_refusal_among_many_moves_no_alias(cloud1: StrictCloud1, tmp_path: Path) -> None:
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
    assert {shop.said(f"f{number}") for number in (0, 29, 30, 59)} == {"one"}
    shop.ran("deploy")
    assert {shop.said(f"f{number}") for number in (0, 29, 30, 59)} == {"two"}


def test_two_simultaneous_deploys_run_one_after_the_other(
    cloud1: StrictCloud1, tmp_path: Path
) -> None:
    shop = shop_of(cloud1, tmp_path)
    for name in ("hello", "bye"):
        shop.has(name, "one", EVERY_HOUR)
    words = ("deploy", "--json", "--lock-timeout", "60s")
    runs = [ended(child) for child in [shop.start(*words) for _ in range(2)]]
    assert [done.code for done in runs] == [0, 0], [done.out + done.err for done in runs]
    calls = cloud1.calls()
    assert (calls["lambda.CreateFunction"], calls["apigatewayv2.CreateApi"]) == (2, 1)
    assert shop.ran("deploy") == {}
