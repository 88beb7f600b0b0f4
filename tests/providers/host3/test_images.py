"""A service whose archives do not fit into the config of a machine: its machines run an image."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import UntouchedError
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.host3.documents import MOST_BYTES
from fabric.testing.provider_site import BYE, HELLO, pack_files
from tests.providers.host3.conftest import UnscheduledSite
from tests.support.host3_site import Host3Site
from tests.support.servers.docker_registry import DockerRegistry
from tests.support.servers.host3.client import Host3Server
from tests.support.servers.pulled_images import NotThereError, pull

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.timeout(90)]
_HANDLER = "export const handler = async () => ({{statusCode: 200, body: {}}});"
_LARGE = "x" * MOST_BYTES


@pytest.fixture
def large(host3: Host3Server, registry: DockerRegistry, tmp_path: Path) -> Iterator[Host3Site]:
    base = registry.push_base(f"node-{tmp_path.name.lower()}")
    env = {"HOST3_IMAGE": base, "HOST3_REGISTRY": registry.name}
    made = UnscheduledSite(host3, tmp_path, env=env)
    yield made
    made.close()


def orders(site: Host3Site, word: str = "one") -> tuple[FunctionOrder, FunctionOrder]:
    files = {"index.mjs": _HANDLER.format(json.dumps(word)), "data.txt": _LARGE}
    return site.order_of("hello", pack_files(files), HELLO), site.order("bye", BYE, word="bye")


def image(site: Host3Site) -> str:
    """The image of the machine that serves."""
    [one] = site.host3.open_machines
    return str(one.config["image"])


def test_a_large_service_runs_from_an_image_of_its_app(large: Host3Site) -> None:
    large.up(*orders(large))
    assert (large.said(), large.said("/bye")) == ("one", "bye")
    first = image(large)
    assert first.startswith(f"{large.env['HOST3_REGISTRY']}/{large.host3.app.name}@sha256:")
    assert len(pull(first).layers) == 4
    large.talk.clear()
    large.up(*orders(large, "two"))
    assert large.said() == "two"
    # The layer of the changed function, and the config.
    pushed = next(one for one in large.talk if "pushed" in one)
    assert pushed.endswith("(2 new blobs)")


def test_a_rollback_needs_no_registry(large: Host3Site) -> None:
    large.up(*orders(large))
    then = large.live("hello").resource_id
    large.up(*orders(large, "two"))
    large.env = {**large.env, "HOST3_IMAGE": "127.0.0.1:1/none:1"}
    large.up(*(replace(one, version=then) for one in orders(large)))
    assert large.said() == "one"


def test_a_removal_deletes_the_images(large: Host3Site) -> None:
    large.up(*orders(large))
    first = image(large)
    large.dissolve()
    with pytest.raises(NotThereError):
        pull(first)


def test_a_missing_base_changes_nothing(large: Host3Site, registry: DockerRegistry) -> None:
    large.env = {**large.env, "HOST3_IMAGE": f"{registry.name}/none:1"}
    with pytest.raises(UntouchedError) as raised:
        large.up(*orders(large))
    assert raised.value.first.code == "image/not-found"
    assert {method for method, *_ in large.host3.app.calls} <= {"GET"}
