"""Container images: their task kinds, which are imported only if a function has an image."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from fabric.app.settings import Settings
from fabric.graph.taskgraph import TaskGraph
from fabric.model.problems import Problem
from fabric.model.task import InputEntry, Output, Task
from fabric.model.task_id import TaskId, is_kind
from fabric.ownership import is_safe_place
from fabric.tasks.contract import Registry, TaskKind, TaskResult, TaskTools, is_warning_kind

if TYPE_CHECKING:
    from fabric.config.values import Config  # a warm start needs no configs

EXISTING_IMAGE = "local/existing-image"
_KINDS = frozenset(("image", "image-layers"))


def open_image_kinds(settings: Settings) -> Registry:
    kinds = _ImageKinds(settings)
    return {kind: _LateKind(kind, kinds) for kind in sorted(_KINDS)}


class _ImageKinds:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def registry(self) -> Registry:
        from fabric.providers.cloud1.core.registries import find_ecr_login
        from fabric.system.registries.bases import Bases
        from fabric.system.registries.credentials import find_login, list_insecure
        from fabric.system.registries.push import Registries
        from fabric.tasks.image import ImageKind, ImageLayersKind

        settings = self._settings
        tools = settings.toolchains
        folder = tools / "images" if tools and is_safe_place(str(tools)) else None
        env = settings.env
        registries = Registries(
            lambda name: find_login(name, env) or find_ecr_login(name, env), list_insecure(env)
        )
        bases = Bases(folder, registries, settings.clock.now)
        return {"image": ImageKind(bases), "image-layers": ImageLayersKind()}


class _LateKind:
    """A kind that is imported on its first use."""

    def __init__(self, kind: str, kinds: _ImageKinds) -> None:
        self._kind = kind
        self._kinds = kinds

    @property
    def _own(self) -> TaskKind:
        return self._kinds.registry[self._kind]

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        return self._own.code(task)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        return self._own.run(task, upstream, task_tools)

    def warnings(
        self, task: Task, upstream: Mapping[TaskId, Output], output: Output
    ) -> tuple[Problem, ...]:
        own = self._own
        return own.warnings(task, upstream, output) if is_warning_kind(own) else ()


def drop_image_tasks(graph: TaskGraph) -> TaskGraph:
    """Return the graph of a local run, which runs the files of a function without its image."""
    if not any(task.kind in _KINDS for task in graph.tasks):
        return graph
    from fabric.graph.build_graph import build_graph

    return build_graph(task for task in graph.tasks if task.kind not in _KINDS)


def existing_image_problem(function: str) -> Problem:
    message = f"function `{function}` has an existing image, which fabric does not run locally"
    return Problem(EXISTING_IMAGE, message, "start the image with `docker run`")


def is_built_here(task: Task) -> bool:
    """Return whether a build or its package has files: those of an existing image have none."""
    return task.kind == "build" or any(is_kind(need, "build") for need in task.needs)


def has_moving_base(config: "Config") -> bool:
    """Return whether an image of the config has a base that can move."""
    packages = (function.build.package for function in config.functions)
    return any(one.is_image and "@sha256:" not in one.base for one in packages)
