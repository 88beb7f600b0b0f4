"""Layers of the project as tasks: their needs, and what functions with them need."""

from msgspec.structs import replace

from fabric.graph.compile import compile_graph
from fabric.graph.service_unit import FunctionPackages, ServiceUnit
from fabric.model.names import Verb
from fabric.model.task import Task
from fabric.model.task_inputs import (
    BuildInputs,
    GitWheelInputs,
    LayerArchiveInputs,
    LayerInputs,
    VendorInputs,
    WheelInputs,
)
from tests.support.config_texts import HEAD, loaded

FUNCTIONS = "functions: {a: {entry: a.ts, layers: [x]}, b: {entry: b.ts}}\n"
LAYERS = "layers: [{name: x, packages: [p]}, {name: unused, path: dir}]\n"
STEP = "build: {ignore: [docs], before: [{name: gen, command: make}]}\n"
PYTHON = "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.12}\n"
LABEL = "cloud1-lambda"
ARCHIVE, VERSION = f"layer-archive:shop/x@{LABEL}", f"layer:shop/x@{LABEL}"


def tasks(text: str, verb: Verb = Verb.DEPLOY, **changes: object) -> dict[str, Task]:
    unit = replace(ServiceUnit(loaded(text), ""), **changes)
    return {one.id: one for one in compile_graph([unit], verb).tasks}


def archive(found: dict[str, Task]) -> LayerArchiveInputs:
    inputs = found[ARCHIVE].inputs
    assert isinstance(inputs, LayerArchiveInputs)
    return inputs


def test_a_deploy_needs_the_version_of_its_layers_and_a_version_its_archive() -> None:
    found = tasks(HEAD + FUNCTIONS + LAYERS)
    assert VERSION in found[f"deploy:shop/a@{LABEL}"].needs
    assert found[VERSION].needs == (ARCHIVE,)
    assert VERSION not in found[f"deploy:shop/b@{LABEL}"].needs


def test_only_layers_of_the_chosen_functions_are_built() -> None:
    unit = ServiceUnit(loaded(HEAD + FUNCTIONS + LAYERS), "")
    chosen = compile_graph([unit], Verb.DEPLOY, functions=frozenset({"b"}))
    assert not [one for one in chosen.ids if one.startswith("layer")]
    assert ARCHIVE in tasks(HEAD + FUNCTIONS + LAYERS)
    assert f"layer-archive:shop/unused@{LABEL}" not in tasks(HEAD + FUNCTIONS + LAYERS)


def test_a_package_verb_builds_archives_and_publishes_nothing() -> None:
    found = tasks(HEAD + FUNCTIONS + LAYERS, Verb.PACKAGE)
    assert ARCHIVE in found
    assert VERSION not in found


def test_packages_of_a_layer_are_left_out_of_the_bundles_that_attach_it() -> None:
    found = tasks(HEAD + FUNCTIONS + LAYERS)
    a, b = (found[f"build:shop/{name}"].inputs for name in "ab")
    assert isinstance(a, BuildInputs)
    assert isinstance(b, BuildInputs)
    assert (a.layered, b.layered) == (("p",), ())
    assert "layered" not in {one.name for one in b.entries()}


def test_a_provider_without_layers_packs_the_packages() -> None:
    head = "service: shop\nprovider: {name: cloud2-functions, runtime: nodejs22.x}\n"
    found = tasks(head + FUNCTIONS + LAYERS)
    assert not [one for one in found if one.startswith("layer")]
    inputs = found["build:shop/a"].inputs
    assert isinstance(inputs, BuildInputs)
    assert inputs.layered == ()


def test_a_layer_waits_for_commands_before_builds() -> None:
    found = tasks(f"{HEAD}{FUNCTIONS}layers: [{{name: x, path: dir}}]\n{STEP}")
    assert found[ARCHIVE].needs == ("before:shop/gen",)


def test_a_command_without_inputs_ignores_what_builds_ignore() -> None:
    layer = "layers: [{name: x, build: {command: make it, %s timeout: 5}}]\n"
    inputs = archive(tasks(HEAD + FUNCTIONS + layer % "" + STEP))
    assert (inputs.command, inputs.ignore, inputs.timeout) == (("make", "it"), ("docs",), 5)
    assert archive(tasks(HEAD + FUNCTIONS + layer % "inputs: [a]," + STEP)).ignore == ()


def test_only_settings_of_a_version_are_in_its_key() -> None:
    text = HEAD + FUNCTIONS + "layers: [{name: x, path: dir, retain: %s, description: d}]\n"
    one, other = (tasks(text % retain)[VERSION].inputs for retain in ("true", "false"))
    assert isinstance(one, LayerInputs)
    assert one != other
    assert one.entries() == other.entries()
    assert ("description", "d") in [(entry.name, entry.value) for entry in one.entries()]


def test_a_problem_of_a_layer_has_its_place_in_the_config() -> None:
    assert archive(tasks(HEAD + FUNCTIONS + LAYERS)).place == ("fabric.yml", 4, 10)


WHEEL = WheelInputs("p", "1", ("sha256:a",), "3.12", "x86_64", 34)


def packages(*wheels: WheelInputs | GitWheelInputs) -> tuple[FunctionPackages, ...]:
    return (
        FunctionPackages(function="a", folder=".", text="p==1", selected="p==1", wheels=wheels),
    )


PYTHON_TEXT = PYTHON + "functions: [{name: a, entry: a.py, layers: [x]}]\n" + LAYERS


def test_a_python_layer_has_the_wheels_of_the_lock_of_its_functions() -> None:
    found = tasks(PYTHON_TEXT, packages=packages(WHEEL))
    [wheel] = [name for name in found if name.startswith("wheel:")]
    assert found[ARCHIVE].needs == (wheel,)
    assert (archive(found).runtime, archive(found).lock) == ("python3.12", ())
    assert ARCHIVE in found["package:shop/a"].needs


def test_a_lock_without_hashes_is_an_input_of_the_layer() -> None:
    inputs = archive(tasks(PYTHON_TEXT, packages=packages()))
    assert VendorInputs(*inputs.lock).source == "p==1"
    assert "requirements" in {one.name for one in inputs.entries()}


GIT_WHEEL = GitWheelInputs("p", "https://git.example/p", "a" * 40, files=("x",))


def test_a_repository_is_one_task_of_the_layer_and_of_all_services() -> None:
    found = tasks(PYTHON_TEXT, packages=packages(GIT_WHEEL))
    [wheel] = [name for name in found if name.startswith("git-wheel:p-aaaaaaa-")]
    assert found[ARCHIVE].needs == (wheel,)
    # Packages of the lock without hashes are downloaded for the layer.
    assert archive(found).lock
    inputs = found[wheel].inputs
    assert isinstance(inputs, GitWheelInputs)
    assert (inputs.service, inputs.files) == ("shop", ("x",))


def test_a_repository_of_two_services_is_listed_by_the_files_of_both() -> None:
    units = [
        ServiceUnit(
            loaded(PYTHON_TEXT.replace("service: shop", f"service: {name}")),
            "",
            packages=tuple(
                replace(one, folder=name) for one in packages(replace(GIT_WHEEL, files=(name,)))
            ),
        )
        for name in ("one", "two")
    ]
    found = compile_graph(units, Verb.PACKAGE).inputs_of("git-wheel")
    [inputs] = [one for one in found if isinstance(one, GitWheelInputs)]
    assert (inputs.service, inputs.files) == ("", ("one", "two"))
