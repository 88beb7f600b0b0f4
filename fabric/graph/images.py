"""Tasks of container images, for functions with `package.type: image`."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.config.rules.locations import build_base_pointer, find_location
from fabric.config.values import Function
from fabric.graph.service_unit import ServiceUnit
from fabric.model.catalog import choose_base_image, find_provider_facts
from fabric.model.task import Task
from fabric.model.task_id import TaskId, build_task_id
from fabric.model.task_inputs import ImageInputs, ImageLayersInputs


class ImagePart(Struct, frozen=True, kw_only=True):
    """A function with the tasks that its image needs."""

    function: Function
    runtime: str
    # The target of the image, if several targets have different ones.
    apart: str
    # None for an existing image.
    build: TaskId | None
    vendor: Task | None
    # The wheels of the vendored packages, as far as each is a task.
    wheels: tuple[TaskId, ...] = ()


def build_image_tasks(unit: ServiceUnit, parts: Sequence[ImagePart]) -> Iterator[Task]:
    """Build the tasks of images, and one task of layers for each set of packages."""
    facts = find_provider_facts(unit.config.provider.id)
    layers: dict[TaskId, Task] = {}
    for one in parts if facts else ():
        needs = [one.build] if one.build else []
        if one.vendor:
            own = build_task_id("image-layers", one.vendor.id.partition(":")[2])
            inputs = ImageLayersInputs(one.vendor.inputs.service)
            layers[own] = Task(own, inputs, (one.vendor.id, *one.wheels))
            needs += [one.vendor.id, own]
        package, function = one.function.build.package, one.function
        where = find_location(unit.config.document, build_base_pointer(function.name))
        image = ImageInputs(
            service=unit.service,
            function=function.name,
            root=unit.root,
            base=package.base or (choose_base_image(facts, one.runtime) if facts else ""),
            runtime=one.runtime,
            architecture=function.capacity.architecture,
            is_entrypoint_needed=facts is not None and facts.platform.needs_entrypoint,
            apart=one.apart,
            place=(where.file, where.line, where.column),
            existing=unit.mode if package.existing else "",
        )
        task_id = build_task_id("image", unit.service, function.name, one.apart)
        yield Task(task_id, image, tuple(needs))
    yield from layers.values()
