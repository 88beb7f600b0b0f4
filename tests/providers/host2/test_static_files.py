"""Static files of a Netlify site, with their headers and pages."""

import pytest

from fabric.providers.core.contract import FunctionOrder
from fabric.testing.provider_site import pack_files
from tests.support.host2_site import Host2Site
from tests.support.orders import trigger

pytestmark = pytest.mark.slow
_HANDLER = 'export const handler = async () => ({ statusCode: 200, body: "by the function" });'


def order(site: Host2Site, words: str) -> FunctionOrder:
    files = {
        "web/words.txt": words,
        "web/app/index.html": "<b>",
        "web/_headers": "/app/*\n  b: 2\n",
    }
    every = trigger("http", method="ANY", path="/{proxy+}")
    return site.order_of("hello", pack_files({"index.mjs": _HANDLER, **files}), every)


def test_files_come_before_functions_and_roll_back(site: Host2Site) -> None:
    site.extension["static"] = {"directory": "web"}
    site.extension["headers"] = [{"for": "/*", "values": {"a": "1"}}]
    site.extension["redirects"] = [{"from": "/old/*", "to": "/app/index.html", "status": 200}]
    first = order(site, "one")
    site.up(first)
    assert site.said("/words.txt") == "one"
    assert site.said("/app") == "<b>"
    assert site.said("/api") == "by the function"
    answer = site.asked("GET", "/app/index.html")
    assert (answer.headers["a"], answer.headers["b"]) == ("1", "2")
    site.up(order(site, "two"))
    assert site.said("/words.txt") == "two"
    site.up(first)
    assert site.said("/words.txt") == "one"
