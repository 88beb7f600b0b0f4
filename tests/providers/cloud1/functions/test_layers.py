"""Layers of the project at AWS: published once for each change, attached, rolled back, deleted."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError
from fabric.providers.core.contract import DeploymentAddress, LayerOrder
from tests.support.cloud1_shop import Shop
from tests.support.cloud1_site import Cloud1Site
from tests.support.function_archive import archive
from tests.support.in_process import project
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.until import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

_PUBLISH = "lambda.PublishLayerVersion"
_NEW_VERSION = "lambda.UpdateFunctionConfiguration"


class LayeredShop(Shop):
    """Two Node.js functions that share the package `greeting`, which only their layer contains."""

    layer = "{name: shared, packages: [greeting]}"

    @property
    def head(self) -> str:
        provider = f"{{name: cloud1-lambda, runtime: nodejs22.x, region: {self.region}}}"
        layers = f"layers: [{self.layer}]\n" if self.layer else ""
        return f"service: {self.service}\nprovider: {provider}\n{layers}"

    def has(self, name: str, word: str, *triggers: str) -> None:
        self.functions[name] = [f"{{type: http, path: /{name}}}", *triggers]
        answer = f"{{ statusCode: 200, body: {json.dumps(word)} + word }}"
        text = (
            f'import {{ word }} from "greeting";\nexport const handler = async () => ({answer});\n'
        )
        self.project.write({f"{name}.mjs": text})

    def write(self) -> None:
        attached = ", layers: [shared]" if self.layer else ""
        rows = [
            f"  - {{name: {name}, entry: {name}.mjs{attached}, triggers: [{', '.join(each)}]}}\n"
            for name, each in self.functions.items()
        ]
        self.project.write({"fabric.yml": f"{self.head}functions:\n{''.join(rows)}"})

    def installs(self, word: str) -> None:
        self.project.write(
            {
                "package.json": '{"dependencies": {"greeting": "*"}}',
                "node_modules/greeting/package.json": json.dumps(
                    {"name": "greeting", "version": word, "dependencies": {"deep": "*"}}
                ),
                "node_modules/greeting/index.js": 'exports.word = require("deep");',
                "node_modules/deep/package.json": f'{{"name": "deep", "version": "{word}"}}',
                "node_modules/deep/index.js": f"module.exports = {json.dumps(word)};",
            }
        )

    @property
    def layers(self) -> list[str]:
        """The numbers of the versions that exist."""
        return [arn.rpartition(":")[2] for arn in self.cloud1.left().get("layers", [])]


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> LayeredShop:
    made = LayeredShop(cloud1, project(tmp_path / "project", sources={}))
    made.installs("1")
    made.has("hello", "hello ")
    made.has("bye", "bye ")
    return made


def test_functions_share_a_layer_from_the_first_deploy_to_the_removal(shop: LayeredShop) -> None:
    assert shop.ran("plan") == {}
    calls = shop.ran("deploy")
    assert calls[_PUBLISH] == 1
    assert (shop.said("hello"), shop.said("bye")) == ("hello 1", "bye 1")
    assert shop.ran("deploy") == {}

    shop.installs("2")
    calls = shop.ran("deploy")
    assert (calls[_PUBLISH], calls[_NEW_VERSION]) == (1, 2)
    assert "lambda.UpdateFunctionCode" not in calls
    assert (shop.said("hello"), shop.said("bye")) == ("hello 2", "bye 2")

    shop.has("hello", "hi ")
    calls = shop.ran("deploy")
    assert _PUBLISH not in calls
    assert calls["lambda.UpdateFunctionCode"] == 1
    assert shop.said("hello") == "hi 2"

    shop.ran("remove", "--yes")
    assert not shop.cloud1.left()


def test_a_rollback_attaches_the_former_version(shop: LayeredShop) -> None:
    shop.ran("deploy")
    shop.installs("2")
    shop.ran("deploy")
    calls = shop.ran("rollback")
    assert _PUBLISH not in calls
    assert (shop.said("hello"), shop.said("bye")) == ("hello 1", "bye 1")
    assert shop.layers == ["1", "2"]
    assert _PUBLISH not in shop.ran("deploy")
    assert shop.said("hello") == "hello 2"


def test_a_lost_answer_publishes_nothing_twice(shop: LayeredShop) -> None:
    shop.write()
    shop.cloud1.fault(_PUBLISH, after=True)
    done = shop.run("deploy")
    assert done.code == 0, done.err
    assert shop.layers == ["1"]
    assert shop.said("hello") == "hello 1"


def test_a_deploy_killed_after_a_publish_is_finished_by_the_next(shop: LayeredShop) -> None:
    child = shop.start("deploy")
    until(lambda: _PUBLISH in shop.cloud1.calls() or child.poll() is not None)
    child.kill()
    child.communicate()
    shop.ran("deploy")
    assert shop.layers == ["1"]
    assert shop.said("bye") == "bye 1"


def test_a_layer_that_no_function_uses_is_deleted_unless_it_is_retained(shop: LayeredShop) -> None:
    shop.layer = "{name: shared, packages: [greeting], retain: true}"
    shop.ran("deploy")
    shop.ran("remove", "--yes")
    assert shop.layers == ["1"]


def test_a_failed_first_deploy_is_rolled_back_with_its_layer(shop: LayeredShop) -> None:
    shop.cloud1.fault(
        "lambda.CreateFunction", status=400, code="InvalidParameterValueException", times=9
    )
    assert shop.run("deploy", "--rollback-on-failure").code != 0
    assert not shop.cloud1.left()


def test_a_failed_deploy_keeps_the_version_that_functions_use(shop: LayeredShop) -> None:
    shop.ran("deploy")
    shop.installs("2")
    shop.cloud1.fault(
        _NEW_VERSION, status=400, code="InvalidParameterValueException", times=9, skip=1
    )
    assert shop.run("deploy", "--rollback-on-failure").code != 0
    shop.cloud1.reset()
    assert (shop.said("hello"), shop.said("bye")) == ("hello 1", "bye 1")
    assert _PUBLISH not in shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("hello 2", "bye 2")


def test_a_forced_deploy_publishes_a_version_that_was_deleted(shop: LayeredShop) -> None:
    shop.ran("deploy")
    client = shop.cloud1.client("lambda")
    client.delete_layer_version(LayerName="shop-dev-shared", VersionNumber=1)
    assert shop.ran("deploy") == {}
    assert shop.ran("deploy", "--force")[_PUBLISH] == 1
    assert (shop.layers, shop.said("hello")) == (["2"], "hello 1")


def test_one_function_publishes_what_it_needs(shop: LayeredShop) -> None:
    calls = shop.ran("deploy", "--function", "hello")
    assert calls[_PUBLISH] == 1
    assert shop.said("hello") == "hello 1"


def order(folder: Path, mark: str = "1" * 32, **changes: object) -> LayerOrder:
    path = folder / "layer.zip"
    path.write_bytes(archive(**{"bin/run": "x"}))
    made = LayerOrder("shared", path, hash_bytes(path.read_bytes()), mark)
    return replace(made, **changes)


def publish(site: Cloud1Site, one: LayerOrder) -> str:
    address = DeploymentAddress("shop", "dev", "cloud1-lambda", "cloud1-lambda", site.region)
    return site.deployer.publish_layer(address, one)


def test_a_version_has_the_settings_of_its_layer(site: Cloud1Site, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "license": "MIT",
        "runtimes": ("python",),
        "architectures": ("arm64",),
    }
    arn = publish(site, order(tmp_path, description="d" * 300, **settings))
    client = site.cloud1.client("lambda")
    [one] = client.list_layer_versions(LayerName="shop-dev-shared")["LayerVersions"]
    assert one["LayerVersionArn"] == arn
    assert len(one["Description"]) == 256
    assert one["Description"].endswith(f"ddd [fabric {'1' * 32}]")
    assert one["LicenseInfo"] == "MIT"
    assert one["CompatibleRuntimes"] == ["python3.12"]
    assert one["CompatibleArchitectures"] == ["arm64"]


def test_a_version_is_found_by_its_mark_among_others(site: Cloud1Site, tmp_path: Path) -> None:
    first = publish(site, order(tmp_path))
    second = publish(site, order(tmp_path, "2" * 32))
    assert first != second
    site.cloud1.reset()
    assert publish(site, order(tmp_path)) == first
    assert _PUBLISH not in site.cloud1.calls()


@pytest.mark.parametrize("half", [False, True])
def test_a_publish_without_a_response_is_looked_up(
    site: Cloud1Site, tmp_path: Path, *, half: bool
) -> None:
    site.cloud1.fault(_PUBLISH, **({"half": True} if half else {"after": True}))
    assert publish(site, order(tmp_path)).endswith(":1")
    assert site.cloud1.calls()[_PUBLISH] == 1


@pytest.mark.parametrize(("status", "count"), [(429, 2), (503, 2)])
def test_a_publish_that_was_throttled_is_repeated(
    site: Cloud1Site, tmp_path: Path, status: int, count: int
) -> None:
    site.cloud1.fault(_PUBLISH, status=status, code="TooManyRequestsException")
    assert publish(site, order(tmp_path)).endswith(":1")
    assert site.cloud1.calls()[_PUBLISH] == count


def test_a_publish_that_is_refused_is_not_repeated(site: Cloud1Site, tmp_path: Path) -> None:
    site.cloud1.fault(_PUBLISH, status=403, code="AccessDeniedException")
    with pytest.raises(FabricError, match="layer `shared`: `PublishLayerVersion` was rejected"):
        publish(site, order(tmp_path))
    assert site.cloud1.calls()[_PUBLISH] == 1


def test_a_large_archive_is_uploaded_through_a_bucket(site: Cloud1Site, tmp_path: Path) -> None:
    made = order(tmp_path)
    with zipfile.ZipFile(made.archive, "w") as stored:
        stored.writestr(zipfile.ZipInfo("zeros"), bytes(51 << 20))
    with pytest.raises(FabricError, match="the archive of the layer `shared` has"):
        publish(site, made)
    bucket = f"archives-{site.cloud1.account}"
    site.cloud1.client("s3").create_bucket(Bucket=bucket)
    site.extension["artifactBucket"] = bucket
    assert publish(site, made).endswith(":1")


def test_a_version_that_cannot_be_deleted_is_kept_for_later(
    site: Cloud1Site, tmp_path: Path
) -> None:
    arns = [publish(site, order(tmp_path, mark * 32)) for mark in "12"]
    address = DeploymentAddress("shop", "dev", "cloud1-lambda", "cloud1-lambda", site.region)
    site.cloud1.fault("lambda.DeleteLayerVersion", status=403, code="AccessDeniedException")
    left = set(arns) - set(site.deployer.delete_layers(address, arns))
    assert len(left) == 1
    assert set(site.cloud1.left()["layers"]) == left
    simulated = "cloud1-lambda:eu-west-1:layer:shop-dev-shared:12ab"
    assert [*site.deployer.delete_layers(address, [*left, simulated])] == [*left, simulated]
