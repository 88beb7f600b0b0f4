"""Functions as container images in a cluster: pushed to a registry, and pulled by its nodes."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.in_process import project
from tests.support.project import Done, Project
from tests.support.servers.cluster.fixtures import TestedCluster
from tests.support.servers.docker_registry import DockerRegistry
from tests.support.servers.pulled_images import NotThereError, pull
from tests.support.service_site import asked

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.timeout(90)]
_PYTHON = "def handler(event, context):\n    return {'statusCode': 200, 'body': 'WORD'}\n"
_NODE = "export const handler = async () => ({ statusCode: 200, body: 'node' });\n"


class Shop:
    def __init__(self, cluster: TestedCluster, made: Project, registry: str, base: str) -> None:
        self.cluster, self.project, self.base = cluster, made, base
        self.registry = f"{registry}/{made.root.name.lower()}"
        self.has()

    def has(self, word: str = "one", registry: str | None = None) -> None:
        target = self.registry if registry is None else registry
        own = f'{{registry: "{target}", imagePullSecrets: [pull]}}'
        rows = [("hello", "python3.12", "hello.py"), ("node", "nodejs22.x", "node.mjs")]
        functions = "".join(
            f"  - {{name: {name}, runtime: {runtime}, entry: {entry},"
            f" triggers: [{{type: http, path: /{name}}}]}}\n"
            for name, runtime, entry in rows
        )
        config = (
            "service: shop\nprovider: {name: cluster-orchestrator, runtime: python3.12}\n"
            f'defaults: {{package: {{type: image, base: "{self.base}"}}}}\n'
            f"extensions: {{cluster-orchestrator: {own}}}\nfunctions:\n{functions}"
        )
        sources = {"hello.py": _PYTHON.replace("WORD", word), "node.mjs": _NODE}
        self.project.write({"fabric.yml": config, **sources})

    def run(self, *words: str) -> Done:
        tools = self.project.root / "tools"
        tools.mkdir(exist_ok=True, mode=0o700)
        env = {
            **self.cluster.environment,
            "FABRIC_CLUSTER_REAL_DEPLOY": "1",
            "FABRIC_TOOLCHAIN_DIR": str(tools),
        }
        return self.project.json(*words, env=env)

    def ran(self, *words: str) -> Any:
        done = self.run(*words)
        assert done.code == 0, done.out + done.err
        return done.result

    def said(self, name: str = "hello") -> str:
        url = self.run("outputs").result["services"][0]["outputs"]["url"]
        return asked("GET", f"{url}/{name}").text

    def pod(self, name: str = "hello") -> Any:
        found: Any = self.cluster.double.objects[f"Deployment/shop-dev-{name}"]
        return found["spec"]["template"]["spec"]


@pytest.fixture
def shop(cluster: TestedCluster, registry: DockerRegistry, tmp_path: Path) -> Shop:
    base = registry.push_base(f"cluster-{tmp_path.name.lower()}")
    return Shop(cluster, project(tmp_path, sources={}), registry.name, base)


def test_a_day_of_functions_from_images(shop: Shop) -> None:
    shop.ran("deploy")
    assert (shop.said(), shop.said("node")) == ("one", "node")
    first = shop.pod()["containers"][0]["image"]
    assert first.startswith(f"{shop.registry}/shop-dev-hello@sha256:")
    assert shop.pod()["imagePullSecrets"] == [{"name": "pull"}]
    assert [one["name"] for one in shop.pod()["volumes"]] == ["runtime", "work", "tmp"]
    shop.has("two")
    shop.ran("deploy")
    second = shop.pod()["containers"][0]["image"]
    assert shop.said() == "two"
    shop.ran("rollback")
    assert (shop.said(), shop.pod()["containers"][0]["image"]) == ("one", first)
    shop.ran("remove", "--yes")
    assert shop.cluster.left() == []
    for image in (first, second):
        with pytest.raises(NotThereError):
            pull(image)


def test_an_image_without_a_registry_is_an_error_of_the_config(shop: Shop) -> None:
    for registry in ("", "team"):
        shop.has(registry=registry)
        done = shop.run("plan")
        assert done.code == 65
        assert done.error["code"] in ("config/unfit", "config/empty", "config/bad-value")
