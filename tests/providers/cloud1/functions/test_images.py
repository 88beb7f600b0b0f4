"""Functions as container images: ECR, versions by digest, and what AWS cannot change."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fabric.runtimes.contract import BuiltFile
from tests.support.cloud1_site import Cloud1Site
from tests.support.git import under_git
from tests.support.in_process import project
from tests.support.project import Done, Project
from tests.support.servers.docker_registry import DockerRegistry
from tests.support.servers.registry_proxy import RegistryProxy
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.timeout(60)]
_PYTHON = {"Env": ["AWS_EXECUTION_ENV=AWS_Lambda_python3.12"]}
_HANDLER = "def handler(event, context):\n    return {'statusCode': 200, 'body': 'WORD'}\n"


_EXISTING = (
    "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.12}\n"
    "functions:\n  hello: {image: IMAGE, triggers: [{type: http, path: /hello}]}\n"
)


@dataclass
class Shop:
    """A service with one function from an image, whose registry is behind a front."""

    cloud1: StrictCloud1
    project: Project
    proxy: RegistryProxy
    base: str
    role: str

    def has(self, word: str = "one", package: str = "", more: str = "") -> None:
        package = package or f'{{type: image, base: "{self.base}"}}'
        config = (
            "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.12}\n"
            f"functions:\n  - name: hello\n    entry: hello.py\n    package: {package}\n"
            f"    triggers: [{{type: http, path: /hello}}]\n{more}"
        )
        self.project.write({"fabric.yml": config, "hello.py": _HANDLER.replace("WORD", word)})

    def run(self, *words: str) -> Done:
        env = {
            **self.cloud1.environment,
            "FABRIC_CLOUD1_REAL_DEPLOY": "1",
            "FABRIC_CLOUD1_LAMBDA_ROLE_ARN": self.role,
            "FABRIC_TOOLCHAIN_DIR": str(self.project.root / "tools"),
        }
        (self.project.root / "tools").mkdir(exist_ok=True, mode=0o700)
        return self.project.json(*words, env=env)

    def push(self, registry: DockerRegistry, name: str, word: str) -> str:
        """Push an image with the whole function, as another tool does."""
        settings = {**_PYTHON, "Cmd": ["hello.handler"]}
        files = [BuiltFile("var/task/hello.py", _HANDLER.replace("WORD", word).encode())]
        image = registry.push_base(name, text=word, settings=settings, files=files)
        return image.replace(registry.name, self.proxy.name)

    def ran(self, *words: str) -> Any:
        self.proxy.calls.clear()
        self.cloud1.reset()
        done = self.run(*words)
        assert done.code == 0, done.out + done.err
        return done.result

    def said(self) -> str:
        url = self.run("outputs").result["services"][0]["outputs"]["url"]
        return self.cloud1.http_get(f"{url}/hello").text

    def described(self) -> Any:
        return self.cloud1.client("lambda").get_function(
            FunctionName="shop-dev-hello", Qualifier="live"
        )

    def repositories(self) -> list[str]:
        client = self.cloud1.client("ecr")
        try:
            found = client.describe_repositories(repositoryNames=["fabric/shop-dev-hello"])
        except client.exceptions.RepositoryNotFoundException:
            return []
        return [one["repositoryName"] for one in found["repositories"]]


@pytest.fixture
def shop(
    cloud1: StrictCloud1, registry: DockerRegistry, proxy: RegistryProxy, tmp_path: Path
) -> Shop:
    cloud1.use_registry(proxy.name)
    base = registry.push_base(f"base-{tmp_path.name.lower()}", settings=_PYTHON)
    made = Shop(cloud1, project(tmp_path, sources={}), proxy, base, cloud1.role())
    made.has()
    return made


def test_a_day_of_a_function_from_an_image(shop: Shop) -> None:
    shop.ran("deploy")
    found = shop.described()
    assert found["Configuration"]["PackageType"] == "Image"
    assert "@sha256:" in found["Code"]["ImageUri"]
    assert shop.said() == "one"
    shop.has("the second day")
    shop.ran("deploy")
    assert shop.said() == "the second day"
    # The base is there: only the code and the config are sent.
    assert shop.proxy.count("PUT", "/uploads/") == 2
    shop.ran("rollback")
    assert shop.said() == "one"
    assert shop.proxy.calls == []
    shop.ran("remove", "--yes")
    assert (shop.cloud1.left(), shop.repositories()) == ({}, [])


def test_an_up_to_date_deploy_calls_neither_registry_nor_provider(shop: Shop) -> None:
    shop.ran("deploy")
    shop.ran("deploy")
    assert (shop.proxy.calls, shop.cloud1.calls()) == ([], {})


def test_a_setting_changes_without_another_push(shop: Shop) -> None:
    shop.ran("deploy")
    shop.has(more="    memory: 256\n")
    shop.ran("deploy")
    assert shop.proxy.count("PUT", "") == 0
    assert shop.described()["Configuration"]["MemorySize"] == 256


def test_a_rollback_to_a_deleted_version_uses_the_digest(shop: Shop) -> None:
    shop.ran("deploy")
    first = shop.described()["Code"]["ImageUri"]
    shop.has("two")
    shop.ran("deploy")
    shop.cloud1.client("lambda").delete_function(FunctionName="shop-dev-hello", Qualifier="1")
    shop.ran("rollback")
    assert shop.said() == "one"
    assert shop.described()["Code"]["ImageUri"] == first
    assert shop.proxy.count("PUT", "") == 0


@pytest.mark.parametrize(("before", "after"), [("", "{type: zip}"), ("{type: zip}", "")])
def test_the_package_type_of_a_function_cannot_change(shop: Shop, before: str, after: str) -> None:
    shop.has(package=before)
    shop.ran("deploy")
    shop.has(package=after)
    done = shop.run("plan")
    assert done.code == 65
    assert done.error["code"] == "config/unfit"
    assert "cannot change it" in done.error["message"]
    assert shop.run("deploy").code == 65
    assert shop.said() == "one"


def test_layers_and_an_image_exclude_each_other(shop: Shop) -> None:
    arn = "arn:aws:lambda:us-east-1:123456789012:layer:tools:1"
    shop.has(more=f"    layers: ['{arn}']\n")
    done = shop.run("plan")
    assert (done.code, done.error["code"]) == (65, "config/unfit")
    assert "`layers`" in done.error["message"]


def test_a_repository_of_another_owner_is_not_used_or_deleted(shop: Shop) -> None:
    client = shop.cloud1.client("ecr")
    client.create_repository(repositoryName="fabric/shop-dev-hello")
    done = shop.run("deploy")
    assert done.error["code"] == "deploy/foreign"
    shop.run("remove", "--yes")
    assert shop.repositories() == ["fabric/shop-dev-hello"]


def test_a_deploy_whose_answer_was_lost_is_found_again(shop: Shop) -> None:
    shop.cloud1.fault("lambda.CreateFunction", after=True)
    shop.run("deploy")
    shop.ran("deploy")
    assert shop.said() == "one"
    shop.has("two")
    shop.ran("deploy")
    shop.ran("rollback")
    assert shop.said() == "one"


def test_a_moved_base_is_a_reason_to_deploy(shop: Shop, registry: DockerRegistry) -> None:
    shop.ran("deploy")
    name = shop.base.partition("/")[2].partition(":")[0]
    registry.push_base(name, text="newer", settings=_PYTHON)
    assert shop.ran("plan")["tasks"] is not None
    for path in (shop.project.root / "tools/images/tags").iterdir():
        path.unlink()
    tasks = {one["id"]: one for one in shop.ran("plan")["tasks"]}
    assert tasks["image:shop/hello"]["reason"] == f"image {shop.base} moved"
    shop.ran("deploy")
    assert shop.said() == "one"


def test_an_existing_image_is_deployed_by_its_digest(shop: Shop, registry: DockerRegistry) -> None:
    name = f"team-{shop.project.root.name.lower()}"
    image = shop.push(registry, name, "one")
    shop.cloud1.client("ecr").create_repository(repositoryName=name)
    shop.project.write({"fabric.yml": _EXISTING.replace("IMAGE", image)})
    shop.ran("deploy")
    first = shop.described()["Code"]["ImageUri"]
    assert shop.said() == "one"
    shop.ran("deploy")
    assert shop.cloud1.calls() == {}
    shop.push(registry, name, "two")
    tasks = {one["id"]: one for one in shop.ran("plan")["tasks"]}
    assert tasks["image:shop/hello"]["reason"] == f"image {image} moved"
    shop.ran("deploy")
    assert shop.said() == "two"
    shop.ran("rollback")
    assert (shop.said(), shop.described()["Code"]["ImageUri"]) == ("one", first)
    assert not shop.proxy.count("PUT", "")
    shop.ran("remove", "--yes")
    assert shop.cloud1.left() == {}
    assert shop.cloud1.client("ecr").describe_repositories(repositoryNames=[name])
    assert registry.registries().find(registry.name).read_manifest(name, "1")


def _read_drift(shop: Shop) -> str:
    [row] = shop.run("state", "reconcile").result["entries"]
    return str(row["detail"])


def test_only_another_image_is_drift(shop: Shop) -> None:
    shop.ran("deploy")
    shop.has("two")
    under_git(shop.project)
    shop.ran("deploy")
    assert _read_drift(shop) == ""
    assert shop.ran("verify")["functions"][0]["verdict"] == "match"
    shop.cloud1.client("lambda").update_alias(
        FunctionName="shop-dev-hello", Name="live", FunctionVersion="1"
    )
    assert "different code" in _read_drift(shop)
    [row] = shop.run("verify").document["result"]["functions"]
    assert (row["verdict"], row["reason"]) == ("differs", "the code was changed outside of fabric")


def test_an_existing_image_is_no_drift(shop: Shop, registry: DockerRegistry) -> None:
    name = f"team-{shop.project.root.name.lower()}"
    image = shop.push(registry, name, "one")
    shop.cloud1.client("ecr").create_repository(repositoryName=name)
    shop.project.write({"fabric.yml": _EXISTING.replace("IMAGE", image)})
    under_git(shop.project)
    shop.ran("deploy")
    assert _read_drift(shop) == ""
    [row] = shop.run("verify").result["functions"]
    assert (row["verdict"], row["reason"]) == ("unknown", "the commit does not contain its image")


def test_a_service_without_images_never_asks_ecr(site: Cloud1Site) -> None:
    site.up(site.order("hello"))
    site.destroy("hello")
    assert not [name for name in site.cloud1.calls() if name.startswith("ecr.")]
