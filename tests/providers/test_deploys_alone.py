"""A deploy alone changes nothing that users meet: also not what functions have beside versions."""

import pytest
from msgspec.structs import replace

from tests.support.cloud1_site import Cloud1Site
from tests.support.cloud4_site import Cloud4Site
from tests.support.orders import HTTP
from tests.support.service_site import ServiceSite

pytestmark = pytest.mark.slow


def beside(site: ServiceSite) -> object:
    if isinstance(site, Cloud1Site):
        found = site.cloud1.client("lambda").get_function(FunctionName="shop-dev-hello")
        return found["Tags"].get("team"), found.get("Concurrency")
    assert isinstance(site, Cloud4Site)
    held = site.cloud4.function("shop-dev-hello")
    return [row["Value"] for row in held.row["tags"]], held.reserved


def test_tags_and_reserved_concurrency_change_only_at_release(any_site: ServiceSite) -> None:
    site = any_site
    if not isinstance(site, Cloud1Site | Cloud4Site):
        return  # its tags are a version's own, or there are none
    order = replace(site.order("hello", HTTP), tags=(("team", "a"),), reserved_concurrency=5)
    site.up(order)
    before = beside(site)
    assert "a" in str(before)
    other = replace(order, tags=(("team", "b"),), reserved_concurrency=7, mark="b" * 32)
    site.deploy(other)
    assert beside(site) == before
    site.release(["hello"])
    assert beside(site) != before
    assert "b" in str(beside(site))
    assert "7" in str(beside(site))
