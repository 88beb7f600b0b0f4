"""A request to its compiled graph: from the snapshot of last time, or by the long way.

The long way imports YAML and networkx and reads every config; it is only gone when a config, or a
variable that one is bound to, is not what it was.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import astuple, replace

from fabric.app.cache_place import cache_to_read, caches_above, is_usable
from fabric.app.project.compiled import Compiled
from fabric.app.project.placement import packed, unpacked
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.engine.shortcuts import kept_graph
from fabric.model.task import INPUTS_BY_KIND
from fabric.system.clock import file_time_ns

if TYPE_CHECKING:
    from fabric.graph.compile import ServiceUnit


def compiled(request: Request, settings: Settings) -> Compiled:
    started_ns = file_time_ns(settings.cwd)
    asked = _asked(request, settings)
    above = caches_above(_base(request, settings), settings)
    folder = next((one for one in above if one.is_dir() and is_usable(one)), None)
    kept = kept_graph.load(folder, asked, settings.env, INPUTS_BY_KIND) if folder else None
    if kept:
        placements, dependencies = map(unpacked, kept.placements)
        return Compiled(
            kept.info, kept.graph, kept.services, kept.sources, kept.names, placements, dependencies
        )
    from fabric.app.project.compile_files import compile_files

    made = compile_files(request, settings)
    if folder:
        kept = kept_graph.KeptGraph(
            made.info, made.graph, made.services, made.sources, made.bound_names,
            (packed(made.placements), packed(made.dependencies)),
        )  # fmt: skip
        kept_graph.save(folder, asked, settings.env, kept, started_ns)
    return _told_of_cache(made, settings)


def _told_of_cache(work: Compiled, settings: Settings) -> Compiled:
    problem = cache_to_read(Path(work.info.workspace), settings).problem
    if problem is None:
        return work
    return replace(work, info=replace(work.info, warnings=(*work.info.warnings, problem)))


def units_of(work: Compiled, request: Request, settings: Settings) -> tuple["ServiceUnit", ...]:
    """The services with their configs, read now if the graph was kept from last time."""
    if work.units:
        return work.units
    from fabric.app.project.project import open_project  # YAML and all: only where it is needed

    return open_project(request.where, settings).units


def _base(request: Request, settings: Settings) -> Path:
    """The folder of the config or compose file that is asked for."""
    path = settings.cwd / (request.where.compose or request.where.config)
    return path if path.is_dir() else path.parent


def _asked(request: Request, settings: Settings) -> tuple[str, ...]:
    """Everything of a request that the graph depends on."""
    where = request.where
    words = map(str, astuple(where))
    return (request.verb, *words, *sorted(request.functions), "", str(settings.cwd))
