"""Commands that are killed at some call of a provider: the next one ends what they began."""

import random
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.provider_shop import EVERY_HOUR, ProviderShop
from tests.support.service_site import ServiceSite
from tests.support.until import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def shop(any_site: ServiceSite, tmp_path: Path) -> ProviderShop:
    made = ProviderShop(any_site, project(tmp_path / "project", sources={}))
    for name in ("hello", "bye", "more"):
        made.has(name, "one", EVERY_HOUR)
    return made


def counted(shop: ProviderShop) -> dict[str, int]:
    """All that is there, by kind: the provider's own ids are others each time."""
    left = shop.site.left()
    names = left if isinstance(left, dict) else {"objects": left}
    return {
        kind: len(found) if isinstance(found, list | dict) else int(bool(found))
        for kind, found in names.items()
    }


def killed_after(shop: ProviderShop, calls: int, *words: str) -> None:
    """The command is gone once the provider was asked so often, or it was done before."""
    shop.site.reset()
    child = shop.start(*words)
    until(lambda: shop.site.calls() >= calls or child.poll() is not None)
    child.kill()
    child.communicate()


def test_a_deploy_that_was_killed_is_finished_by_the_next(shop: ProviderShop) -> None:
    # At another call in each run of the tests.
    share = random.random()
    shop.ran("deploy")
    whole, made = shop.site.calls(), counted(shop)
    shop.ran("remove", "--yes")
    assert not shop.site.left()
    killed_after(shop, int(whole * share), "deploy", "--force")
    shop.ran("deploy")
    assert counted(shop) == made
    assert [shop.said(name) for name in shop.functions] == ["one"] * 3
    shop.has("more", "two", EVERY_HOUR)
    killed_after(shop, 1 + int(whole * share / 3), "deploy")
    assert shop.said("more") in {"one", "two"}
    shop.ran("deploy")
    assert shop.said("more") == "two"
    assert shop.ran("deploy") == 0
    shop.ran("remove", "--yes")
    assert not shop.site.left()


def test_a_removal_that_was_killed_is_finished_by_the_next(shop: ProviderShop) -> None:
    shop.ran("deploy")
    killed_after(shop, 2, "remove", "--yes")
    shop.ran("remove", "--yes")
    assert not shop.site.left()


def test_a_deploy_after_a_removal_that_was_killed_makes_all_of_it_again(
    shop: ProviderShop,
) -> None:
    changes = random.randint(1, 3)
    shop.ran("deploy")
    made = counted(shop)
    shop.site.reset()
    child = shop.start("remove", "--yes")
    until(lambda: shop.site.changes() >= changes or child.poll() is not None)
    child.kill()
    child.communicate()
    rows = shop.run("plan").result["services"][0]["functions"]
    assert {row["change"] for row in rows} <= {"update", "create"}, rows
    shop.ran("deploy")
    assert counted(shop) == made
    assert [shop.said(name) for name in shop.functions] == ["one"] * 3
    assert shop.ran("deploy") == 0


def test_two_concurrent_deploys_leave_the_result_of_one(shop: ProviderShop) -> None:
    shop.ran("deploy")
    made = counted(shop)
    shop.ran("remove", "--yes")
    both = [shop.start("deploy"), shop.start("deploy")]
    for child in both:
        child.communicate()
    codes = sorted(child.returncode for child in both)
    assert codes in ([0, 0], [0, 75]), codes
    assert shop.ran("deploy") == 0
    assert counted(shop) == made
    assert [shop.said(name) for name in shop.functions] == ["one"] * 3
    shop.ran("remove", "--yes")
    assert not shop.site.left()
