"""Layers of the project at AWS: published once for each change, attached, rolled back, deleted."""

import json
from pathlib import Path

import pytest

from tests.support.cloud1_shop import Shop
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
        text = (
            'import { word } from "greeting";\n'
            f"export const handler = async () => ({{ statusCode: 200, body: {json.dumps(word)} + word }});\n"
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


def test_one_function_publishes_what_it_needs(shop: LayeredShop) -> None:
    calls = shop.ran("deploy", "--function", "hello")
    assert calls[_PUBLISH] == 1
    assert shop.said("hello") == "hello 1"
