"""Layers of the project: their keys and mistakes."""

import pytest

from fabric.config.values import Layer, LayerBuild
from tests.support.config_texts import HEAD, codes, loaded, problems

ONE = "functions: [{name: a, entry: a.ts, layers: [x]}]\n"
TEXT = f"{HEAD}{ONE}layers: [%s]\n"
PYTHON = "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.12}\n"


def layers(text: str) -> tuple[Layer, ...]:
    return loaded(text).supplies.layers


def test_all_keys_of_a_layer_are_read() -> None:
    more = "runtimes: [nodejs20.x], architectures: [x86_64], description: d, license: MIT"
    [one] = layers(TEXT % f"{{name: x, packages: [p, q], {more}, retain: true}}")
    assert one == Layer(
        name="x",
        packages=("p", "q"),
        runtimes=("nodejs20.x",),
        architectures=("x86_64",),
        description="d",
        license="MIT",
        retain=True,
    )


def test_a_command_of_a_layer_has_defaults() -> None:
    [one] = layers(TEXT % "{name: x, build: {command: make it}}")
    assert one == Layer(name="x", build=LayerBuild(("make", "it")))


def test_layers_can_be_a_map_beside_existing_ones() -> None:
    arn = "arn:aws:lambda:eu-west-1:1:layer:shared:3"
    config = loaded(
        f"{HEAD}functions: [{{name: a, entry: a.ts, layers: [x, old]}}]\n"
        f"layers: {{x: {{path: dir}}, old: {{arn: '{arn}'}}}}\n"
    )
    assert config.supplies.layers == (Layer(name="x", path="dir"),)
    assert config.functions[0].layers == ("x", arn)


@pytest.mark.parametrize(
    ("layer", "code"),
    [
        ("{name: x}", "config/missing-key"),
        ("{name: x, path: a, packages: [b]}", "config/missing-key"),
        ("{name: x, packages: []}", "config/too-few"),
        ("{name: x, build: {}}", "config/missing-key"),
        ("{name: x, path: a}, {packages: [a]}", "config/missing-key"),
        ("{name: x, path: a}, {name: 'b c', path: a}", "config/layer-name"),
        ("{name: x, path: /etc}", "config/bad-pattern"),
        ("{name: x, build: {command: make, inputs: [/etc/x]}}", "config/bad-pattern"),
        ("{name: x, build: {command: make, outputs: [../x]}}", "config/bad-pattern"),
        ('{name: x, build: {command: "it\'s"}}', "config/bad-command"),
        ("{name: x, path: a, architectures: [mips]}", "config/bad-value"),
        ("{name: x, path: a}, {name: x, path: b}", "config/duplicate-name"),
        ("{name: x, path: a, runtimes: [python3.12]}", "config/layer-target"),
        ("{name: x, path: a, architectures: [arm64]}", "config/layer-target"),
    ],
)
def test_a_wrong_layer_is_rejected(layer: str, code: str) -> None:
    assert code in codes(TEXT % layer)


def test_a_layer_with_two_sources_requires_exactly_one() -> None:
    [problem] = problems(TEXT % "{name: x, path: a, packages: [b]}")
    assert "requires exactly one of `arn` or `packages`" in problem.message


@pytest.mark.parametrize("runtime", ["provided.al2023", "java21"])
def test_packages_are_only_for_nodejs_and_python(runtime: str) -> None:
    head = f"service: shop\nprovider: {{name: cloud1-lambda, runtime: {runtime}}}\n"
    function = "functions: [{name: a, entry: src, layers: [x], build: {command: make}}]\n"
    [problem] = problems(f"{head}{function}layers: [{{name: x, packages: [six]}}]\n")
    assert problem.code == "config/layer-target"
    assert "only Node.js and Python" in problem.message
    assert problem.where is not None
    assert problem.where.line == 3
    assert codes(f"{head}{function}layers: [{{name: x, path: a}}]\n") == []


def test_a_function_attaches_a_layer_once() -> None:
    text = f"{HEAD}functions: [{{name: a, entry: a.ts, layers: [x, x]}}]\n"
    [problem] = problems(f"{text}layers: [{{name: x, path: a}}]\n")
    assert problem.code == "config/duplicate-name"
    assert problem.message == "duplicate layer `x` in function `a`"
    assert problem.where is not None
    assert problem.where.line == 3


@pytest.mark.parametrize("runtime", ["nodejs22.x", "nodejs"])
def test_a_language_without_a_version_fits_each_version(runtime: str) -> None:
    head = f"service: shop\nprovider: {{name: cloud1-lambda, runtime: {runtime}}}\n"
    assert layers(f"{head}{ONE}layers: [{{name: x, path: a, runtimes: [nodejs22.x]}}]\n")


def test_packages_for_several_targets_are_rejected_at_the_second_function() -> None:
    functions = (
        "functions:\n"
        "  - {name: a, entry: a.py, layers: [x]}\n"
        "  - {name: b, entry: b.py, layers: [x], architecture: arm64}\n"
    )
    [one] = problems(f"{PYTHON}{functions}layers: [{{name: x, packages: [p]}}]\n")
    assert one.message == (
        "function `b` (python3.12, arm64) and function `a` (python3.12, x86_64) attach the layer "
        "`x`, whose packages fit only one of them"
    )
    assert one.where
    assert one.where.line == 5


def test_a_provider_without_layers_ignores_their_targets() -> None:
    head = "service: shop\nprovider: {name: cloud2-functions, runtime: nodejs22.x}\n"
    assert layers(f"{head}{ONE}layers: [{{name: x, path: a, runtimes: [python3.12]}}]\n")


def test_a_secret_in_a_layer_is_rejected() -> None:
    text = TEXT % '{name: x, path: a, description: "${secret:T}"}'
    assert codes(text + "secrets: {T: '${env:T}'}\n", {"T": "hush"}) == ["config/secret-here"]
