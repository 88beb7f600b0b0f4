"""The tasks of layers of the project: their archives, and their versions at the provider."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.config.rules.locations import build_layer_pointer, find_location
from fabric.config.values import Function, Layer, LayerBuild
from fabric.graph.deploy_settings import choose_runtime
from fabric.graph.service_unit import ServiceUnit, find_python_target
from fabric.model.catalog import find_provider_facts
from fabric.model.task import Pairs, Task
from fabric.model.task_id import TaskId, build_task_id, is_kind
from fabric.model.task_inputs import LayerArchiveInputs, LayerInputs, VendorInputs


class UsedLayer(Struct, frozen=True):
    """A layer, and a function that attaches it. All of its functions have the same target."""

    layer: Layer
    user: Function


def list_function_layers(unit: ServiceUnit, function: Function) -> tuple[Layer, ...]:
    """List the layers of the project that a function attaches; none if the provider has no
    layers."""
    facts = find_provider_facts(unit.config.provider.id)
    if facts is None or not facts.traits.attaches_layers:
        return ()
    named = (one for one in unit.config.supplies.layers if one.name in function.layers)
    return tuple(named)


def list_used_layers(unit: ServiceUnit, functions: Sequence[Function]) -> Iterator[UsedLayer]:
    found = {
        layer.name: UsedLayer(layer, function)
        for function in reversed(functions)
        for layer in list_function_layers(unit, function)
    }
    return (found[name] for name in sorted(found))


def list_layer_packages(unit: ServiceUnit, function: Function) -> tuple[str, ...]:
    """List the packages that a function finds in its layers."""
    layers = list_function_layers(unit, function)
    return tuple(dict.fromkeys(name for one in layers for name in one.packages))


def build_layer_id(unit: ServiceUnit, layer: Layer) -> TaskId:
    return build_task_id("layer", unit.service, layer.name, unit.config.provider.label)


def build_layer_archive_id(unit: ServiceUnit, layer: Layer) -> TaskId:
    return build_task_id("layer-archive", unit.service, layer.name, unit.config.provider.label)


def build_layer_archive_task(
    unit: ServiceUnit, used: UsedLayer, vendor: Task | None, steps: tuple[TaskId, ...]
) -> Task:
    """Build the task of an archive. `vendor` has the wheels of a Python function as its needs."""
    layer, build = used.layer, used.layer.build or LayerBuild()
    wheels = vendor.needs if vendor else ()
    is_complete = any(is_kind(one, "wheel") for one in wheels)
    lock = _list_lock_values(vendor) if vendor and not is_complete else ()
    target = find_python_target(unit.config, used.user)
    runtime = f"python{target.python}" if target else choose_runtime(unit, used.user)
    inputs = LayerArchiveInputs(
        service=unit.service,
        name=layer.name,
        root=unit.root,
        provider=unit.config.provider.label,
        packages=layer.packages,
        path=layer.path,
        command=build.command,
        inputs=build.inputs,
        outputs=build.outputs,
        ignore=unit.config.build.ignore if layer.build and not build.inputs else (),
        timeout=build.timeout,
        runtime=runtime if layer.packages else "",
        architecture=used.user.capacity.architecture if layer.packages else "",
        lock=lock,
        place=_find_place(unit, layer),
    )
    return Task(build_layer_archive_id(unit, layer), inputs, (*wheels, *steps))


def _find_place(unit: ServiceUnit, layer: Layer) -> tuple[str, int, int]:
    where = find_location(unit.config.document, build_layer_pointer(layer.name))
    return where.file, where.line, where.column


def _list_lock_values(vendor: Task) -> tuple[object, ...]:
    inputs = vendor.inputs
    assert isinstance(inputs, VendorInputs)  # noqa: S101 - a task of this kind
    return tuple(getattr(inputs, name) for name in inputs.__struct_fields__)


def build_layer_task(unit: ServiceUnit, layer: Layer) -> Task:
    settings: Pairs = (
        ("description", layer.description),
        ("license", layer.license),
        ("runtimes", " ".join(layer.runtimes)),
        ("architectures", " ".join(layer.architectures)),
    )
    config = unit.config
    place = (("provider-id", config.provider.id), ("region", config.provider.region))
    inputs = LayerInputs(
        service=unit.service,
        name=layer.name,
        provider=config.provider.label,
        stage=config.stage,
        mode=unit.mode,
        place=(*place, *unit.account),
        settings=tuple(pair for pair in settings if pair[1]),
        retain=layer.retain,
    )
    return Task(build_layer_id(unit, layer), inputs, (build_layer_archive_id(unit, layer),))
