"""Tasks of container images, and what functions without images get: nothing new."""

import pytest

from fabric.graph.compile import compile_graph
from fabric.graph.service_unit import FunctionPackages, ServiceUnit, find_python_target
from fabric.model.names import Verb
from fabric.model.task_inputs import ImageInputs, WheelInputs
from tests.support.config_texts import loaded

_HEAD = "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.12}\n"
_BOTH = _HEAD + (
    "functions:\n  a: {entry: a.py, package: {type: image}}\n  b: {entry: b.py}\n"
    "  c: {entry: c.py, package: {type: image, base: r.example/base@sha256:%s}}\n"
) % ("a" * 64)


def _unit(text: str = _BOTH, packages: tuple[str, ...] = ()) -> ServiceUnit:
    rows = tuple(FunctionPackages(function=one, folder=".", text="x==1") for one in packages)
    return ServiceUnit(loaded(text), "", packages=rows)


def _needs(unit: ServiceUnit, verb: Verb = Verb.PACKAGE) -> dict[str, list[str]]:
    return {one.id: list(one.needs) for one in compile_graph([unit], verb).tasks}


def _images(unit: ServiceUnit) -> dict[str, ImageInputs]:
    found = compile_graph([unit], Verb.PACKAGE).inputs_of("image")
    return {one.function: one for one in found if isinstance(one, ImageInputs)}


def test_a_function_with_an_image_has_a_task_for_it_beside_its_archive() -> None:
    needs = _needs(_unit())
    assert needs["image:shop/a"] == ["build:shop/a"]
    assert needs["package:shop/a"] == ["build:shop/a"]
    assert "image:shop/b" not in needs


def test_an_existing_image_needs_no_build() -> None:
    unit = _unit(_HEAD + "functions: {a: {image: r.example/a:1}, b: {entry: b.py}}\n", ("a",))
    needs = _needs(unit)
    assert (needs["image:shop/a"], needs["package:shop/a"]) == ([], [])
    assert [one for one in needs if one.startswith("build:")] == ["build:shop/b"]
    assert list(_needs(unit, Verb.BUILD)) == ["build:shop/b"]
    assert {"image:shop/a", "package:shop/a"} <= set(
        _needs(unit, Verb.DEPLOY)["deploy:shop/a@cloud1-lambda"]
    )


def test_functions_with_the_same_packages_share_their_layers() -> None:
    unit = _unit(
        _HEAD
        + "defaults: {package: {type: image}}\nfunctions: {a: {entry: a.py}, b: {entry: b.py}}\n",
        ("a", "b"),
    )
    needs = _needs(unit)
    [layers] = [one for one in needs if one.startswith("image-layers:")]
    [vendor] = needs[layers]
    assert needs["image:shop/a"] == ["build:shop/a", vendor, layers]
    assert needs["image:shop/b"] == ["build:shop/b", vendor, layers]


def test_layers_need_the_wheels_that_their_files_come_from() -> None:
    wheel = WheelInputs("click", "8.1", ("ab",), "3.12", "x86_64", 34)
    row = FunctionPackages(function="a", folder=".", text="click==8.1", wheels=(wheel,))
    needs = _needs(ServiceUnit(loaded(_BOTH), "", packages=(row,)))
    [layers] = [one for one in needs if one.startswith("image-layers:")]
    assert [one.partition(":")[0] for one in needs[layers]] == ["vendor", "wheel"]


def test_a_deploy_needs_the_archive_and_the_image() -> None:
    needs = _needs(_unit(), Verb.DEPLOY)
    assert needs["deploy:shop/a@cloud1-lambda"] == ["package:shop/a", "image:shop/a"]
    assert needs["deploy:shop/b@cloud1-lambda"] == ["package:shop/b"]


@pytest.mark.parametrize(
    ("provider", "runtime", "base"),
    [
        ("cloud1-lambda", "python3.12", "public.ecr.aws/lambda/python:3.12"),
        ("cloud1-lambda", "nodejs", "public.ecr.aws/lambda/nodejs:22"),
        ("cluster-orchestrator", "nodejs20.x", "docker.io/library/node:20-slim"),
        ("cluster-orchestrator", "python", "docker.io/library/python:3.12-slim"),
    ],
)
def test_the_default_base_depends_on_provider_and_runtime(
    provider: str, runtime: str, base: str
) -> None:
    entry = "a.py" if runtime.startswith("python") else "a.ts"
    text = (
        f"service: shop\nprovider: {{name: {provider}, runtime: {runtime}}}\n"
        f"functions: {{a: {{entry: {entry}, package: {{type: image}}}}}}\n"
    )
    assert _images(_unit(text))["a"].base == base


def test_the_wheels_of_a_custom_base_are_for_the_oldest_system() -> None:
    config = loaded(_BOTH)
    found = {one.name: find_python_target(config, one) for one in config.functions}
    assert [one.glibc for one in found.values() if one] == [34, 34, 17]


def test_packages_of_the_runtime_are_bundled_into_an_image() -> None:
    text = (
        "service: shop\nprovider: {name: cloud1-lambda, runtime: nodejs22.x}\n"
        "functions: {a: {entry: a.ts, package: {type: image}}, b: {entry: b.ts}}\n"
    )
    found = compile_graph([_unit(text)], Verb.PACKAGE).inputs_of("build")
    assert {one.function: getattr(one, "provided", None) for one in found} == {
        "a": (),
        "b": ("@aws-sdk/*",),
    }


def test_the_name_of_a_base_is_no_option_of_the_key() -> None:
    names = {one.name for one in _images(_unit())["c"].entries()}
    assert names == {"runtime", "architecture", "is_entrypoint_needed"}
