"""`sweep`: remove previews that have ended, as one graph with the locks and checks of `remove`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.checks.table import Candidate, Use, require_all
from fabric.app.command import start_command
from fabric.app.deploy.change_records import Changed, RecordsChange, change_records
from fabric.app.deploy.purpose import Removing
from fabric.app.deploy.remove import build_removal_graph, map_dependents
from fabric.app.deploy.stages import StageSurvey, find_all_services, survey_stages
from fabric.app.project.opened import Project
from fabric.app.project.recorded import open_recorded
from fabric.app.records.live_records import LiveRecords, find_records
from fabric.app.records.scope import DeployScope, ScopeOptions, open_deploy_scope
from fabric.app.request import Request
from fabric.app.running.run_graph import GraphJob
from fabric.app.running.run_problems import list_problem_owners, list_run_problems
from fabric.app.session import SessionOptions, open_session
from fabric.app.settings import Settings
from fabric.engine.bus import MakeListeners
from fabric.model.outcomes.recorded import KeptRow, SweepOutcome, SweptRow
from fabric.model.problems import FabricError, Problem
from fabric.model.project_info import ProjectInfo
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.model.report import Report
from fabric.system.clock import stamp, stamp_in
from fabric.system.git.git import list_remote_branches

# Of a record in the backend of another target, or of an earlier config.
_ELSEWHERE = "its state is in another backend: remove it with `fabric remove --provider`"
# Why a preview is kept.
Kept: TypeAlias = dict[RecordRef, str]


class SweepOptions(Struct, frozen=True, kw_only=True):
    """The conditions. A preview is removed if one of them selects it."""

    expired: bool = False
    branches_gone: bool = False
    # In seconds. None if it is not given.
    older_than: float | None = None
    dry_run: bool = False
    lock_timeout: float = 0.0
    agrees: Callable[[str], bool]


class SweepRules(Struct, frozen=True, kw_only=True):
    """The conditions as values. An empty time selects nothing, as do unknown branches."""

    now: str = ""
    before: str = ""
    branches: frozenset[str] | None = None


class _StageRecords(Struct, frozen=True):
    """The selected records of one stage, with the configs of that stage."""

    project: Project
    found: LiveRecords


def sweep(
    request: Request, settings: Settings, options: SweepOptions, make_listeners: MakeListeners
) -> Report:
    survey = survey_stages(request.where, settings)
    rules = _read_rules(survey, settings, options)
    previews = {ref: one for ref, one in survey.records.items() if one.preview}
    kept: Kept = {ref: why for ref, one in previews.items() if (why := keep(survey, one, rules))}
    stages = _open_stages(survey, request, settings, previews.keys() - kept.keys())
    found = {ref for one in stages for ref in one.found.records}
    kept |= {ref: _ELSEWHERE for ref in previews.keys() - kept.keys() - found}
    stages = [one for one in stages if _is_removable(one, settings, options, kept)]
    records = {ref: record for one in stages for ref, record in one.found.records.items()}
    report = Report(request.command, problems=survey.problems, warnings=survey.project.warnings)
    if options.dry_run or not records:
        return replace(report, outcome=_build_outcome(set(records), kept, options))
    _confirm(records, options)
    changed = _remove_stages(request, settings, stages, options, make_listeners)
    gone = {ref for ref, final in changed.finals.items() if final is None}
    return replace(
        report,
        outcome=_build_outcome(gone, kept, options),
        problems=(*report.problems, *list_run_problems(changed.result)),
        exit_code=changed.result.exit_code,
        owners=list_problem_owners(changed.result),
    )


def _read_rules(survey: StageSurvey, settings: Settings, options: SweepOptions) -> SweepRules:
    """Read what the conditions need. Without conditions, expired previews are removed."""
    others = options.branches_gone or options.older_than is not None
    before = "" if options.older_than is None else stamp_in(settings.clock, -options.older_than)
    branches = None
    if options.branches_gone:
        branches = list_remote_branches(survey.project.workspace, settings.env)
        if not branches:
            message = "the remote `origin` has no branches: nothing was removed"
            raise FabricError(Problem("git/no-branches", message, "check the remote"))
    return SweepRules(
        now=stamp(settings.clock) if options.expired or not others else "",
        before=before,
        branches=branches,
    )


def keep(survey: StageSurvey, record: Record, rules: SweepRules) -> str:
    """Return why a preview is kept; empty if it is removed."""
    ref, branch = record.ref, record.origin.branch
    expires = record.preview.expires_at if record.preview else ""
    if (ref.service, ref.stage) in survey.protected:
        return "the stage is protected"
    is_selected = (
        (expires and rules.now and expires <= rules.now)
        or (rules.before and record.updated_at < rules.before)
        or (rules.branches is not None and branch and branch not in rules.branches)
    )
    if not is_selected:
        return "; ".join(_explain_rules(record, rules))
    return f"locked by {survey.locked[ref]}" if ref in survey.locked else ""


def _explain_rules(record: Record, rules: SweepRules) -> Iterator[str]:
    """Explain why no condition selects a preview."""
    expires = record.preview.expires_at if record.preview else ""
    if rules.now:
        yield f"expires at {expires}" if expires else "never expires"
    if rules.before:
        yield f"deployed at {record.updated_at}"
    if rules.branches is not None:
        branch = record.origin.branch
        yield f"branch `{branch}` exists" if branch else "its branch is unknown"


def _open_stages(
    survey: StageSurvey, request: Request, settings: Settings, chosen: set[RecordRef]
) -> list[_StageRecords]:
    """Open the configs of each stage, which name its backend, region and credentials."""
    where = find_all_services(request.where, settings)
    stages: list[_StageRecords] = []
    for stage in sorted({ref.stage for ref in chosen}):
        names = {ref.service for ref in chosen if ref.stage == stage}
        services = survey.list_entries(names) if where.compose else ()
        project = open_recorded(replace(where, stage=stage, services=services), settings)
        found = find_records(project, "", settings).all_readable()
        own = LiveRecords(
            {ref: one for ref, one in found.records.items() if ref in chosen},
            tuple(one for one in found.placements if one.ref in chosen),
            (),
        )
        stages.append(_StageRecords(project, own))
    return stages


def _is_removable(
    one: _StageRecords, settings: Settings, options: SweepOptions, kept: Kept
) -> bool:
    """Check each stage alone, because a failed check must not keep other stages."""
    opening = ScopeOptions(lambda: one.project.units, lock_timeout=options.lock_timeout)
    try:
        with open_deploy_scope(one.found.placements, settings, opening) as scope:
            refs = frozenset(one.found.records)
            require_all(Use.REMOVE, Candidate(scope=scope, refs=refs))
    except FabricError as error:
        kept.update(dict.fromkeys(one.found.records, error.first.message))
        return False
    return True


def _confirm(records: Mapping[RecordRef, Record], options: SweepOptions) -> None:
    real = sorted(ref for ref, one in records.items() if one.mode is not Mode.SIMULATED)
    names = ", ".join(ref.title for ref in real)
    if real and not options.agrees(f"Delete {names} from the provider?"):
        raise FabricError(Problem("remove/declined", "nothing was removed"))


def _remove_stages(
    request: Request,
    settings: Settings,
    stages: list[_StageRecords],
    options: SweepOptions,
    make_listeners: MakeListeners,
) -> Changed:
    units = [unit for one in stages for unit in one.project.units]
    placements = [placement for one in stages for placement in one.found.placements]
    opening = ScopeOptions(lambda: units, lock_timeout=options.lock_timeout)
    workspace = stages[0].project.workspace
    with ExitStack() as opened:
        scope = opened.enter_context(open_deploy_scope(placements, settings, opening))
        session = opened.enter_context(
            open_session(
                start_command(request, settings), workspace, SessionOptions(kinds=scope.kinds)
            )
        )
        return change_records(session, _build_change(scope, stages), make_listeners)


def _build_change(scope: DeployScope, stages: list[_StageRecords]) -> RecordsChange:
    first = stages[0].project
    records = {ref: record for one in stages for ref, record in one.found.records.items()}
    dependents: dict[str, frozenset[str]] = {}
    for one in stages:
        for service, names in map_dependents(one.project).items():
            dependents[service] = dependents.get(service, frozenset()) | names
    graph = build_removal_graph(records, dependents)
    info = ProjectInfo(str(first.workspace), ", ".join(one.project.stage for one in stages))
    return RecordsChange(scope, Removing(chosen=records), GraphJob(info, graph), tuple(graph.tasks))


def _build_outcome(gone: set[RecordRef], kept: Kept, options: SweepOptions) -> SweepOutcome:
    rows = (SweptRow(ref.service, ref.stage, ref.provider) for ref in sorted(gone))
    stay = (KeptRow(ref.service, ref.stage, ref.provider, why) for ref, why in sorted(kept.items()))
    return SweepOutcome(options.dry_run, tuple(rows), tuple(stay))
