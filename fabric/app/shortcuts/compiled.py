"""Compile a request: from the cached graph, or from all files.

Files are read again only if a config or a bound variable changed.
"""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import astuple, replace

from fabric.app.caching.cache_place import cache_to_read, list_parent_caches, open_usable_cache
from fabric.app.caching.shared_cache import find_base_folder
from fabric.app.project.compiled import Compiled, CompiledReads
from fabric.app.project.placement import pack_placements, unpack_placements
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.engine.leftovers import mark_writing
from fabric.engine.memory.memo import SealedPath
from fabric.engine.shortcuts import stored_graph
from fabric.model.hashing import hash_bytes
from fabric.model.task_inputs import INPUTS_BY_KIND, VendorInputs
from fabric.system.clock import read_file_time_ns

_MOST_OF_CALLERS = 256


def compile_or_load(request: Request, settings: Settings) -> Compiled:
    return replace(_compile_afresh(request, settings), is_part=bool(request.functions))


def _compile_afresh(request: Request, settings: Settings) -> Compiled:
    started_ns = read_file_time_ns(settings.cwd)
    asked = _list_request_facts(request, settings)
    cache = _cache(request, settings)
    found = _load_compiled(cache, asked, settings) if cache else None
    if found:
        return found
    from fabric.app.project.compile_files import compile_files

    made = compile_files(request, settings)
    if cache and made.reads.may_be_kept:
        _keep(cache, asked, made, settings, started_ns)
    return _add_cache_problem(made, settings)


def _cache(request: Request, settings: Settings) -> SealedPath | None:
    """Return the cache for graphs: the first one above the config's directory."""
    if not settings.takes_shortcuts:
        return None
    above = list_parent_caches(find_base_folder(request, settings), settings)
    return next(filter(None, (open_usable_cache(one, settings) for one in above)), None)


def _load_compiled(cache: SealedPath, asked: Sequence[str], settings: Settings) -> Compiled | None:
    kept = stored_graph.load(cache, asked, settings.env, INPUTS_BY_KIND)
    if kept is None:
        return None
    placements, dependencies = map(unpack_placements, kept.placements)
    return Compiled(
        info=kept.info,
        graph=kept.graph,
        services=kept.services,
        placements=placements,
        dependencies=dependencies,
        reads=CompiledReads(sources=kept.sources, bound_names=kept.names),
    )


def _keep(
    cache: SealedPath, asked: Sequence[str], made: Compiled, settings: Settings, started_ns: int
) -> None:
    kept = stored_graph.StoredGraph(
        info=made.info,
        graph=made.graph,
        services=made.services,
        sources=made.reads.sources,
        names=made.reads.bound_names,
        placements=(pack_placements(made.placements), pack_placements(made.dependencies)),
    )
    # No session is open yet, whose marker would tell what a kill left here.
    with mark_writing(cache.path, ()):
        stored_graph.save(cache, asked, settings.env, kept, started_ns)
    if not settings.bindable.is_own:
        with contextlib.suppress(OSError):  # of others that were at it meanwhile
            stored_graph.keep_newest(cache.path, _MOST_OF_CALLERS)


def _add_cache_problem(work: Compiled, settings: Settings) -> Compiled:
    problem = cache_to_read(Path(work.info.workspace), settings).problem
    if problem is None:
        return work
    return replace(work, info=replace(work.info, warnings=(*work.info.warnings, problem)))


def _list_request_facts(request: Request, settings: Settings) -> tuple[str, ...]:
    """List everything in a request that the graph depends on."""
    where = request.where
    text = "" if where.reading.text is None else hash_bytes(where.reading.text)
    # Configs with references are not stored, so last known values have no effect.
    reading = replace(where.reading, text=None, last_known=False)
    words = map(str, astuple(replace(where, reading=reading)))
    given = (text, *map(str, astuple(settings.bindable))) if text else ()
    verb = f"{request.verb} strict" if request.execution.strict else request.verb
    return (verb, *words, *given, *sorted(request.functions), "", str(settings.cwd))


def compile_with_pins(request: Request, settings: Settings) -> Compiled:
    """Compile after pinning, because only pinned versions give stable cache keys."""
    work = compile_or_load(request, settings)
    asked = [one for one in work.graph.inputs_of("vendor") if isinstance(one, VendorInputs)]
    if not asked:
        return work
    from fabric.runtimes.packages.vendor import lock_requirements

    warnings = lock_requirements(Path(work.info.workspace), asked, settings.env)
    if not warnings:
        return work
    again = compile_or_load(request, settings)
    return replace(again, info=replace(again.info, warnings=(*again.info.warnings, *warnings)))
