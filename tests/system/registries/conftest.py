"""A registry without a login for all tests of a worker; each test has repositories of its own."""

import uuid
from dataclasses import dataclass

import pytest

from fabric.runtimes.contract import BuiltFile
from fabric.system.registries.images import Image, ImageStart, build_image
from fabric.system.registries.layers import write_layer
from fabric.system.registries.push import PushOrder, list_blobs
from tests.support.images import read_base
from tests.support.servers.docker_registry import DockerRegistry


@dataclass(frozen=True)
class Pushed:
    """An image that a test pushes, with its repository."""

    base: str
    repository: str

    def image(self, *files: BuiltFile) -> tuple[Image, PushOrder]:
        base = read_base(self.base)
        layer = write_layer(files)
        image = build_image(base, [layer.row], ImageStart("app.handler", "python3.12", ""))
        config = list_blobs(image.manifest)[-1]
        return image, PushOrder(
            registry=base.reference.partition("/")[0],
            repository=self.repository,
            manifest=image.manifest,
            digest=image.digest,
            contents={layer.digest: lambda: layer.content, config: lambda: image.config},
            base=base.reference,
        )

    def order(self, *files: BuiltFile) -> PushOrder:
        return self.image(*(files or (BuiltFile("app.py", b"def handler(): ..."),)))[1]


@pytest.fixture
def pushed(registry: DockerRegistry) -> Pushed:
    name = uuid.uuid4().hex[:8]
    return Pushed(registry.push_base(f"base-{name}", text=name), f"functions/{name}")
