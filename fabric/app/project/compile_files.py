"""From files to a graph: read and check the configs, then build the graph with networkx."""

from collections.abc import Iterable, Sequence

from fabric.app.image_kinds import has_moving_base
from fabric.app.project.compiled import Compiled, CompiledReads
from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.app.project.placement import Placement
from fabric.app.project.plan_rows import build_service_row
from fabric.app.project.project import open_project
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.config.rules.deployable import plan_problems
from fabric.graph.compile import compile_graph
from fabric.graph.service_unit import ServiceUnit
from fabric.model.catalog import find_installed_facts
from fabric.model.names import Verb
from fabric.model.problems import FabricError, Problem
from fabric.model.project_info import ProjectInfo
from fabric.model.text.spelling import find_nearest


def compile_files(request: Request, settings: Settings) -> Compiled:
    return compile_project(open_project(request.where, settings), request)


def compile_project(project: Project, request: Request) -> Compiled:
    _refuse_unplannable(project, request.verb)
    _refuse_unknown_functions(project, request.functions)
    return Compiled(
        info=ProjectInfo(str(project.workspace), project.stage, project.warnings),
        graph=compile_graph(
            project.units,
            request.verb,
            functions=request.functions,
            strict=request.execution.strict,
        ),
        services=tuple(build_service_row(unit, request.verb) for unit in project.units),
        placements=_list_placements(project.units, project, request.where.home),
        dependencies=_list_placements(project.dependencies, project),
        units=project.units,
        reads=CompiledReads(
            sources=frozenset(
                str(path) for path in (*project.reads.sources, *project.reads.looked_for)
            ),
            bound_names=project.reads.bound_names,
            may_be_kept=not any(_depends_on_packages(unit) for unit in project.units),
        ),
    )


def _depends_on_packages(unit: ServiceUnit) -> bool:
    """Return whether the graph depends on installed packages or on tags of images: a plan is not
    stored then, because these can change."""
    config = unit.config
    return (
        config.document.bindings.asked_managers
        or has_moving_base(config)
        or find_installed_facts(config.provider.id) is not None
    )


def _list_placements(
    units: Iterable[ServiceUnit], project: Project, home: str = ""
) -> tuple[Placement, ...]:
    return tuple(build_placement(unit, project.workspace, home) for unit in units)


def _refuse_unplannable(project: Project, verb: Verb) -> None:
    if verb is not Verb.DEPLOY:
        return
    problems = [problem for unit in project.units for problem in plan_problems(unit.config)]
    if problems:
        raise FabricError(*problems)


def _refuse_unknown_functions(project: Project, functions: frozenset[str]) -> None:
    known = sorted({one.name for unit in project.units for one in unit.config.functions})
    unknown = sorted(functions - set(known))
    if unknown:
        raise FabricError(*(unknown_function_problem(name, known) for name in unknown))


def unknown_function_problem(name: str, known: Sequence[str]) -> Problem:
    guess = find_nearest(name, known)
    hint = f"did you mean `{guess}`?" if guess else "use one of " + ", ".join(known[:12])
    return Problem("usage/unknown-function", f"unknown function `{name}`", hint=hint)
