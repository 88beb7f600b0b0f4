"""A service lies in one account: under another one nothing of it is changed."""

from collections.abc import Iterator

import pytest

from fabric.model.problems import FabricError
from tests.support.edge1_site import Edge1Site
from tests.support.orders import HTTP
from tests.support.servers.edge1.client import Edge1Server

pytestmark = pytest.mark.slow


@pytest.fixture
def other(edge1: Edge1Server) -> Iterator[Edge1Server]:
    account = Edge1Server(edge1.endpoint)
    account.reset()
    yield account
    account.forget()


def go_to(site: Edge1Site, account: Edge1Server) -> None:
    names = ("EDGE1_API_TOKEN", "EDGE1_ACCOUNT_ID", "EDGE1_WORKERS_URL")
    site.env = {name: account.environment[name] for name in names}


def told_of(site: Edge1Site, other: Edge1Server) -> Iterator[FabricError]:
    changes = (
        lambda: site.deploy(site.order("hello", HTTP, word="two")),
        lambda: site.release(["hello"]),
        lambda: site.destroy("hello"),
        site.dissolve,
    )
    for change in changes:
        with pytest.raises(FabricError) as raised:
            change()
        yield raised.value
    assert other.calls() == []


def test_under_another_account_nothing_is_changed(site: Edge1Site, other: Edge1Server) -> None:
    site.up(site.order("hello", HTTP))
    go_to(site, other)
    for error in told_of(site, other):
        assert error.first.code == "deploy/other-place"
        assert site.edge1.account in error.first.message
        assert other.account in error.first.message
        assert site.edge1.account in error.first.hint
    go_to(site, site.edge1)
    assert site.said() == "one"
    site.dissolve()
    assert site.edge1.left() == {}


def test_a_first_deploy_that_was_never_released_has_an_account_too(
    site: Edge1Site, other: Edge1Server
) -> None:
    site.deploy(site.order("hello", HTTP))
    go_to(site, other)
    assert {one.first.code for one in told_of(site, other)} == {"deploy/other-place"}


def test_a_service_that_was_removed_may_go_elsewhere(site: Edge1Site, other: Edge1Server) -> None:
    site.up(site.order("hello", HTTP))
    site.dissolve()
    site.record = None
    go_to(site, other)
    site.up(site.order("hello", HTTP))
    assert site.edge1.left() == {}
    assert other.left()["workers"] == ["shop-dev", "shop-dev-hello"]
