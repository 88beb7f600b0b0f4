"""A config that only locates records loads without the values of its other settings."""

import pytest

from fabric.config.load import ConfigText, load_config
from fabric.config.values import Config
from fabric.model.problems import FabricError

PROVIDER = "provider: {name: cloud1-lambda, runtime: '${env:UNSET}', memory: '${env:UNSET}'}\n"
LISTED = "functions: [{name: a, entry: '${env:UNSET}', env: {A: '${secret:UNSET}'}}]\n"
MAPPED = "functions: {a: {entry: '${env:UNSET}', memory: '${env:UNSET}'}}\n"
OVERRIDES = "providerOverrides: {main: {name: host1, runtime: '${env:UNSET}'}}\n"
ROUTER = (
    "extensions: {router: {hostname: api.example.com}, cloud1-lambda: {role: '${env:UNSET}'}}\n"
)


def located(text: str, *, keeps_router: bool = False, provider: str = "") -> Config:
    source = ConfigText(
        "fabric.yml",
        text.encode(),
        {},
        "dev",
        provider,
        only_place=True,
        keeps_router=keeps_router,
    )
    return load_config(source)


@pytest.mark.parametrize("functions", [LISTED, MAPPED])
def test_unset_values_of_dropped_settings_are_ignored(functions: str) -> None:
    text = f"service: shop\n{PROVIDER}{functions}env: {{A: '${{env:UNSET}}'}}\n"
    with pytest.raises(FabricError):
        load_config(ConfigText("fabric.yml", text.encode(), {}, "dev"))
    config = located(text)
    assert (config.service, config.provider.id) == ("shop", "cloud1-lambda")
    assert [(one.name, one.env) for one in config.functions] == [("a", ())]


@pytest.mark.parametrize(("region", "found"), [("eu-west-1", "eu-west-1"), ("'${env:UNSET}'", "")])
def test_region_is_kept_unless_it_has_a_binding(region: str, found: str) -> None:
    provider = f"provider: {{name: cloud1-lambda, runtime: nodejs, region: {region}}}\n"
    assert located(f"service: shop\n{provider}{LISTED}").provider.region == found


def test_override_is_chosen_without_its_runtime() -> None:
    config = located(f"service: shop\n{PROVIDER}{LISTED}{OVERRIDES}", provider="main")
    assert (config.provider.id, config.provider.label) == ("host1", "main")


def test_backend_is_kept_with_its_bindings() -> None:
    text = f"service: shop\n{PROVIDER}{LISTED}backend: {{kind: '${{env:UNSET}}'}}\n"
    with pytest.raises(FabricError) as raised:
        located(text)
    assert raised.value.first.code == "config/unset-variable"


def test_router_is_kept_only_if_requested() -> None:
    text = f"service: shop\n{PROVIDER}{LISTED}{ROUTER}"
    assert "router" in located(text, keeps_router=True).provider.extensions
    assert "role" not in located(text, keeps_router=True).provider.extensions
    assert "router" not in located(text).provider.extensions


@pytest.mark.parametrize(
    "text",
    [
        "functions: 5\n",
        "functions: [5]\n",
        "providerOverrides: {main: 5}\nfunctions: [{name: a, entry: a.js}]\n",
    ],
)
def test_wrong_types_are_still_reported(text: str) -> None:
    with pytest.raises(FabricError) as raised:
        located(f"service: shop\n{PROVIDER}{text}")
    assert raised.value.first.code == "config/wrong-type"
