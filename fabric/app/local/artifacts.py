"""The archives of functions, from the same tasks and the same memo as `fabric package`."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from fabric.app.command import start_command
from fabric.app.image_kinds import (
    EXISTING_IMAGE,
    drop_image_tasks,
    existing_image_problem,
    is_built_here,
)
from fabric.app.invoking.layer_folders import LayerArchive
from fabric.app.project.compiled import Compiled
from fabric.app.request import Request
from fabric.app.running.run_graph import GraphJob, add_cache_warnings, list_write_homes, run_graph
from fabric.app.session import SessionOptions, open_session
from fabric.app.settings import Settings
from fabric.app.shortcuts.compiled import compile_with_pins
from fabric.engine.bus import MakeListeners
from fabric.engine.output_folders import list_visible_files
from fabric.engine.result import Outcome, RunResult
from fabric.engine.shortcuts.answers import collect_basis
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Task
from fabric.model.task_id import name_of
from fabric.runtimes.build import Runtimes

NO_FUNCTIONS = Problem(
    "invoke/no-functions", "the service has no functions", "add one to `functions`"
)


class PackagedFunction(Struct, frozen=True):
    path: Path
    sha256: str
    handler: str


class PackagedLayers(Struct, frozen=True):
    """The archives of layers of the project by name, and the layers that could not be built."""

    archives: Mapping[str, LayerArchive]
    broken: Mapping[str, Problem]


class Artifacts(Struct, frozen=True):
    """The result of a local build. `packages` are by function; `broken` functions could not be
    built.

    Only with `is_whole` are these paths complete: failed tasks, or tasks with moved inputs, do not
    report theirs.
    """

    packages: Mapping[str, PackagedFunction]
    broken: Mapping[str, Problem]
    layers: PackagedLayers
    # All paths that affected it, including missing ones.
    looked_at: frozenset[str]
    # Searched directories.
    searched: frozenset[Path]
    # The service directory.
    root: Path
    # The start time on the file system's clock.
    began: int
    is_whole: bool = True
    warnings: tuple[Problem, ...] = ()
    interrupted: bool = False


def build_artifacts(
    request: Request,
    settings: Settings,
    make_listeners: MakeListeners,
    runtimes: Runtimes | None = None,
) -> Artifacts:
    command = start_command(request, settings)
    work = compile_with_pins(request, settings)
    if not work.graph.tasks:
        raise FabricError(NO_FUNCTIONS)
    workspace = Path(work.info.workspace)
    options = SessionOptions(homes=list_write_homes(work.info, work.graph), runtimes=runtimes)
    with open_session(command, workspace, options) as session:
        graph = drop_image_tasks(work.graph)
        result = run_graph(session, GraphJob(work.info, graph), make_listeners)
        info = add_cache_warnings(work.info, work.graph, session)
    broken = dict(_list_broken_functions(result))
    unbuilt = (one for one in broken.values() if one.code == EXISTING_IMAGE)
    return Artifacts(
        packages=dict(_list_packages(result, workspace)),
        broken=broken,
        layers=_group_layers(result, workspace),
        looked_at=frozenset(str(workspace / path) for path in _list_input_paths(work, result)),
        searched=frozenset(workspace / path for path in _list_searched_folders(result)),
        root=workspace / getattr(next(iter(work.graph.tasks)).inputs, "root", "."),
        began=command.caches.started_ns,
        is_whole=all(outcome.trace is not None for _, outcome in result.rows),
        warnings=(*info.warnings, *result.warnings, *unbuilt),
        interrupted=result.interrupted,
    )


def _list_outcomes(result: RunResult, kind: str) -> Iterator[tuple[Task, Outcome]]:
    return ((task, outcome) for task, outcome in result.rows if task.kind == kind)


def _list_packages(result: RunResult, workspace: Path) -> Iterator[tuple[str, PackagedFunction]]:
    for task, outcome in _list_outcomes(result, "package"):
        if outcome.output is not None and is_built_here(task):
            [file] = outcome.output.files
            path = workspace / task.inputs.shown_in / file.path
            handler = outcome.output.fact("handler")
            yield task.inputs.function, PackagedFunction(path, file.digest, handler)


def _group_layers(result: RunResult, workspace: Path) -> PackagedLayers:
    archives: dict[str, LayerArchive] = {}
    broken: dict[str, Problem] = {}
    for task, outcome in _list_outcomes(result, "layer-archive"):
        name = name_of(task.id).function
        if outcome.output is None:
            broken[name] = next(iter((*outcome.problems, _UNKNOWN)))
        else:
            file = outcome.output.files[0]
            path = workspace / task.inputs.shown_in / file.path
            archives[name] = LayerArchive(name, file.digest, path)
    return PackagedLayers(archives, broken)


def _list_broken_functions(result: RunResult) -> Iterator[tuple[str, Problem]]:
    """List the functions that could not be packaged, because of their build or vendored
    packages."""
    builds = {task.inputs.function: outcome for task, outcome in _list_outcomes(result, "build")}
    shared = [
        problem
        for kind in ("before", "hook", "wheel", "git-wheel", "vendor", "layer-archive")
        for _, outcome in _list_outcomes(result, kind)
        for problem in outcome.problems
    ]
    for task, outcome in _list_outcomes(result, "package"):
        if not is_built_here(task):
            yield task.inputs.function, existing_image_problem(task.inputs.function)
        elif outcome.output is None:
            build = builds.get(task.inputs.function)
            own = build.problems if build else ()
            yield task.inputs.function, next(iter((*own, *shared, *outcome.problems, _UNKNOWN)))


_UNKNOWN = Problem("run/interrupted", "not built: the run was interrupted")


def _list_input_paths(work: Compiled, result: RunResult) -> Iterator[str]:
    """List the input paths of the build, without its output paths."""
    rows = [(task.inputs, one.trace) for task, one in result.rows if one.trace is not None]
    basis = collect_basis(rows, work.reads.sources)
    outputs = {
        f"{inputs.shown_in}/" for inputs, _ in rows if inputs.shown_in and not inputs.shares_folder
    }
    steps = (list_visible_files(inputs, one.output) for inputs, one in rows if inputs.shares_folder)
    own = {path for shown in steps for path in shown}
    seen = {*basis.contents, *basis.absent, *basis.sources} - own
    return (path for path in seen if not path.startswith(tuple(outputs)))


def _list_searched_folders(result: RunResult) -> Iterator[str]:
    traces = (outcome.trace for _, outcome in result.rows if outcome.trace is not None)
    return (one.folder for trace in traces for one in trace.listings)
