"""Services to tasks: one table of recipes serves every verb."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fabric.config.values import Config, Function
from fabric.graph.taskgraph import TaskGraph
from fabric.model.hashing import digest_fields
from fabric.model.names import TaskId, Verb
from fabric.model.task import (
    BuildInputs,
    DeployInputs,
    PackageInputs,
    Pairs,
    ReleaseInputs,
    Task,
    VendorInputs,
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A service as it lies in the workspace: what the compiler must know beside its config."""

    config: Config
    root: str
    mode: str = "simulated"
    lock: str = ""
    upstream: tuple[str, ...] = ()

    @property
    def service(self) -> str:
        return self.config.service


@dataclass(frozen=True, slots=True)
class Scene:
    """All units of one run, and how to find an upstream's release."""

    units: tuple[Unit, ...]

    def unit(self, service: str) -> Unit | None:
        return next((unit for unit in self.units if unit.service == service), None)


def compile_graph(
    units: Sequence[Unit], verb: Verb, *, functions: frozenset[str] = frozenset()
) -> TaskGraph:
    """The tasks of a verb over these services; `functions` narrows it to these and their needs."""
    from fabric.graph.weave import weave  # networkx: imported when something is compiled

    scene = Scene(tuple(units))
    tasks = [
        task
        for unit in scene.units
        for recipe in RECIPES[verb]
        for task in recipe(scene, unit, _selected(unit.config, functions))
    ]
    return weave(tasks)


def _selected(config: Config, functions: frozenset[str]) -> tuple[Function, ...]:
    if not functions:
        return config.functions
    return tuple(function for function in config.functions if function.name in functions)


def _vendor(_scene: Scene, unit: Unit, functions: Sequence[Function]) -> Iterable[Task]:
    seen = {_vendor_task(unit, function) for function in functions}
    return sorted((task for task in seen if task), key=lambda task: task.id)


def _build(_scene: Scene, unit: Unit, functions: Sequence[Function]) -> Iterable[Task]:
    for function in functions:
        yield Task(_id("build", unit, function), _build_inputs(unit, function))


def _package(_scene: Scene, unit: Unit, functions: Sequence[Function]) -> Iterable[Task]:
    for function in functions:
        vendor = _vendor_task(unit, function)
        yield Task(
            _id("package", unit, function),
            PackageInputs(unit.service, function.name, unit.root),
            (_id("build", unit, function), *((vendor.id,) if vendor else ())),
        )


def _deploy(scene: Scene, unit: Unit, functions: Sequence[Function]) -> Iterable[Task]:
    waits = _upstream_releases(scene, unit)
    for function in functions:
        yield Task(
            _deploy_id(unit, function),
            _deploy_inputs(unit, function),
            (_id("package", unit, function), *waits),
        )


def _release(scene: Scene, unit: Unit, functions: Sequence[Function]) -> Iterable[Task]:
    label = unit.config.provider.label
    yield Task(
        TaskId(f"release:{unit.service}@{label}"),
        ReleaseInputs(unit.service, label, unit.config.stage, unit.mode, _place(unit.config)),
        (*(_deploy_id(unit, function) for function in functions), *_upstream_releases(scene, unit)),
    )


Recipe = Callable[[Scene, Unit, Sequence[Function]], Iterable[Task]]
RECIPES: dict[Verb, tuple[Recipe, ...]] = {
    Verb.BUILD: (_build,),
    Verb.PACKAGE: (_vendor, _build, _package),
    Verb.DEPLOY: (_vendor, _build, _package, _deploy, _release),
}


def _id(kind: str, unit: Unit, function: Function) -> TaskId:
    return TaskId(f"{kind}:{unit.service}/{function.name}")


def _deploy_id(unit: Unit, function: Function) -> TaskId:
    return TaskId(f"deploy:{unit.service}/{function.name}@{unit.config.provider.label}")


def _upstream_releases(scene: Scene, unit: Unit) -> tuple[TaskId, ...]:
    found = (scene.unit(service) for service in unit.upstream)
    return tuple(
        TaskId(f"release:{one.service}@{one.config.provider.label}") for one in found if one
    )


def _runtime(unit: Unit, function: Function) -> str:
    return function.runtime or unit.config.provider.runtime


def _vendor_task(unit: Unit, function: Function) -> Task | None:
    runtime = _runtime(unit, function)
    if not unit.lock or not runtime.startswith("python"):
        return None
    version = re.sub(r"^python", "", runtime) or "3.11"
    platform = "aarch64" if function.architecture == "arm64" else "x86_64"
    name = digest_fields((unit.root, version, platform))[:12]
    inputs = VendorInputs(unit.service, unit.root, unit.lock, version, platform)
    return Task(TaskId(f"vendor:{name}"), inputs)


def _build_inputs(unit: Unit, function: Function) -> BuildInputs:
    build = unit.config.build
    return BuildInputs(
        service=unit.service,
        function=function.name,
        root=unit.root,
        entry=function.entry,
        runtime=_runtime(unit, function),
        minify=build.minify,
        sourcemap=build.sourcemap,
        include=function.include,
        ignore=build.ignore,
        command=build.command,
        env=_build_env(unit.config, function) if build.command else (),
    )


def _build_env(config: Config, function: Function) -> Pairs:
    """What an own build command may see: compiled graphs lie on disk, so never a secret."""
    return tuple(sorted(pair for pair in function.env if pair[0] not in config.secret_names))


def _deploy_inputs(unit: Unit, function: Function) -> DeployInputs:
    settings: Pairs = (
        ("runtime", _runtime(unit, function)),
        ("entry", function.entry),
        ("memory", str(function.memory)),
        ("timeout", str(function.timeout)),
        ("architecture", function.architecture),
        # Digests: any of these may have a secret bound into it, and graphs lie on disk.
        ("triggers", digest_fields((repr(function.triggers),))),
        ("layers", digest_fields((repr(function.layers),))),
        ("tags", digest_fields((repr(function.tags),))),
        ("concurrency", repr((function.reserved_concurrency, function.provisioned_concurrency))),
        *_place(unit.config),
    )
    env = tuple((name, digest_fields((value,))) for name, value in sorted(function.env))
    label = unit.config.provider.label
    return DeployInputs(
        unit.service, function.name, label, unit.config.stage, unit.mode, settings, env
    )


def _place(config: Config) -> Pairs:
    return (
        ("provider-id", config.provider.id),
        ("region", config.provider.region),
        ("extensions", digest_fields((config.extensions,))),
    )
