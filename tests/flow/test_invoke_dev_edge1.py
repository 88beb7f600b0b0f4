"""Deployed stages of other providers: at edge1 users are answered here, and by the cloud again."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.edge1_site import Edge1Site
from tests.support.in_process import project
from tests.support.provider_shop import ProviderShop
from tests.support.servers.edge1.client import Edge1Server
from tests.support.servers.whisk.client import WhiskServer
from tests.support.service_site import asked
from tests.support.streaming import ended, journals, killed, streaming
from tests.support.until import until
from tests.support.whisk_site import WhiskSite

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def shop(edge1: Edge1Server, tmp_path: Path) -> Iterator[ProviderShop]:
    """Deployed, and edited since: who answers is told by the word."""
    site = Edge1Site(edge1, tmp_path)
    made = ProviderShop(site, project(tmp_path / "project", sources={}))
    made.has("hello", "cloud")
    made.has("bye", "cloud too")
    made.ran("deploy")
    made.has("hello", "here")
    made.write()
    yield made
    site.close()


def test_users_at_edge1_are_answered_here_until_it_ends(shop: ProviderShop) -> None:
    assert shop.said("hello") == "cloud"
    with streaming(shop) as found:
        found.until_said("routed: 2 routes")
        assert (shop.said("hello"), shop.said("bye")) == ("here", "cloud too")
        found.until_said("GET /hello 200")
        assert ended(found) == 0
    assert (shop.said("hello"), shop.said("bye")) == ("cloud", "cloud too")
    assert not journals(shop)
    assert shop.run("deploy").code == 0
    assert shop.said("hello") == "here"


def test_a_query_a_body_and_a_redirect_come_through_edge1(shop: ProviderShop) -> None:
    shop.functions["hello"] = ["{type: http, method: ANY, path: '/echo/{proxy+}'}"]
    assert shop.run("deploy").code == 0
    text = """export const handler = async (event) => event.rawPath === "/echo/away"
        ? { statusCode: 302, headers: { location: "https://elsewhere.example/" } }
        : { statusCode: 201, headers: { "x-own": "1" }, body: JSON.stringify(event) };
    """
    shop.project.write({"src/hello.ts": text})
    url = shop.run("outputs").result["services"][0]["outputs"]["url"]
    with streaming(shop) as found:
        found.until_said("routed: ")
        site = shop.site
        assert isinstance(site, Edge1Site)
        answer = site.edge1.http("PUT", f"{url}/echo/a/b?x=1&x=2", b'{"n": 1}')
        assert (answer.status, answer.headers["x-own"]) == (201, "1")
        event = answer.json
        assert event["rawPath"] == "/echo/a/b"
        assert (event["rawQueryString"], event["body"]) == ("x=1&x=2", '{"n": 1}')
        found.until_said("PUT /echo/a/b 201")
        assert asked("GET", f"{url}/echo/away").status == 302
        assert ended(found) == 0


@pytest.mark.parametrize("calls", range(1, 7))
def test_after_a_kill_at_any_call_edge1_routes_can_be_restored(
    shop: ProviderShop, calls: int
) -> None:
    shop.site.reset()
    with streaming(shop) as found:
        until(
            lambda: shop.site.calls() >= calls
            or "routed:" in found.text
            or found.child.poll() is not None
        )
        killed(found)
    done = shop.run("invoke", "dev", "--stream-from", "dev", "--restore")
    assert done.code == 0, done.err
    assert (shop.said("hello"), shop.said("bye")) == ("cloud", "cloud too")
    assert not journals(shop)


def test_unsupported_provider_is_served_with_a_warning(cloud6: WhiskServer, tmp_path: Path) -> None:
    site = WhiskSite(cloud6, tmp_path)
    with contextlib.closing(site):
        shop = ProviderShop(site, project(tmp_path / "project", sources={}))
        shop.has("hello", "cloud")
        shop.ran("deploy")
        shop.has("hello", "here")
        shop.write()
        with streaming(shop) as found:
            found.until_said("this provider does not support it")
            assert found.get("/hello").body == b"here"
            assert shop.said("hello") == "cloud"
            assert ended(found) == 0
        assert not journals(shop)
