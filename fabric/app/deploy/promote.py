"""`promote`: deploy the archives of one stage to another one, without sources and builds."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.checks.table import Candidate, Use, require
from fabric.app.command import open_command
from fabric.app.deploy.change_records import change_records
from fabric.app.deploy.deploy import DeployOptions, build_deploy_change, build_scope_options
from fabric.app.deploy.preview import OpenWork, open_work, preview
from fabric.app.deploy.report import build_unchanged_report, deploy_report
from fabric.app.preview import Preview, plan_outcome
from fabric.app.project.compile_files import compile_project
from fabric.app.project.compiled import Compiled
from fabric.app.project.project import open_project
from fabric.app.records.backends import BackEnds
from fabric.app.records.live_records import find_records
from fabric.app.request import Request
from fabric.app.running.run_graph import GraphJob, tell_idle
from fabric.app.settings import Settings
from fabric.engine.bus import MakeListeners
from fabric.engine.memory.traces import RemoteResults
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.traces import Trace, compute_full_key, compute_static_hash
from fabric.model.outcomes.deployed import DeployOutcome, PromotedArchive, PromoteOutcome
from fabric.model.problems import FabricError, Problem, raise_if_any
from fabric.model.records.record import FunctionRecord, Lifecycle, Origin, Record, RecordRef
from fabric.model.report import Report
from fabric.model.task import InputEntry, Task
from fabric.model.task_id import (
    TaskId,
    build_task_id,
    find_image_task,
    is_kind,
    name_of,
    package_id,
)
from fabric.model.task_inputs import RECORD_KINDS, StoredArchiveInputs
from fabric.state.records.archives import find_archive
from fabric.state.store import RecordStore
from fabric.tasks.stored_archive import StoredArchiveKind, build_archive_output

_KIND = StoredArchiveInputs.kind
# Tasks that need no sources.
_LEFT = frozenset((*RECORD_KINDS, "dns-sync", "hook", "check"))


class PromotedStages(Struct, frozen=True):
    """The stage that has the archives, and the stage that gets them. With `is_plan` nothing is
    changed."""

    source: str
    target: str
    is_plan: bool = False


class _Source(Struct, frozen=True):
    """The deployments of the first stage, with their stores."""

    records: Mapping[RecordRef, Record]
    stores: Mapping[RecordRef, RecordStore]
    work: Compiled

    def find_record(self, ref: RecordRef) -> Record | None:
        """Find the record of a service at this provider, or its only one."""
        own = [one for one in self.records.values() if one.ref.service == ref.service]
        same = [one for one in own if one.ref.provider == ref.provider]
        found = same or (own if len(own) == 1 else [])
        return found[0] if found else None


def promote(
    request: Request,
    settings: Settings,
    stages: PromotedStages,
    options: DeployOptions,
    make_listeners: MakeListeners,
) -> Report:
    if stages.source == stages.target:
        message = f"both stages are `{stages.source}`"
        raise FabricError(Problem("usage/same-stage", message, "name two stages"))
    with ExitStack() as opened:
        source = _open_source(opened, request, settings, stages.source)
        where = replace(request.where, stage=stages.target)
        request = replace(request, where=where)
        work = compile_project(open_project(where, settings), request)
        archives = _choose_archives(source, work)
        _refuse_different_builds(source.work.graph, work.graph, archives, stages)
        work = replace(work, graph=replace_packages(work.graph, archives, stages.source))
        kind = StoredArchiveKind(lambda inputs: _read_archive(source, inputs))
        command = opened.enter_context(open_command(request, settings))
        scope_options = build_scope_options(work, request, settings, options)
        now = opened.enter_context(open_work(command, work, scope_options, {_KIND: kind}))
        if stages.is_plan:
            return _plan_archives(now, source)
        report = _deploy_archives(now, source, options, make_listeners)
    if not isinstance(report.outcome, DeployOutcome):
        return report
    outcome = PromoteOutcome(
        **{name: getattr(report.outcome, name) for name in DeployOutcome.__struct_fields__},
        source=stages.source,
        target=stages.target,
        archives=tuple(
            PromotedArchive(one.service, one.function, one.sha256)
            for _, one in sorted(archives.items())
        ),
    )
    return replace(report, outcome=outcome)


def _plan_archives(opened: OpenWork, source: _Source) -> Report:
    seen = _preview_archives(opened, source)
    outcome = plan_outcome(seen.work, seen.plan)
    return Report(opened.session.request.command, outcome, warnings=seen.work.info.warnings)


def _preview_archives(opened: OpenWork, source: _Source) -> Preview:
    require(Use.DEPLOY, Candidate(scope=opened.scope, work=opened.work))
    opened.session.runner.believe(_build_known_results(opened, source))
    return preview(opened, files=True)


def _deploy_archives(
    opened: OpenWork, source: _Source, options: DeployOptions, make_listeners: MakeListeners
) -> Report:
    session, request = opened.session, opened.session.request
    seen = _preview_archives(opened, source)
    if not seen.plan.anything_to_do:
        tell_idle(
            request, session.settings, GraphJob(seen.work.info, seen.plan.graph), make_listeners
        )
        return build_unchanged_report(request, seen, opened.scope)
    options = replace(options, origins=dict(_list_origins(source, opened)))
    change = build_deploy_change(opened, seen, options)
    return deploy_report(request, seen, change_records(session, change, make_listeners))


def _open_source(opened: ExitStack, request: Request, settings: Settings, stage: str) -> _Source:
    where = replace(request.where.without_secrets(), stage=stage)
    project = open_project(where, settings)
    found = find_records(project, "", settings).all_readable()
    back_ends = BackEnds(settings)
    opened.callback(back_ends.close)
    return _Source(
        records={
            ref: one
            for ref, one in found.records.items()
            if one.lifecycle is Lifecycle.DEPLOYED and not one.pending
        },
        stores={one.ref: back_ends.record_store(one) for one in found.placements},
        work=compile_project(project, replace(request, where=where)),
    )


def _choose_archives(source: _Source, work: Compiled) -> dict[TaskId, StoredArchiveInputs]:
    """Choose the archive of each function. Raises for functions that the first stage lacks."""
    found: dict[TaskId, StoredArchiveInputs] = {}
    problems: list[Problem] = []
    for placement, name in _list_functions(work):
        record = source.find_record(placement)
        live = record.function(name) if record else None
        task = package_id(placement.service, name)
        content = dict(live.upstream).get(task, "") if live else ""
        if record is None or live is None or not live.key or not content:
            problems.append(_missing_problem(placement, name, source))
        elif live.image or find_image_task(work.graph.ids, placement.service, name):
            problems.append(_image_problem(placement, name))
        else:
            found[task] = _build_inputs(record.ref, live, content)
    problems += _find_unpromotable(work)
    if problems:
        raise FabricError(*dict.fromkeys(problems))
    return found


def _list_functions(work: Compiled) -> Iterator[tuple[RecordRef, str]]:
    for unit in work.units:
        ref = RecordRef(unit.service, unit.config.stage, unit.config.provider.label)
        yield from ((ref, one.name) for one in unit.config.functions)


def _build_inputs(ref: RecordRef, live: FunctionRecord, content: str) -> StoredArchiveInputs:
    return StoredArchiveInputs(
        service=ref.service,
        function=live.name,
        stage=ref.stage,
        provider=ref.provider,
        sha256=live.artifact_sha256,
        content=content,
        handler=live.handler,
    )


def _missing_problem(ref: RecordRef, function: str, source: _Source) -> Problem:
    stage = source.work.info.stage
    message = f"function `{function}` of `{ref.service}` is not deployed in stage `{stage}`"
    hint = f"deploy `{ref.service}` to stage `{stage}` first"
    return Problem("promote/not-deployed", message, hint, service=ref.service)


def _image_problem(ref: RecordRef, function: str) -> Problem:
    message = f"function `{function}` of `{ref.service}` is a container image"
    hint = f"deploy it: fabric deploy --stage {ref.stage}"
    return Problem("promote/not-an-archive", message, hint, service=ref.service)


def _find_unpromotable(work: Compiled) -> Iterator[Problem]:
    """Find layers of the project, which are built from the sources."""
    for one in (name_of(task) for task in work.graph.ids if is_kind(task, "layer-archive")):
        message = f"`{one.service}` has the layer `{one.function}`, which is built from sources"
        hint = f"deploy the service: fabric deploy --stage {work.info.stage}"
        yield Problem("promote/not-an-archive", message, hint, service=one.service)


def _refuse_different_builds(
    source: TaskGraph,
    target: TaskGraph,
    archives: Mapping[TaskId, StoredArchiveInputs],
    stages: PromotedStages,
) -> None:
    """Raise for archives that the second stage would build from other settings."""
    problems = [
        _different_build_problem(one, names, stages)
        for task, one in sorted(archives.items())
        if (names := compare_builds(source, target, task))
    ]
    raise_if_any(problems)


def _different_build_problem(
    one: StoredArchiveInputs, names: Sequence[str], stages: PromotedStages
) -> Problem:
    message = (
        f"function `{one.function}` of `{one.service}` is built differently for stage "
        f"`{stages.target}`: {', '.join(names)}"
    )
    hint = "move the difference to `env`, which does not change the archive"
    return Problem("promote/built-for-stage", message, hint, service=one.service)


def compare_builds(source: TaskGraph, target: TaskGraph, package: TaskId) -> list[str]:
    """Name the declared inputs of an archive that differ between two stages."""
    before, after = (dict(_list_inputs(graph, package)) for graph in (source, target))
    names = (name for name in sorted({*before, *after}) if before.get(name) != after.get(name))
    return list(dict.fromkeys(name.rpartition(" ")[2] for name in names))


def _list_inputs(graph: TaskGraph, package: TaskId) -> Iterator[tuple[str, str]]:
    """List the inputs of a package and of everything that it needs. Wheels count by their ids."""
    numbers = {one: number for number, one in enumerate(graph.ids)}
    left, seen = [numbers[package]] if package in numbers else [], set[int]()
    while left:
        number = left.pop()
        if number not in seen:
            seen.add(number)
            task = graph.tasks[number]
            left += graph.needs[number]
            yield f"{task.id} packages", task.id
            for kind, name, value in task.inputs.entries():
                yield f"{task.id} {kind} {name}", value


def replace_packages(
    graph: TaskGraph, archives: Mapping[TaskId, StoredArchiveInputs], stage: str
) -> TaskGraph:
    """Return the graph without builds: packages are replaced by archives of another stage."""
    from fabric.graph.build_graph import build_graph  # networkx: only if something is compiled

    names = {
        task: build_task_id("package", one.service, one.function, stage)
        for task, one in archives.items()
    }
    left = [task for task in graph.tasks if task.kind in _LEFT]
    names |= {task.id: task.id for task in left}
    tasks = [
        replace(task, needs=tuple(names[one] for one in task.needs if one in names))
        for task in left
    ]
    made = (Task(names[task], one) for task, one in archives.items())
    return build_graph((*tasks, *made))


def _list_origins(source: _Source, opened: OpenWork) -> Iterator[tuple[RecordRef, Origin]]:
    """List the commits of the archives, with the user who promotes them."""
    who = opened.scope.transaction.around.me.who
    for ref in opened.scope.placements:
        record = source.find_record(ref)
        if record:
            yield ref, replace(record.origin, who=who)


def _build_known_results(opened: OpenWork, source: _Source) -> RemoteResults:
    """Build the results of archive tasks, so that the plan knows which functions change. Reads each
    archive, because a missing one must be found before the first change."""
    found: dict[TaskId, tuple[Trace, ...]] = {}
    for task in opened.work.graph.tasks:
        if isinstance(task.inputs, StoredArchiveInputs):
            content = _read_archive(source, task.inputs)
            entries = (*opened.session.runner.memory.code(task), *task.inputs.entries())
            found[task.id] = (_build_trace(task.inputs, entries, len(content)),)
    return RemoteResults(found, frozenset(found))


def _build_trace(inputs: StoredArchiveInputs, entries: tuple[InputEntry, ...], size: int) -> Trace:
    static = compute_static_hash(_KIND, entries)
    return Trace(
        static=static,
        entries=entries,
        files=(),
        absent=(),
        listings=(),
        upstream=(),
        links=(),
        key=compute_full_key(static, (), ()),
        output=build_archive_output(inputs, size),
        ms=0,
    )


def _read_archive(source: _Source, inputs: StoredArchiveInputs) -> bytes:
    ref = RecordRef(inputs.service, inputs.stage, inputs.provider)
    return find_archive(source.stores[ref], ref, inputs.sha256)
