"""`remove`: delete all resources of a stage, dependents first."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.caching.cache_place import cache_folder, open_usable_cache
from fabric.app.checks.table import Candidate, Use, require_all
from fabric.app.command import start_command
from fabric.app.deploy.change_records import Changed, RecordsChange, change_records
from fabric.app.deploy.production_guard import AskFor, confirm_stage, refuse_prompt
from fabric.app.deploy.purpose import Removing
from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.app.project.recorded import open_recorded
from fabric.app.project.stored_source import drop_config
from fabric.app.project.upstreams import list_all_dependents, map_needs
from fabric.app.records.backends import BackEnds
from fabric.app.records.live_records import LiveRecords, find_records
from fabric.app.records.router_targets import find_router_references
from fabric.app.records.scope import (
    DeployScope,
    ScopeOptions,
    open_deploy_scope,
)
from fabric.app.request import Request
from fabric.app.running.run_graph import GraphJob, tell_idle
from fabric.app.running.run_problems import list_problem_owners, list_run_problems
from fabric.app.session import SessionOptions, open_session
from fabric.app.settings import Settings
from fabric.config.resolve.provider import unknown_provider_problem
from fabric.engine.bus import MakeListeners
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.undo import name_stage, plan_function_removal, plan_removal
from fabric.model.catalog import is_known_provider
from fabric.model.outcomes.deployed import FunctionAt, RemoveOutcome, ServiceAt
from fabric.model.problems import FabricError, Problem
from fabric.model.project_info import ProjectInfo
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.model.report import Report
from fabric.model.task_id import TaskId, build_task_id
from fabric.model.text.spelling import suggest_spelling
from fabric.state.contract import parse_record_key
from fabric.system.files.file_systems import free_bytes, is_same_disk
from fabric.views.messages import format_size

# What a few records, locks and journals need.
_ROOM = 256 << 10
_NOTHING = "Nothing to remove."


class RemoveOptions(Struct, frozen=True):
    """The lock timeout, and the prompts before real deletion and for protected stages."""

    lock_timeout: float
    agrees: Callable[[str], bool]
    ask: AskFor = refuse_prompt
    # Whether stacks are deleted whose policy is to keep them.
    with_stack: bool = False


def remove(
    request: Request, settings: Settings, options: RemoveOptions, make_listeners: MakeListeners
) -> Report:
    project = open_recorded(request.where, settings)
    found = find_records(project, request.where.provider, settings).all_readable()
    found = _apply_stack_option(found, options)
    _refuse_unknown(request.where.provider, project, found)
    names = _select_removed_functions(request.functions, project, found)
    if not _has_deployed_functions(found, names):
        idle = GraphJob(build_project_info(project), TaskGraph((), (), (), ()))
        tell_idle(request, settings, idle, make_listeners)
        report = _report(request, project, found, frozenset())
        return replace(report, text=_NOTHING) if names else report
    opening = ScopeOptions(lambda: project.units, lock_timeout=options.lock_timeout)
    with open_deploy_scope(found.placements, settings, opening) as scope:
        require_all(
            Use.REMOVE,
            Candidate(scope=scope, refs=frozenset(found.records), functions=names),
        )
        confirm_stage(project.units, project.stage, settings, options.ask)
        _ask(project, found, options, names)
        emptied = _free_disk_space(project, found, settings)
        project = replace(project, notes=(*project.notes, *emptied))
        change = _build_change(scope, project, found, names)
        command = start_command(request, settings)
        command = replace(command, caches=replace(command.caches, is_stored=not emptied))
        kinds = SessionOptions(kinds=scope.kinds)
        with open_session(command, project.workspace, kinds) as session:
            changed = change_records(session, change, make_listeners)
    gone = frozenset(ref for ref, final in changed.finals.items() if final is None)
    _drop_sources(project, gone, settings)
    report = _report(request, project, found, gone)
    return _finish_report(_report_removed_functions(report, found, changed.finals, names), changed)


def _apply_stack_option(found: LiveRecords, options: RemoveOptions) -> LiveRecords:
    """Return the records, with the option as if all stacks had the policy to be deleted."""
    if not options.with_stack:
        return found
    records = {
        ref: replace(one, stacks=tuple(replace(row, on_remove="delete") for row in one.stacks))
        for ref, one in found.records.items()
    }
    return replace(found, records=records)


def _build_change(
    scope: DeployScope, project: Project, found: LiveRecords, names: frozenset[str]
) -> RecordsChange:
    graph = build_removal_graph(found.records, map_dependents(project), names)
    work = GraphJob(build_project_info(project), graph)
    return RecordsChange(scope, Removing(names), work, tuple(graph.tasks))


def build_project_info(project: Project) -> ProjectInfo:
    return ProjectInfo(str(project.workspace), project.stage, project.warnings)


def _free_disk_space(
    project: Project, found: LiveRecords, settings: Settings
) -> tuple[Problem, ...]:
    """Free disk space from the cache if the disk is full, because a removal must write records."""
    cache = cache_folder(project.workspace, settings)
    homes = [Path(placement.home) for placement in found.placements]
    is_full = any(free_bytes(home) < _ROOM and is_same_disk(home, cache) for home in homes)
    if not (is_full and open_usable_cache(cache, settings)):
        return ()
    from fabric.engine.memory.cleanup import make_room  # costs a start, and is hardly ever wanted

    freed = format_size(make_room(cache))
    message = f"the disk is full: fabric emptied the cache `{cache}` ({freed} freed)"
    return (Problem("cache/emptied", message),)


def _warn_of_dependents(project: Project, refs: Iterable[RecordRef]) -> Iterator[Problem]:
    """Warn of services that still use the address of a deleted one."""
    staying = {one.name for one in project.listed} - {one.name for one in project.entries}
    gone = {ref.service for ref in refs} if staying else frozenset()
    needs = map_needs(project.listed)
    for unit, entry in zip(project.units, project.entries, strict=True):
        takers = list_all_dependents(entry.name, needs) if unit.service in gone else ()
        names = [name for name in takers if name in staying]
        if names:
            listed = ", ".join(f"`{name}`" for name in names)
            message = f"services that depend on `{entry.name}` are not removed with it: {listed}"
            hint = f"run: fabric compose remove --service {entry.name} --with-dependents"
            yield Problem("remove/still-needed", message, hint)


def _refuse_unknown(provider: str, project: Project, found: LiveRecords) -> None:
    """Reject an unknown provider. A known provider without resources is accepted."""
    labels = {label for unit in project.units for label in unit.config.targets.choices}
    if (
        not provider
        or found.records
        or found.absent
        or provider in labels
        or is_known_provider(provider)
    ):
        return
    raise FabricError(unknown_provider_problem(provider, sorted(labels)))


def _ask(
    project: Project, found: LiveRecords, options: RemoveOptions, functions: frozenset[str]
) -> None:
    real = [ref for ref, one in found.records.items() if one.mode is not Mode.SIMULATED]
    names = ", ".join(f"{ref.service} ({ref.stage}, {ref.provider})" for ref in sorted(real))
    needed = (
        ()
        if functions
        else (*_warn_of_dependents(project, real), *find_router_references(project, real))
    )
    told = "".join(f" ({one.message})" for one in needed)
    what = f"{', '.join(sorted(functions))} of {names}" if functions else names
    if real and not options.agrees(f"Delete {what} from the provider?{told}"):
        raise FabricError(Problem("remove/declined", "nothing was removed"))


def build_removal_graph(
    records: Mapping[RecordRef, Record],
    dependents: Mapping[str, frozenset[str]],
    names: frozenset[str] = frozenset(),
) -> TaskGraph:
    """Build the removal graph: dependents are deleted first. With names, only functions are
    deleted."""
    from fabric.graph.build_graph import (
        build_graph,  # networkx: imported when something is compiled
    )

    with_stage = len({ref.stage for ref in records}) > 1
    return build_graph(
        task
        for record in records.values()
        for task in (
            plan_function_removal(record, names)
            if names
            else plan_removal(
                record,
                _list_earlier_removals(record, records, dependents, with_stage=with_stage),
                with_stage=with_stage,
            )
        )
    )


def _list_earlier_removals(
    record: Record,
    records: Mapping[RecordRef, Record],
    dependents: Mapping[str, frozenset[str]],
    *,
    with_stage: bool,
) -> list[TaskId]:
    named = dependents.get(record.ref.service, frozenset())
    refs = [one for one in records if one.service in named and one.stage == record.ref.stage]
    ids = [build_task_id("remove", one.service, provider=one.provider) for one in refs]
    return [name_stage(*row) for row in zip(ids, refs, strict=True)] if with_stage else ids


def map_dependents(project: Project) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for unit in project.units:
        for upstream in unit.needs.services:
            found.setdefault(upstream, set()).add(unit.service)
    return {service: frozenset(names) for service, names in found.items()}


def _report(
    request: Request, project: Project, found: LiveRecords, gone: frozenset[RecordRef]
) -> Report:
    outcome = RemoveOutcome(
        project.stage,
        tuple(ServiceAt(ref.service, ref.provider) for ref in sorted(found.records) if ref in gone),
        tuple(ServiceAt(one.service, one.provider) for one in found.absent),
    )
    text = None if found.records or found.absent else _NOTHING
    elsewhere = () if request.where.provider else _warn_of_other_backends(project)
    needed = (*_warn_of_dependents(project, gone), *find_router_references(project, gone))
    kept = _warn_of_kept_stacks(found, gone)
    warnings = (*project.warnings, *needed, *elsewhere, *kept)
    return Report(request.command, outcome, text=text, warnings=warnings)


def _warn_of_kept_stacks(found: LiveRecords, gone: frozenset[RecordRef]) -> Iterator[Problem]:
    """Name the stacks that still exist after the removal of their services."""
    for ref in sorted(gone):
        record = found.records.get(ref)
        for one in record.stacks if record and record.mode is Mode.REAL else ():
            if one.is_kept:
                message = f"the stack `{one.name}` of `{ref.service}` was kept (`onRemove: keep`)"
                hint = f"run: aws cloudformation delete-stack --stack-name {one.name}"
                yield Problem("remove/kept-stack", message, hint)


def _drop_sources(project: Project, gone: frozenset[RecordRef], settings: Settings) -> None:
    """Delete stored configs of remote sources once no stage of them is deployed."""
    if not project.home:
        return
    back_ends = BackEnds(settings)
    try:
        for unit in project.units:
            placement = build_placement(unit, project.workspace, project.home)
            keys = back_ends.record_store(placement).stores.state.list(f"{unit.service}/")
            if any(ref.service == unit.service for ref in gone) and not any(
                map(parse_record_key, keys)
            ):
                drop_config(Path(project.home), unit.service)
    finally:
        back_ends.close()


def _warn_of_other_backends(project: Project) -> Iterator[Problem]:
    """Warn of labels whose records are in backends that were not checked."""
    for unit in project.units:
        config = unit.config
        for one in config.targets.overrides:
            if one.has_backend and one.label != config.provider.label:
                message = (
                    f"`{one.label}` of `{unit.service}` has a separate backend, which was not "
                    "checked: deployments there are not removed"
                )
                hint = f"run: fabric remove --provider {one.label}"
                yield Problem("remove/other-back-end", message, hint)


def _finish_report(report: Report, changed: Changed) -> Report:
    return replace(
        report,
        problems=list_run_problems(changed.result),
        exit_code=changed.result.exit_code,
        owners=list_problem_owners(changed.result),
    )


def _select_removed_functions(
    asked: frozenset[str], project: Project, found: LiveRecords
) -> frozenset[str]:
    """Select the functions to delete; none if whole services are deleted.

    An unknown name is an error. A function that is not deployed is skipped.
    """
    live = {one.name for record in found.records.values() for one in record.functions}
    configured = {one.name for unit in project.units for one in unit.config.functions}
    unknown = sorted(asked - live - configured)
    if unknown:
        known = sorted(live | configured)
        hint = suggest_spelling(unknown[0], known) or "use one of " + ", ".join(known[:12])
        message = f"unknown function `{unknown[0]}`"
        raise FabricError(Problem("usage/unknown-function", message, hint))
    return frozenset() if asked and asked >= live else asked


def _has_deployed_functions(found: LiveRecords, names: frozenset[str]) -> bool:
    functions = {one.name for record in found.records.values() for one in record.functions}
    return bool(names & functions if names else found.records)


def _report_removed_functions(
    report: Report,
    found: LiveRecords,
    finals: Mapping[RecordRef, Record | None],
    names: frozenset[str],
) -> Report:
    """Report the deleted functions of services that stay."""
    left = {ref: final for ref, final in finals.items() if final is not None and names}
    gone = tuple(
        FunctionAt(ref.service, ref.provider, one.name)
        for ref, final in sorted(left.items())
        for one in found.records[ref].functions
        if final.function(one.name) is None
    )
    if not isinstance(report.outcome, RemoveOutcome) or not gone:
        return report
    return replace(report, outcome=replace(report.outcome, functions=gone), text=None)
