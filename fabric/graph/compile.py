"""Services to tasks: one table of recipes serves every verb."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.config.rules.locations import build_custom_pointer, find_location
from fabric.config.values import Config, Function
from fabric.graph.bundling import (
    Variants,
    add_bundler_settings,
    add_command_settings,
    build_command_env,
    find_first_function,
    group_variants,
    list_static_patterns,
    with_handlers,
)
from fabric.graph.checks import build_check_tasks, list_check_ids
from fabric.graph.deploy_settings import (
    build_spec,
    choose_runtime,
    describe_function_place,
    describe_release_place,
    list_layers,
)
from fabric.graph.images import ImagePart, build_image_tasks
from fabric.graph.late_outputs import (
    is_stack_used_by_release,
    list_output_tasks,
    list_service_outputs,
)
from fabric.graph.layers import (
    build_layer_archive_id,
    build_layer_archive_task,
    build_layer_id,
    build_layer_task,
    list_function_layers,
    list_layer_packages,
    list_used_layers,
)
from fabric.graph.name_tasks import build_dns_sync_tasks
from fabric.graph.service_unit import ServiceUnit, find_python_target
from fabric.graph.stacks import build_stack_tasks, list_stack_ids
from fabric.graph.steps import (
    build_hook_tasks,
    build_step_tasks,
    list_hook_ids,
    list_step_ids,
)
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.workflows import build_workflow_tasks, list_workflow_ids
from fabric.model.catalog import DeployUnit, find_provider_facts
from fabric.model.hashing import hash_fields
from fabric.model.names import CACHED_EVENTS, StepEvent, Verb
from fabric.model.records.record import Mode
from fabric.model.task import Task
from fabric.model.task_id import TaskId, build_task_id, is_kind, parse_task_kind, release_id
from fabric.model.task_inputs import (
    BuildInputs,
    DeployInputs,
    GitWheelInputs,
    PackageInputs,
    ReleaseInputs,
    VendorInputs,
    WheelInputs,
)


class Services(Struct, frozen=True):
    """All units of a run, and the lookup of upstream releases."""

    units: tuple[ServiceUnit, ...]
    by_service: Mapping[str, ServiceUnit]
    # Names the target of builds and archives that targets of a service do not share.
    variants: Variants


def compile_graph(
    units: Sequence[ServiceUnit],
    verb: Verb,
    *,
    functions: frozenset[str] = frozenset(),
    strict: bool = False,
) -> TaskGraph:
    """Compile the tasks of a verb over these services. `functions` limits it to these and their
    needs."""
    from fabric.graph.build_graph import (
        build_graph,  # networkx: imported when something is compiled
    )

    by_service = {unit.service: unit for unit in units}
    services = Services(
        tuple(units), by_service, group_variants(units, build_task_inputs, _list_archive_facts)
    )
    tasks = (
        task
        for unit in services.units
        for recipe in (_STRICT_BUILD if strict and verb is Verb.BUILD else RECIPES[verb])
        for task in recipe(services, unit, _select_functions(unit.config, functions))
    )
    return build_graph(_merge_wheels(tasks))


def _select_functions(config: Config, functions: frozenset[str]) -> tuple[Function, ...]:
    if not functions:
        return config.functions
    return tuple(function for function in config.functions if function.name in functions)


def _build_steps(
    scene: Services, unit: ServiceUnit, functions: Sequence[Function]
) -> Iterable[Task]:
    """Build the cached commands around builds, once for all targets of a service."""
    if _has_step_tasks(scene, unit, functions):
        built = _list_function_tasks(scene, unit, functions, "build")
        yield from build_step_tasks(unit, StepEvent.BEFORE_BUILD, ())
        yield from build_step_tasks(unit, StepEvent.AFTER_BUILD, built)


def _package_steps(
    scene: Services, unit: ServiceUnit, functions: Sequence[Function]
) -> Iterable[Task]:
    if _has_step_tasks(scene, unit, functions):
        built = _list_function_tasks(scene, unit, functions, "build")
        packed = _list_function_tasks(scene, unit, functions, "package")
        yield from build_step_tasks(unit, StepEvent.BEFORE_PACKAGE, built)
        yield from build_step_tasks(unit, StepEvent.AFTER_PACKAGE, packed)


def _has_step_tasks(scene: Services, unit: ServiceUnit, functions: Sequence[Function]) -> bool:
    """Return whether this unit brings the steps of its service, which all its targets share."""
    is_chosen = scene.by_service[unit.service] is unit
    return bool(unit.config.supplies.steps and functions) and is_chosen


def _list_function_tasks(
    scene: Services, unit: ServiceUnit, functions: Sequence[Function], kind: str
) -> tuple[TaskId, ...]:
    """List the builds or packages of these functions for all targets of their service."""
    names = {one.name for one in functions}
    variant = scene.variants.build if kind == "build" else scene.variants.package
    found = (
        _build_task_id(kind, one, function, variant(one, function))
        for one in scene.units
        if one.service == unit.service
        for function in _list_built(one.config.functions)
        if function.name in names
    )
    return tuple(dict.fromkeys(found))


def _merge_wheels(tasks: Iterable[Task]) -> Iterator[Task]:
    """Keep one task of each wheel. A wheel that services share has no service."""
    wheels: dict[TaskId, WheelInputs | GitWheelInputs] = {}
    for task in tasks:
        if not isinstance(task.inputs, WheelInputs | GitWheelInputs):
            yield task
            continue
        first = wheels.setdefault(task.id, task.inputs)
        if isinstance(first, GitWheelInputs) and isinstance(task.inputs, GitWheelInputs):
            files = tuple(dict.fromkeys((*first.files, *task.inputs.files)))
            first = wheels[task.id] = replace(first, files=files)
        if first.service != task.inputs.service:
            wheels[task.id] = replace(first, service="")
    yield from (Task(task_id, inputs) for task_id, inputs in wheels.items())


def _vendor(_scene: Services, unit: ServiceUnit, functions: Sequence[Function]) -> Iterable[Task]:
    found = ((_vendor_task(unit, one), unit.packages_of(one.name)) for one in functions)
    seen = {task.id: (task, asked.wheels) for task, asked in found if task and asked}
    for _, (task, wheels) in sorted(seen.items()):
        needed = [Task(_build_wheel_id(one), _place_wheel(one, task)) for one in wheels]
        yield from needed
        yield replace(task, needs=tuple(one.id for one in needed))


def _build_wheel_id(wheel: WheelInputs | GitWheelInputs) -> TaskId:
    if isinstance(wheel, GitWheelInputs):
        short = hash_fields((wheel.url, wheel.commit, wheel.subdirectory))[:8]
        return build_task_id("git-wheel", f"{wheel.name}-{wheel.commit[:7]}-{short}")
    facts = (*wheel.hashes, wheel.python, wheel.platform, str(wheel.glibc))
    if wheel.indexes:
        facts = (*facts, wheel.indexes)
    short = hash_fields(facts)[:8]
    return build_task_id("wheel", f"{wheel.name}-{wheel.version}-{short}")


def _place_wheel(wheel: WheelInputs | GitWheelInputs, vendor: Task) -> WheelInputs | GitWheelInputs:
    """Add the vendor task that needs a wheel, and where its requirements are."""
    if isinstance(wheel, GitWheelInputs):
        return replace(wheel, service=vendor.inputs.service)
    root = getattr(vendor.inputs, "root", ".")
    return replace(wheel, service=vendor.inputs.service, batch=vendor.id, root=root)


def _list_built(functions: Sequence[Function]) -> Sequence[Function]:
    """List the functions that are built here: not those with an existing image."""
    return [one for one in functions if not one.build.package.existing]


def _build(scene: Services, unit: ServiceUnit, functions: Sequence[Function]) -> Iterable[Task]:
    for function in _list_built(functions):
        apart = scene.variants.build(unit, function)
        inputs = build_task_inputs(unit, function, apart)
        # What a command makes may be other bytes when it is made again: it is brought whole.
        needs = list_step_ids(scene.by_service[unit.service].config, StepEvent.BEFORE_BUILD)
        inputs = replace(inputs, is_wanted=bool(inputs.command), is_after_steps=bool(needs))
        yield Task(_build_task_id("build", unit, function, apart), inputs, needs)


def _build_alone(
    scene: Services, unit: ServiceUnit, functions: Sequence[Function]
) -> Iterable[Task]:
    """Builds that no archive follows: they fetch no packages, and cannot know their modules."""
    built = _list_built(functions)
    for task, function in zip(_build(scene, unit, built), built, strict=True):
        brought = None if _has_packages(unit, function) else _list_runtime_modules(unit, function)
        inputs = replace(
            build_task_inputs(unit, function),
            is_last=True,
            brought=brought,
            is_after_steps=bool(task.needs),
        )
        yield replace(task, inputs=inputs)


def _build_checked(
    scene: Services, unit: ServiceUnit, functions: Sequence[Function]
) -> Iterable[Task]:
    """Build with strict import checks. A function with packages also gets an archive task.

    Only packages show which imports are unknown, and `package` must find the same.
    """
    packed = [one for one in functions if _has_packages(unit, one)]
    yield from _vendor(scene, unit, packed)
    for task, function in zip(_build(scene, unit, packed), packed, strict=True):
        apart = scene.variants.build(unit, function)
        inputs = replace(build_task_inputs(unit, function, apart), is_after_steps=bool(task.needs))
        yield replace(task, inputs=inputs)
    yield from _package(scene, unit, packed)
    yield from _build_alone(scene, unit, [one for one in functions if one not in packed])


def _package(scene: Services, unit: ServiceUnit, functions: Sequence[Function]) -> Iterable[Task]:
    config = scene.by_service[unit.service].config
    steps = list_step_ids(config, StepEvent.AFTER_BUILD, StepEvent.BEFORE_PACKAGE)
    for function in functions:
        vendor, apart = _vendor_task(unit, function), scene.variants.package(unit, function)
        built = _find_build(scene, unit, function)
        yield Task(
            _build_task_id("package", unit, function, apart),
            PackageInputs(
                unit.service, function.name, unit.root, _list_runtime_modules(unit, function), apart
            ),
            (
                *((built,) if built else ()),
                *((vendor.id,) if vendor else ()),
                *(_list_layers_with_packages(unit, function) if vendor else ()),
                *steps,
            ),
        )


def _list_layers_with_packages(unit: ServiceUnit, function: Function) -> Iterator[TaskId]:
    """List the archives of layers whose packages a Python archive does not contain."""
    layers = list_function_layers(unit, function)
    return (build_layer_archive_id(unit, one) for one in layers if one.packages)


def _layer_archives(
    scene: Services, unit: ServiceUnit, functions: Sequence[Function]
) -> Iterable[Task]:
    steps = list_step_ids(scene.by_service[unit.service].config, StepEvent.BEFORE_BUILD)
    for used in list_used_layers(unit, functions):
        asked = unit.packages_of(used.user.name)
        vendor = _vendor_task(unit, used.user) if used.layer.packages and asked else None
        if vendor and asked:
            vendor = replace(vendor, needs=tuple(map(_build_wheel_id, asked.wheels)))
        yield build_layer_archive_task(unit, used, vendor, steps)


def _layers(_scene: Services, unit: ServiceUnit, functions: Sequence[Function]) -> Iterable[Task]:
    return (build_layer_task(unit, used.layer) for used in list_used_layers(unit, functions))


def _images(scene: Services, unit: ServiceUnit, functions: Sequence[Function]) -> Iterable[Task]:
    """Build the images of functions. Functions with the same packages share their layers."""
    found = [
        ImagePart(
            function=function,
            runtime=choose_runtime(unit, function),
            apart=scene.variants.package(unit, function),
            build=_find_build(scene, unit, function),
            vendor=_vendor_task(unit, function),
            wheels=_list_wheel_ids(unit, function),
        )
        for function in functions
        if function.build.package.is_image
    ]
    return build_image_tasks(unit, found)


def _list_wheel_ids(unit: ServiceUnit, function: Function) -> tuple[TaskId, ...]:
    asked = unit.packages_of(function.name)
    return tuple(_build_wheel_id(one) for one in asked.wheels) if asked else ()


def _list_archive_facts(unit: ServiceUnit, function: Function) -> tuple[Hashable, ...]:
    """List the inputs of an archive beside the build."""
    vendor = _vendor_task(unit, function)
    layers = tuple(_list_layers_with_packages(unit, function)) if vendor else ()
    package = function.build.package
    own = (unit.config.provider.id, package) if package.is_image else ()
    return vendor.id if vendor else "", _list_runtime_modules(unit, function), layers, own


def _stacks(services: Services, unit: ServiceUnit, functions: Sequence[Function]) -> Iterable[Task]:
    """Build the tasks of stacks. The first one starts when everything of the service is packed."""
    needs = (
        *(_build_archive_id(services, unit, function) for function in functions),
        *_list_image_ids(services, unit, functions),
        *(build_layer_archive_id(unit, used.layer) for used in list_used_layers(unit, functions)),
        *_list_upstream_releases(services, unit),
    )
    return build_stack_tasks(unit, needs)


def _checks(services: Services, unit: ServiceUnit, functions: Sequence[Function]) -> Iterable[Task]:
    """Build the checks of packaged functions, which their deploys wait for."""
    for function in functions:
        layers = tuple(
            build_layer_archive_id(unit, used.layer) for used in list_used_layers(unit, (function,))
        )
        needs = (_build_archive_id(services, unit, function), *layers)
        yield from build_check_tasks(unit, function, needs)


def _deploy(services: Services, unit: ServiceUnit, functions: Sequence[Function]) -> Iterable[Task]:
    waits = (
        *_list_upstream_releases(services, unit),
        *(
            list_step_ids(services.by_service[unit.service].config, StepEvent.AFTER_PACKAGE)
            if functions
            else ()
        ),
        *list_hook_ids(unit.config, StepEvent.BEFORE_DEPLOY),
    )
    first = find_first_function(unit.config)
    is_first_there = any(one.name == first for one in functions)
    for name, together in _group_deploy_units(unit, functions):
        is_later = is_first_there and bool(name) and name != first
        specs = tuple(build_spec(unit, function) for function in together)
        chosen = {function.name for function in together}
        others = tuple(one.name for one in unit.config.functions if one.name not in chosen)
        yield Task(
            _deploy_id(unit, name),
            DeployInputs(
                *_build_address(unit, name),
                unit.mode,
                describe_function_place(unit),
                specs,
                () if name else others,
                unit.needs.outside,
            ),  # fmt: skip
            (
                *(_build_archive_id(services, unit, function) for function in together),
                *(build_layer_id(unit, used.layer) for used in list_used_layers(unit, together)),
                *_list_image_ids(services, unit, together),
                *(one for function in together for one in list_check_ids(unit, function)),
                *list_stack_ids(unit, "before"),
                *((_deploy_id(unit, first),) if is_later else ()),
                *waits,
            ),
        )


def _workflows(
    _services: Services, unit: ServiceUnit, functions: Sequence[Function]
) -> Iterable[Task]:
    """Build the tasks of state machines. They wait for the functions, so that a failed deploy
    changes none."""
    deploys = (_deploy_id(unit, name) for name, _ in _group_deploy_units(unit, functions))
    return build_workflow_tasks(unit, deploys)


def _release(
    services: Services, unit: ServiceUnit, functions: Sequence[Function]
) -> Iterable[Task]:
    config = unit.config
    deploys = (_deploy_id(unit, name) for name, _ in _group_deploy_units(unit, functions))
    names = tuple(sorted(function.name for function in config.functions))
    health = config.deploy
    checks = (
        ("healthCheck", str(health.health_check.enabled)),
        ("healthCheckUrl", health.health_check.url),
    )
    inputs = ReleaseInputs(
        service=unit.service, provider=config.provider.label, stage=config.stage, mode=unit.mode,
        place=(*describe_release_place(unit), *checks), functions=names, outside=unit.needs.outside,
        workflows=tuple(one.name for one in config.supplies.machines),
    )  # fmt: skip
    hooks = list_hook_ids(config, StepEvent.BEFORE_RELEASE)
    stacks = list_stack_ids(unit, "before") if is_stack_used_by_release(config) else ()
    needs = (
        *(*deploys, *list_workflow_ids(unit), *stacks),
        *(*_list_upstream_releases(services, unit), *hooks),
    )
    yield Task(release_id(unit.service, config.provider.label), inputs, needs)


def _hooks(services: Services, unit: ServiceUnit, functions: Sequence[Function]) -> Iterable[Task]:
    """Build the hooks of deploy and release, for each target of a service."""
    if not any(one.event not in CACHED_EVENTS for one in unit.config.supplies.steps):
        return
    deploys = tuple(_deploy(services, unit, functions))
    [release] = _release(services, unit, functions)
    aside = ("hook", "deploy")
    before = (need for one in deploys for need in one.needs if parse_task_kind(need) not in aside)
    yield from build_hook_tasks(unit, StepEvent.BEFORE_DEPLOY, deploys, before)
    before = (need for need in release.needs if not is_kind(need, "hook"))
    yield from build_hook_tasks(unit, StepEvent.BEFORE_RELEASE, (release,), before)
    released = build_hook_tasks(unit, StepEvent.AFTER_RELEASE, (release,), (release.id,))
    yield from released
    after = (release.id, *(one.id for one in released))
    yield from build_hook_tasks(unit, StepEvent.AFTER_DEPLOY, (*deploys, release), after)


def _name(scene: Services, unit: ServiceUnit, _functions: Sequence[Function]) -> Iterable[Task]:
    """Return the DNS task name, one for all targets of a service."""
    if scene.by_service[unit.service] is not unit:
        return ()
    together = scene.units if unit.apart else (unit,)
    labels = [one.config.provider.label for one in together if one.service == unit.service]
    return build_dns_sync_tasks(unit.config, labels, is_asked=unit.leads_name)


Recipe = Callable[[Services, ServiceUnit, Sequence[Function]], Iterable[Task]]
_STRICT_BUILD: tuple[Recipe, ...] = (_build_steps, _build_checked)
_ARCHIVES: tuple[Recipe, ...] = (
    _build_steps, _package_steps, _vendor, _build, _package, _images,
)  # fmt: skip
RECIPES: dict[Verb, tuple[Recipe, ...]] = {
    Verb.BUILD: (_build_steps, _build_alone),
    Verb.PACKAGE: (*_ARCHIVES, _layer_archives),
    Verb.DEPLOY: (
        *(*_ARCHIVES, _layer_archives, _checks, _layers),
        *(_stacks, _deploy, _workflows, _release, _hooks, _name),
    ),
}


def is_whole_service_deploy(provider_id: str, mode: str) -> bool:
    """Return whether one deploy replaces all functions, as with some providers and every custom
    command."""
    facts = find_provider_facts(provider_id)
    return mode == Mode.COMMAND or (facts is not None and facts.unit is DeployUnit.SERVICE)


def _group_deploy_units(
    unit: ServiceUnit, functions: Sequence[Function]
) -> tuple[tuple[str, Sequence[Function]], ...]:
    if is_whole_service_deploy(unit.config.provider.id, unit.mode):
        return (("", functions),)
    return tuple((function.name, (function,)) for function in functions)


def _build_address(unit: ServiceUnit, function: str) -> tuple[str, str, str, str]:
    config = unit.config
    return unit.service, function, config.provider.label, config.stage


def _build_task_id(kind: str, unit: ServiceUnit, function: Function, apart: str) -> TaskId:
    return build_task_id(kind, unit.service, function.name, apart)


def _find_build(scene: Services, unit: ServiceUnit, function: Function) -> TaskId | None:
    if function.build.package.existing:
        return None
    return _build_task_id("build", unit, function, scene.variants.build(unit, function))


def _build_archive_id(scene: Services, unit: ServiceUnit, function: Function) -> TaskId:
    return _build_task_id("package", unit, function, scene.variants.package(unit, function))


def _list_image_ids(
    scene: Services, unit: ServiceUnit, functions: Sequence[Function]
) -> Iterable[TaskId]:
    return (
        _build_task_id("image", unit, function, scene.variants.package(unit, function))
        for function in functions
        if function.build.package.is_image
    )


def _deploy_id(unit: ServiceUnit, function: str) -> TaskId:
    return build_task_id("deploy", unit.service, function, unit.config.provider.label)


def _list_upstream_releases(services: Services, unit: ServiceUnit) -> tuple[TaskId, ...]:
    """List the releases of dependencies in this run, and their stacks whose outputs are used."""
    found = [services.by_service.get(service) for service in unit.needs.upstream]
    releases = (release_id(one.service, one.config.provider.label) for one in found if one)
    used = list_output_tasks(unit, list_service_outputs(unit.config))
    stacks = {one for each in found if each for one in list_stack_ids(each, "")}
    return (*releases, *(one for one in used if one in stacks))


def _vendor_task(unit: ServiceUnit, function: Function) -> Task | None:
    asked, target = unit.packages_of(function.name), find_python_target(unit.config, function)
    if (
        function.build.package.existing
        or asked is None
        or target is None
        or not (asked.text or asked.local)
    ):
        return None
    facts = (target.python, target.architecture, str(target.glibc), *asked.without)
    optional = function.build.optional.pairs
    facts += tuple("-".join(one) for one in optional)
    name = hash_fields((asked.folder, *facts))[:12]
    inputs = VendorInputs(
        service=unit.service,
        root=asked.folder,
        source=asked.text,
        python=target.python,
        platform=target.architecture,
        without=asked.without,
        glibc=target.glibc,
        folders=asked.local,
        selected=asked.selected,
        optional=optional,
    )
    return Task(build_task_id("vendor", name), inputs)


def build_task_inputs(unit: ServiceUnit, function: Function, apart: str = "") -> BuildInputs:
    build = function.build
    inputs = BuildInputs(
        service=unit.service,
        function=function.name,
        root=unit.root,
        entry=function.entry,
        runtime=choose_runtime(unit, function),
        include=(*function.include, *list_static_patterns(unit.config, function)),
        ignore=build.ignore,
        command=build.command,
        env=build_command_env(unit.config, function) if build.is_custom else (),
        apart=apart,
        is_portable=build.is_custom and build.portable,
    )
    if build.is_custom:
        where = find_location(unit.config.document, build_custom_pointer(function.name))
        inputs = replace(inputs, place=(where.file, where.line, where.column))
        return add_command_settings(function, inputs)
    inputs = with_handlers(unit.config.provider.id, inputs)
    is_bundled = inputs.runtime.startswith("nodejs")
    if not is_bundled:
        return inputs
    inputs = add_bundler_settings(unit.config, function, inputs)
    return replace(inputs, layered=list_layer_packages(unit, function))


def _has_packages(unit: ServiceUnit, function: Function) -> bool:
    return _vendor_task(unit, function) is not None


def _list_runtime_modules(unit: ServiceUnit, function: Function) -> tuple[str, ...] | None:
    """List the runtime's modules; None if layers or a command can add more."""
    if list_layers(unit, function) or function.build.is_custom:
        return None
    package = function.build.package
    if package.is_image:
        return None if package.base else ()
    facts = find_provider_facts(unit.config.provider.id)
    return tuple(module for _, module in facts.platform.python_packages) if facts else ()
