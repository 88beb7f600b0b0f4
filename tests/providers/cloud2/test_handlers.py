"""What stands around a handler at cloud2, in the real functions framework."""

import pytest
from msgspec.structs import replace

from fabric.providers.contract import FunctionOrder
from tests.support.cloud2_site import Cloud2Site
from tests.support.function_archive import archive
from tests.support.http_cases import HTTP_CASES
from tests.support.http_handlers import HandlerAnswer, HandlerCase, Host, answered, cases_of
from tests.support.orders import trigger

pytestmark = pytest.mark.slow

_NAME = "shop-dev-hello"


def packed(source: str, file: str = "index.js") -> bytes:
    return archive(**{file.replace(".", "_"): source})


def in_python(order: FunctionOrder) -> FunctionOrder:
    return replace(order, artifact=replace(order.artifact, runtime="python3.11"))


def met(site: Cloud2Site, case: HandlerCase) -> HandlerAnswer:
    asked, url = case.asked, site.cloud2.project.url(_NAME) + case.asked.path
    body = iter(asked.chunks) if asked.chunks else asked.body
    return site.cloud2.http(asked.method, url, body, asked.headers)


def ordered(site: Cloud2Site, case: HandlerCase, content: bytes) -> FunctionOrder:
    http = [trigger("http", method=method, path=path) for method, path in case.routes]
    order = site.order_of("hello", content, *http)
    return replace(order, settings=(("timeout", str(case.timeout)),))


@cases_of(Host.FRAMEWORK_NODE, HTTP_CASES)
def test_a_handler_of_node_answers_as_it_does_everywhere(
    site: Cloud2Site, case: HandlerCase
) -> None:
    site.up(ordered(site, case, packed(case.source, case.file)))
    answered(case, met(site, case))
    assert case.logged in site.cloud2.log(_NAME)


@cases_of(Host.FRAMEWORK_PYTHON, HTTP_CASES)
def test_a_handler_of_python_answers_as_it_does_everywhere(
    site: Cloud2Site, case: HandlerCase
) -> None:
    site.up(in_python(ordered(site, case, packed(case.python, "index.py"))))
    answered(case, met(site, case))
    assert case.logged in site.cloud2.log(_NAME)
