"""`remove`: delete all resources of a stage, dependents first."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.cache_place import cache_folder, open_usable_cache
from fabric.app.deploy.access import find_access_problems
from fabric.app.deploy.backends import BackEnds
from fabric.app.deploy.change_records import Changed, RecordsChange, change_records
from fabric.app.deploy.live_records import LiveRecords, find_records
from fabric.app.deploy.location_checks import find_account_problems
from fabric.app.deploy.production_guard import AskFor, confirm_stage, refuse_prompt
from fabric.app.deploy.purpose import Removing
from fabric.app.deploy.remove_functions import (
    has_deployed_functions,
    report_removed_functions,
    select_removed_functions,
    single_function_problem,
)
from fabric.app.deploy.scope import (
    DeployScope,
    ScopeOptions,
    mode_mismatch_problem,
    open_deploy_scope,
)
from fabric.app.project.modes import choose_mode
from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.app.project.recorded import open_recorded
from fabric.app.project.stored_source import drop_config
from fabric.app.project.upstreams import list_all_dependents, map_needs
from fabric.app.request import Request
from fabric.app.router_targets import find_router_references
from fabric.app.run_graph import GraphJob, tell_idle
from fabric.app.run_problems import list_problem_owners, list_run_problems
from fabric.app.settings import Settings
from fabric.config.resolve.provider import unknown_provider_problem
from fabric.engine.run_info import MakeListeners
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.undo import plan_function_removal, plan_removal
from fabric.model.catalog import find_provider_facts, format_provider_title, is_known_provider
from fabric.model.outcomes.deployed import RemoveOutcome, ServiceAt
from fabric.model.problems import FabricError, Problem
from fabric.model.project_info import ProjectInfo
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.model.report import Report
from fabric.model.switches import is_on
from fabric.model.task_id import TaskId, build_task_id
from fabric.state.contract import parse_record_key
from fabric.state.dev_journal import find_diversion_problem
from fabric.state.records.unwritten import find_unwritten_problem
from fabric.system.clock import read_file_time_ns
from fabric.system.file_systems import free_bytes, is_same_disk
from fabric.views.messages import format_size

# What a few records, locks and journals need.
_ROOM = 256 << 10
_NOTHING = "Nothing to remove."


class RemoveOptions(Struct, frozen=True):
    """The lock timeout, and the prompts before real deletion and for protected stages."""

    lock_timeout: float
    agrees: Callable[[str], bool]
    ask: AskFor = refuse_prompt


def remove(
    request: Request, settings: Settings, options: RemoveOptions, make_listeners: MakeListeners
) -> Report:
    started = read_file_time_ns(settings.cwd)
    project = open_recorded(request.where, settings)
    found = find_records(project, request.where.provider, settings).all_readable()
    _refuse_unknown(request.where.provider, project, found)
    names = select_removed_functions(request.functions, project, found)
    if not has_deployed_functions(found, names):
        tell_idle(
            request,
            settings,
            build_project_info(project),
            TaskGraph((), (), (), ()),
            make_listeners,
        )
        report = _report(request, project, found, frozenset())
        return replace(report, text=_NOTHING) if names else report
    scope_options = ScopeOptions(lambda: project.units, lock_timeout=options.lock_timeout)
    with open_deploy_scope(found.placements, settings, scope_options) as scope:
        _refuse(scope, found, settings, names)
        confirm_stage(project.units, project.stage, settings, options.ask)
        _ask(project, found, options, names)
        emptied = _free_disk_space(project, found, settings)
        project = replace(project, notes=(*project.notes, *emptied))
        graph = build_removal_graph(found.records, _map_dependents(project), names)
        work = GraphJob(build_project_info(project), graph)
        change = RecordsChange(
            scope, Removing(names), work, tuple(graph.tasks), started, keeps=not emptied
        )
        changed = change_records(request, change, make_listeners)
    gone = frozenset(ref for ref, final in changed.finals.items() if final is None)
    _drop_sources(project, gone, settings)
    report = _report(request, project, found, gone)
    return _finish_report(report_removed_functions(report, found, changed.finals, names), changed)


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
    labels = {label for unit in project.units for label in unit.config.labels}
    if (
        not provider
        or found.records
        or found.absent
        or provider in labels
        or is_known_provider(provider)
    ):
        return
    raise FabricError(unknown_provider_problem(provider, sorted(labels)))


def _refuse(
    scope: DeployScope, found: LiveRecords, settings: Settings, names: frozenset[str]
) -> None:
    problems: list[Problem] = []
    for ref, record in sorted(found.records.items()):
        placement = scope.placements[ref]
        switched = replace(placement, mode=_find_current_mode(record, settings))
        said = _not_enabled_problem(record, settings) or mode_mismatch_problem(switched, record)
        said = (
            said
            or find_unwritten_problem(Path(placement.home), ref)
            or _no_command_problem(record, settings)
        )
        said = said or find_diversion_problem(Path(placement.home), ref)
        said = said or single_function_problem(record, names)
        problems += [said] if said else []
    problems += find_account_problems(scope)
    problems += find_access_problems(scope, found.records)
    if problems:
        raise FabricError(*problems)


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


def _find_current_mode(record: Record, settings: Settings) -> str:
    return choose_mode(record.provider_id, settings.env)


def _not_enabled_problem(record: Record, settings: Settings) -> Problem | None:
    """Require this cloud's own switch for deletion. The switch for all providers is not
    sufficient."""
    facts = find_provider_facts(record.provider_id)
    if record.mode is Mode.SIMULATED or facts is None or not facts.deletes_by_own_switch:
        return None
    if is_on(facts.real_deploy_variable, settings.env):
        return None
    return Problem(
        "remove/not-enabled",
        f"refusing to delete `{record.ref.service}` ({record.ref.stage}) from "
        f"{format_provider_title(record.provider_id)}: {facts.real_deploy_variable} is not set",
        hint=f"set {facts.real_deploy_variable}=1 to delete it",
    )


def _no_command_problem(record: Record, settings: Settings) -> Problem | None:
    facts = find_provider_facts(record.provider_id)
    if record.mode is not Mode.COMMAND or facts is None:
        return None
    if settings.env.get(facts.destroy_command_variable):
        return None
    return Problem(
        "remove/no-destroy-command",
        f"`{record.ref.service}` ({record.ref.stage}) was deployed by a custom command, but "
        f"{facts.destroy_command_variable} is not set",
        hint=f"set {facts.destroy_command_variable} to the command that removes it",
    )


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

    return build_graph(
        task
        for record in records.values()
        for task in (
            plan_function_removal(record, names)
            if names
            else plan_removal(record, _list_earlier_removals(record, records, dependents))
        )
    )


def _list_earlier_removals(
    record: Record,
    records: Mapping[RecordRef, Record],
    dependents: Mapping[str, frozenset[str]],
) -> list[TaskId]:
    named = dependents.get(record.ref.service, frozenset())
    return [
        build_task_id("remove", one.service, provider=one.provider)
        for one in records
        if one.service in named
    ]


def _map_dependents(project: Project) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for unit in project.units:
        for upstream in unit.depends_on:
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
    warnings = (*project.warnings, *needed, *elsewhere)
    return Report(request.command, outcome, text=text, warnings=warnings)


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
        for one in config.overrides:
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
