"""`adopt`: take over functions that another tool deployed, or undo it before the first deploy."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.checks.table import Candidate, Use, require_all
from fabric.app.command import open_command
from fabric.app.deploy.adopted_records import (
    WantedFunction,
    build_adopted_record,
    list_wanted_functions,
)
from fabric.app.deploy.preview import OpenWork, open_work, preview
from fabric.app.deploy.production_guard import AskFor, confirm_stage, refuse_prompt
from fabric.app.project.placement import Placement
from fabric.app.project.units import list_units
from fabric.app.records.scope import DeployScope, ScopeOptions, mode_mismatch_problem
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.app.shortcuts.compiled import compile_with_pins
from fabric.model.catalog import find_provider_facts
from fabric.model.outcomes.deployed import AdoptedPart, AdoptOutcome
from fabric.model.problems import FabricError, Problem, raise_if_any
from fabric.model.records.adoptions import (
    ADOPT,
    can_release_adoption,
    format_adoption_hint,
    mark_unfinished,
    unmark_unfinished,
)
from fabric.model.records.changes import FunctionDone, FunctionGone, FunctionUnsure, ReleaseDone
from fabric.model.records.endings import end_deployed, end_failed
from fabric.model.records.record import (
    RELEASE_UNCERTAIN,
    FunctionRecord,
    Intent,
    Mode,
    Operation,
    Record,
    RecordRef,
)
from fabric.model.report import Report
from fabric.model.task_id import build_task_id, is_kind
from fabric.providers.core.contract import (
    AdoptableFunction,
    Adopter,
    AdoptionPart,
    AdoptionSurvey,
    CallContext,
    DeploymentAddress,
    LiveFunction,
)
from fabric.state.records.archives import list_lost_archives
from fabric.state.records.locked_record import LockedRecord
from fabric.state.records.receipts import drop_receipts, write_receipts
from fabric.state.records.transaction import Claim
from fabric.system.clock import stamp

_NOTHING = "Nothing to adopt: fabric manages all functions of the config."
_HEAR = CallContext()


class AdoptOptions(Struct, frozen=True, kw_only=True):
    """The stack of the other tool, the lock timeout and the prompts."""

    stack: str = ""
    dry_run: bool = False
    lock_timeout: float = 0.0
    agrees: Callable[[str], bool] = lambda _: True
    ask: AskFor = refuse_prompt


class _Adoption(Struct, frozen=True, kw_only=True):
    """One service with its deployer, before anything changes."""

    opened: OpenWork
    placement: Placement
    deployer: Adopter
    options: AdoptOptions

    @property
    def scope(self) -> DeployScope:
        return self.opened.scope

    @property
    def ref(self) -> RecordRef:
        return self.placement.ref

    @property
    def record(self) -> Record | None:
        return self.scope.record(self.ref)

    def address(self, record: Record | None) -> DeploymentAddress:
        address = self.scope.tools.deployers.find_known_address(self.ref)
        return replace(address, previous=record)


def adopt_service(request: Request, settings: Settings, options: AdoptOptions) -> Report:
    """Survey the functions without a lock first. Then take them over one by one."""
    with _open_adoption(request, settings, options) as adoption:
        record = adoption.record
        drafts = [
            one
            for one in adoption.scope.values.drafts(adoption.ref)
            if not _is_managed(record, one.name)
        ]
        warnings = adoption.opened.work.info.warnings
        if not drafts:
            return Report(request.command, _outcome(adoption), text=_NOTHING, warnings=warnings)
        survey = adoption.deployer.survey(adoption.address(record), drafts, options.stack)
        if not survey.functions:
            raise FabricError(_nothing_found_problem(survey))
        report = Report(request.command, _outcome(adoption, survey), warnings=warnings)
        if survey.unprotected:
            problem = _not_retained_problem(survey)
            if options.dry_run:
                return replace(report, warnings=(*warnings, problem))
            return replace(report, problems=(problem,))
        if options.dry_run:
            return report
        _confirm(adoption, f"Take over {_count(survey.functions)}")
        wanted = list_wanted_functions(adoption.opened, preview(adoption.opened), adoption.ref)
        final = _take_over(adoption, survey.functions, wanted)
        outcome = replace(
            _outcome(adoption, survey), changed=True, deployment_id=final.deployment_id
        )
        lost = tuple(_warn_of_lost_archives(adoption, final))
        return replace(report, outcome=outcome, warnings=(*warnings, *lost))


def release_service(request: Request, settings: Settings, options: AdoptOptions) -> Report:
    """Undo an adoption, as long as no deploy followed."""
    with _open_adoption(request, settings, options) as adoption:
        record = adoption.record
        refused = _find_release_problem(adoption.ref, record)
        if refused or record is None:
            raise FabricError(refused or _not_adopted_problem(adoption.ref))
        warnings = adoption.opened.work.info.warnings
        outcome = replace(
            _outcome(adoption),
            release=True,
            functions=tuple(one.name for one in record.functions),
        )
        if options.dry_run:
            return Report(request.command, outcome, warnings=warnings)
        _confirm(adoption, f"Undo the adoption of {_count(record.functions)}")
        parts = _let_go(adoption)
        outcome = replace(outcome, changed=True, parts=_list_parts(parts))
        return Report(request.command, outcome, warnings=warnings)


@contextlib.contextmanager
def _open_adoption(
    request: Request, settings: Settings, options: AdoptOptions
) -> Iterator[_Adoption]:
    with open_command(request, settings) as command:
        work = compile_with_pins(request, settings)
        opening = ScopeOptions(
            partial(list_units, work, request, settings),
            lock_timeout=options.lock_timeout,
            dependencies=work.dependencies,
        )
        with open_work(command, work, opening) as opened:
            placement = _choose_placement(work.placements)
            ref = placement.ref
            require_all(Use.ADOPT, Candidate(scope=opened.scope, refs=frozenset({ref})))
            deployer = opened.scope.tools.deployers.deployer(ref, Mode.REAL)
            if not isinstance(deployer, Adopter):
                raise FabricError(_unsupported_problem(placement))
            yield _Adoption(opened=opened, placement=placement, deployer=deployer, options=options)


def _choose_placement(placements: Sequence[Placement]) -> Placement:
    if len(placements) > 1:
        labels = ", ".join(one.provider for one in placements)
        message = f"the config has several targets: {labels}"
        raise FabricError(Problem("usage/adopt", message, "add --provider with one of them"))
    [placement] = placements
    if placement.mode == Mode.REAL:
        return placement
    facts = find_provider_facts(placement.provider_id)
    variable = facts.real_deploy_variable if facts else "FABRIC_REAL_DEPLOY"
    message = f"`fabric adopt` requires real mode, but {placement.ref.title} is {placement.mode}"
    raise FabricError(Problem("adopt/not-real", message, f"set {variable}=1"))


def _is_managed(record: Record | None, name: str) -> bool:
    """Return whether fabric deployed or adopted the function. An interrupted call has no key."""
    one = record.function(name) if record else None
    return record is not None and bool(one and one.key) and not _is_simulated(record, one)


def _is_simulated(record: Record, one: FunctionRecord | None) -> bool:
    """Return whether a simulated deploy recorded the function. A failed real deploy keeps it."""
    return one is not None and one.resource_id.startswith(f"{record.provider_id}:")


def _confirm(adoption: _Adoption, question: str) -> None:
    scope, options = adoption.scope, adoption.options
    units = scope.work.units.all()
    confirm_stage(units, adoption.ref.stage, scope.settings, options.ask)
    if not options.agrees(f"{question} of {adoption.ref.title}?"):
        raise FabricError(Problem("adopt/declined", "nothing was changed"))


def _take_over(
    adoption: _Adoption,
    functions: Sequence[AdoptableFunction],
    wanted: Mapping[str, WantedFunction],
) -> Record:
    def refuse(record: Record | None) -> Problem | None:
        if any(_is_managed(record, one.live.name) for one in functions):
            message = f"another process adopted or deployed {adoption.ref.title}"
            return Problem("adopt/moved", message, "run the command again")
        return mode_mismatch_problem(adoption.placement, record)

    names = [one.live.name for one in functions]
    with _locked_record(adoption, names, refuse) as locked:
        base = locked.base
        simulated = [one for one in base.functions if _is_simulated(base, one)]
        if simulated:
            gone = (FunctionGone("", one.name) for one in simulated)
            locked.add(*gone, ReleaseDone("", "", (), ""))
        elif not base.history and _is_interrupted_adoption(base):
            _forget_doubt(locked)
        for one in functions:
            try:
                _adopt(adoption, locked, one, wanted[one.live.name])
            except FabricError as error:
                _add_unfinished(locked, _name_task(adoption.ref, one.live.name), one.live.name)
                failed = _end(adoption, locked, end_failed)
                _close(adoption, locked, failed)
                raise FabricError(*error.problems, _unfinished_problem(failed)) from error
        final = _end(adoption, locked, end_deployed)
        _close(adoption, locked, final)
    return final


def _adopt(
    adoption: _Adoption, locked: LockedRecord, found: AdoptableFunction, wanted: WantedFunction
) -> None:
    """Adopt one function. Its record and its values for the release are stored together."""
    locked.require_lock()
    task = _name_task(adoption.ref, found.live.name)
    adopted = adoption.deployer.adopt(adoption.address(locked.record), found, _HEAR)
    scope, record = adoption.scope, locked.record
    if adopted.archive:
        scope.tools.archives.keep(adoption.ref, adopted.archive)
    function = build_adopted_record(
        wanted,
        replace(found, live=adopted.live),
        record,
        scope.kept_values,
        scope.tools.records.now(),
    )
    kept = tuple({**dict(record.kept), **dict(adopted.kept)}.items())
    kept = unmark_unfinished(kept, found.live.name)
    release = ReleaseDone(task, record.endpoint, record.outputs, record.release_key, kept)
    locked.add(FunctionDone(task, function), release)


def _add_unfinished(locked: LockedRecord, task: str, name: str) -> None:
    """Record that some calls of an adoption can have succeeded. A deploy would repeat them."""
    record = locked.record
    kept = mark_unfinished(record.kept, name)
    locked.add(
        FunctionUnsure(task, name), ReleaseDone(task, record.endpoint, record.outputs, "", kept)
    )


def _forget_doubt(locked: LockedRecord) -> None:
    """Forget the doubt of an interrupted adoption, which this one repeats."""
    record = locked.record
    kept = tuple(pair for pair in record.kept if pair != RELEASE_UNCERTAIN)
    locked.add(ReleaseDone("", record.endpoint, record.outputs, record.release_key, kept))


def _is_interrupted_adoption(record: Record) -> bool:
    return all(is_kind(one.task, ADOPT) for one in record.pending)


def _end(
    adoption: _Adoption,
    locked: LockedRecord,
    end: Callable[[Record, Record, str, str], Record],
) -> Record:
    scope = adoption.scope
    now = scope.tools.records.now()
    return end(locked.base, locked.record, scope.deployment_ids[adoption.ref], now)


def _close(adoption: _Adoption, locked: LockedRecord, final: Record | None) -> None:
    """Write the receipt and the record, and release the lock."""
    home = Path(adoption.placement.home)
    locked.require_lock()
    if final is None:
        drop_receipts(home, adoption.ref)
    else:
        write_receipts(home, final)
    problems = adoption.scope.transaction.close(lambda _: final)
    raise_if_any(problems)


@contextlib.contextmanager
def _locked_record(
    adoption: _Adoption,
    names: Sequence[str],
    refuse: Callable[[Record | None], Problem | None],
) -> Iterator[LockedRecord]:
    """Lock the record with an intent for each function."""
    placement, transaction = adoption.placement, adoption.scope.transaction
    at = stamp(adoption.scope.settings.clock)
    intents = tuple(
        Intent(_name_task(adoption.ref, name), Operation.DEPLOY, name, "", at) for name in names
    )
    claim = Claim(
        ref=adoption.ref,
        operation=ADOPT,
        mode=Mode.REAL,
        provider_id=placement.provider_id,
        region=placement.region,
        intents=intents,
        refuse=refuse,
    )
    transaction.expect((claim,))
    try:
        yield transaction.lock_record(adoption.ref)
    except BaseException:
        transaction.abandon()
        raise


def _name_task(ref: RecordRef, function: str) -> str:
    return build_task_id(ADOPT, ref.service, function, ref.provider)


def _warn_of_lost_archives(adoption: _Adoption, final: Record) -> Iterator[Problem]:
    store = adoption.scope.transaction.record_store(adoption.ref)
    lost = list_lost_archives(store, final)
    names = [one.name for one in final.functions if one.artifact_sha256 in lost]
    if names:
        listed = ", ".join(f"`{name}`" for name in names)
        message = f"cannot download the archive of {listed}: rollbacks to it are not possible"
        yield Problem("adopt/no-archive", message)


# The undo.


def _find_release_problem(ref: RecordRef, record: Record | None) -> Problem | None:
    """Return why an adoption cannot be undone: a deploy has changed functions since."""
    if record is None or not record.functions:
        return _not_adopted_problem(ref)
    if can_release_adoption(record):
        return None
    message = f"refusing to release {ref.title}: fabric deployed it after the adoption"
    hint = "run: fabric state rm, to remove only the state, or fabric remove, to delete it"
    return Problem("adopt/deployed", message, hint)


def _let_go(adoption: _Adoption) -> Sequence[AdoptionPart]:
    names = [one.name for one in adoption.record.functions] if adoption.record else []
    with _locked_record(adoption, names, partial(_find_release_problem, adoption.ref)) as locked:
        functions = [_describe_live(one) for one in locked.record.functions]
        locked.require_lock()
        parts = adoption.deployer.let_go(adoption.address(locked.record), functions, _HEAR)
        _close(adoption, locked, None)
    return parts


def _describe_live(one: FunctionRecord) -> LiveFunction:
    return LiveFunction(one.name, one.resource_name, one.resource_id)


# Reports.


def _outcome(adoption: _Adoption, survey: AdoptionSurvey | None = None) -> AdoptOutcome:
    ref, found = adoption.ref, survey or AdoptionSurvey()
    return AdoptOutcome(
        service=ref.service,
        stage=ref.stage,
        provider=ref.provider,
        release=False,
        changed=False,
        stacks=found.stacks,
        functions=tuple(one.live.name for one in found.functions),
        parts=_list_parts(found.parts),
        unprotected=found.unprotected,
        steps=found.steps,
    )


def _list_parts(parts: Sequence[AdoptionPart]) -> tuple[AdoptedPart, ...]:
    return tuple(
        AdoptedPart(one.action, one.kind, one.name, one.function, one.reason) for one in parts
    )


def _count(functions: Sequence[object]) -> str:
    return f"{len(functions)} function{'' if len(functions) == 1 else 's'}"


def _unsupported_problem(placement: Placement) -> Problem:
    message = f"`fabric adopt` does not support provider `{placement.provider_id}`"
    hint = "only services on AWS Lambda (`cloud1-lambda`) can be adopted"
    return Problem("adopt/unsupported", message, hint)


def _nothing_found_problem(survey: AdoptionSurvey) -> Problem:
    names = ", ".join(f"`{one.name}`" for one in survey.parts if one.kind == "function")
    message = f"no function of the config exists at AWS: {names}"
    hint = "check the service, the stage, the region and the account, or run: fabric deploy"
    return Problem("adopt/not-found", message, hint)


def _not_retained_problem(survey: AdoptionSurvey) -> Problem:
    names = ", ".join(f"`{one}`" for one in survey.unprotected)
    message = (
        f"refusing to adopt: the other tool's stack would delete {names} with the stack or with "
        "a later update; nothing was changed"
    )
    hint = "set `DeletionPolicy: Retain` on these resources with the steps above, then try again"
    return Problem("adopt/not-retained", message, hint)


def _unfinished_problem(record: Record) -> Problem:
    message = f"the adoption of {record.ref.title} is not finished: deploys are refused"
    return Problem("adopt/unfinished", message, format_adoption_hint(record))


def _not_adopted_problem(ref: RecordRef) -> Problem:
    return Problem("adopt/not-adopted", f"{ref.title} is not adopted", "run: fabric adopt")
