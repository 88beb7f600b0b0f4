"""Names and addresses of layers."""

import pytest

from fabric.config.layers import is_address, list_function_layers, map_layer_addresses
from fabric.config.yaml.nodes import Mapping
from fabric.config.yaml.reader import read

ARN = "arn:aws:lambda:eu-west-1:1:layer:shared"


def node_of(text: str) -> Mapping:
    root = read("fabric.yml", text.encode()).root
    assert isinstance(root, Mapping)
    return root


@pytest.mark.parametrize(
    ("layer", "addresses"),
    [
        (f"{{name: own, arn: '{ARN}', version: 3}}", {"own": f"{ARN}:3"}),
        (f"{{name: own, arn: '{ARN}:7', version: 3}}", {"own": f"{ARN}:7"}),
        (f"{{name: own, arn: '{ARN}'}}", {"own": ARN}),
        (f"{{arn: '{ARN}:7'}}", {"shared": f"{ARN}:7"}),
        (f"{{arn: '{ARN}', version: 3}}", {"shared": f"{ARN}:3"}),
    ],
)
def test_a_layer_has_a_name_and_an_address_with_its_version(
    layer: str, addresses: dict[str, str]
) -> None:
    assert map_layer_addresses(node_of(f"layers: [{layer}]")) == addresses


def test_a_function_names_a_layer_or_its_address() -> None:
    function = node_of(f"layers: [own, '{ARN}:9']")
    assert list_function_layers(function, {"own": f"{ARN}:3"}) == (f"{ARN}:3", f"{ARN}:9")
    assert is_address(f"{ARN}:9")
    assert not is_address("own")
