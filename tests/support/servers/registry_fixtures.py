"""A registry without a login for all tests of a worker, and a front of it for one test."""

from collections.abc import Iterator

import pytest

from tests.support.servers.docker_registry import DockerRegistry, docker_registry
from tests.support.servers.registry_proxy import RegistryProxy, registry_proxy


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerRegistry]:
    with docker_registry(tmp_path_factory.mktemp("registry")) as found:
        yield found


@pytest.fixture
def proxy(registry: DockerRegistry) -> Iterator[RegistryProxy]:
    with registry_proxy(registry.name) as found:
        yield found
