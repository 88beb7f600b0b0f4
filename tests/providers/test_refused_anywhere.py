"""One refusal among many functions, at every provider that fabric deploys to itself."""

from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.provider_shop import ProviderShop
from tests.support.service_site import ServiceSite

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

_NAMES = tuple(f"f{number}" for number in range(4))


def all_say(shop: ProviderShop, word: str) -> None:
    for name in _NAMES:
        shop.has(name, word)


def met(shop: ProviderShop) -> set[str]:
    return {shop.said(name) for name in _NAMES}


def test_one_refusal_in_the_middle_changes_nothing_that_users_meet(
    any_site: ServiceSite, tmp_path: Path
) -> None:
    shop = ProviderShop(any_site, project(tmp_path / "project", sources={}))
    all_say(shop, "one")
    shop.ran("deploy")
    all_say(shop, "two")
    changes = shop.ran("deploy")
    assert met(shop) == {"two"}
    all_say(shop, "three")
    shop.site.reset()
    shop.site.refuse_change(skip=changes // 2)
    done = shop.run("deploy", "--rollback-on-failure")
    assert done.code != 0, done.out
    assert met(shop) == {"two"}
    shop.site.reset()
    shop.ran("deploy")
    assert met(shop) == {"three"}
