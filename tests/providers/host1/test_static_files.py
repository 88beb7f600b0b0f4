"""Static files of a Vercel deployment."""

import pytest

from fabric.providers.core.contract import FunctionOrder
from fabric.testing.provider_site import pack_files
from tests.support.host1_site import Host1Site
from tests.support.orders import trigger

pytestmark = pytest.mark.slow
_HANDLER = 'export const handler = async () => ({ statusCode: 200, body: "by the function" });'


def order(site: Host1Site, words: str) -> FunctionOrder:
    files = {"web/words.txt": words, "web/app/index.html": "<b>"}
    every = trigger("http", method="ANY", path="/{proxy+}")
    return site.order_of("hello", pack_files({"index.mjs": _HANDLER, **files}), every)


def test_files_come_before_functions_and_have_headers(site: Host1Site) -> None:
    site.extension["static"] = {"directory": "./web"}
    site.extension["headers"] = [{"source": "/app/(.*)", "headers": [{"key": "a", "value": "1"}]}]
    site.up(order(site, "one"))
    assert site.said("/words.txt") == "one"
    assert site.asked("GET", "/app/index.html").headers["a"] == "1"
    assert site.said("/api") == "by the function"
    site.up(order(site, "two"))
    assert site.said("/words.txt") == "two"
