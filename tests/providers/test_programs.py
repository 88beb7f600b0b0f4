"""Programs at providers that run fabric's server: `bootstrap` answers requests, and a rollback
starts the earlier one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.providers.core.contract import FunctionOrder
from fabric.testing.provider_site import HELLO
from tests.support.bootstraps import archive, handler_program
from tests.support.cluster_site import ClusterSite
from tests.support.host3_site import Host3Site
from tests.support.service_site import ServiceSite

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]
_SITES: dict[str, Callable[[Any, Path], ServiceSite]] = {
    "cluster": ClusterSite,
    "host3": Host3Site,
}
_PROGRAM = (
    "def handle(event, headers):\n"
    "    return {'statusCode': 200, 'body': 'WORD' + os.environ.get('MODE', '')}\n"
)


@pytest.fixture(params=_SITES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServiceSite]:
    made = _SITES[request.param](request.getfixturevalue(request.param), tmp_path)
    yield made
    made.close()


def order(site: ServiceSite, word: str, **more: str) -> FunctionOrder:
    content = archive(handler_program(_PROGRAM.replace("WORD", word)))
    made = site.order_of("hello", content, HELLO, **more)
    artifact = replace(made.artifact, handler="bootstrap", runtime="provided.al2023")
    return replace(made, artifact=artifact)


def test_a_program_answers_requests_and_can_be_rolled_back(site: ServiceSite) -> None:
    site.deploy_service(order(site, "one", MODE="!"))
    assert site.response() == "one!"
    then = site.live("hello").resource_id
    site.deploy_service(order(site, "two"))
    assert site.response() == "two"
    site.deploy_service(replace(order(site, "one", MODE="!"), version=then))
    assert site.response() == "one!"
    site.dissolve()
    assert not site.list_resources()
