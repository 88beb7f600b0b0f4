"""Layers, as the strict server keeps them."""

from typing import Any

import pytest

from tests.servers.strict_cloud1.refused import refused
from tests.support.function_archive import archive
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.servers.strict_cloud1.samples import create, saying, settle

pytestmark = pytest.mark.slow

CONTENT = {"ZipFile": archive(**{"python/shared_py": "word = 1"})}
NOT_FOR = "not for this runtime and architecture"


def publish(cloud1: StrictCloud1, name: str = "shared", **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = cloud1.client("lambda").publish_layer_version(
        LayerName=name, Content=CONTENT, **more
    )
    return made


def numbers(cloud1: StrictCloud1, name: str = "shared") -> list[int]:
    pages = cloud1.client("lambda").get_paginator("list_layer_versions").paginate(LayerName=name)
    return [one["Version"] for page in pages for one in page["LayerVersions"]]


def delete(cloud1: StrictCloud1, number: int) -> None:
    cloud1.client("lambda").delete_layer_version(LayerName="shared", VersionNumber=number)


def test_each_publish_is_a_new_version_and_the_newest_is_listed_first(
    cloud1: StrictCloud1,
) -> None:
    settings: dict[str, Any] = {
        "Description": "d",
        "LicenseInfo": "MIT",
        "CompatibleRuntimes": ["python3.12"],
    }
    first = publish(cloud1, **settings)
    assert {name: first[name] for name in settings} == settings
    assert publish(cloud1)["LayerVersionArn"].endswith(":layer:shared:2")
    assert (numbers(cloud1), numbers(cloud1, "other")) == ([2, 1], [])


def test_a_number_is_never_used_again(cloud1: StrictCloud1) -> None:
    publish(cloud1)
    delete(cloud1, 1)
    delete(cloud1, 1)
    assert (numbers(cloud1), publish(cloud1)["Version"]) == ([], 2)
    assert [arn.rpartition(":")[2] for arn in cloud1.left()["layers"]] == ["2"]
    with refused("ResourceNotFoundException", "does not exist"):
        cloud1.client("lambda").get_layer_version(LayerName="shared", VersionNumber=1)


def test_a_deleted_version_works_on_and_cannot_be_attached(cloud1: StrictCloud1) -> None:
    arn = publish(cloud1)["LayerVersionArn"]
    create(cloud1, Layers=[arn])
    settle(cloud1)
    delete(cloud1, 1)
    cloud1.client("lambda").update_function_code(FunctionName="hello", ZipFile=saying("two"))
    assert settle(cloud1)["Configuration"]["Layers"] == [{"Arn": arn}]
    with refused("InvalidParameterValueException", "does not exist"):
        create(cloud1, "other", Layers=[arn])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"CompatibleRuntimes": ["python3.12"]}, NOT_FOR),
        ({"CompatibleArchitectures": ["arm64"]}, NOT_FOR),
    ],
)
def test_a_layer_for_another_target_is_refused(
    settings: dict[str, Any], message: str, cloud1: StrictCloud1
) -> None:
    arn = publish(cloud1, **settings)["LayerVersionArn"]
    with refused("InvalidParameterValueException", message):
        create(cloud1, Layers=[arn])


def test_a_function_has_at_most_five_layers(cloud1: StrictCloud1) -> None:
    arns = [publish(cloud1, f"layer{one}")["LayerVersionArn"] for one in range(6)]
    with refused("InvalidParameterValueException", "more than 5 layers"):
        create(cloud1, Layers=arns)
    create(cloud1, Layers=arns[:5])
