"""`state reconcile`: config, record, receipts and provider laid side by side, for one stage."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import UNSET, Struct
from msgspec.structs import replace

from fabric.app.project.files import list_service_names
from fabric.app.project.modes import require_enabled
from fabric.app.project.place_services import apply_recorded_placement
from fabric.app.records.scope import ScopeOptions, open_deploy_scope
from fabric.app.settings import Settings
from fabric.app.state.scope import StateRequest, StateScope, open_scope
from fabric.model.outcomes.recorded import ReconciledRecord, ReconcileOutcome, describe_record
from fabric.model.problems import ExitCode, FabricError, Problem, exit_code_of
from fabric.model.records.receipt import is_receipt_for, list_receipt_entries
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.model.report import Report
from fabric.providers.core.contract import (
    Deployer,
    DeploymentAddress,
    LiveFunction,
    ServiceInspector,
    SourceInspector,
)
from fabric.state.records.archives import list_lost_archives
from fabric.state.records.listing import RecordListing, list_record_refs, list_records_in
from fabric.state.records.receipts import (
    build_receipt_path,
    deploy_record_path,
    read_document,
    write_receipts,
)
from fabric.state.records.transaction import lock_records, read_unlocked
from fabric.state.records.unsure import build_unwritten_path
from fabric.state.upkeep.reconcile import (
    Evidence,
    EvidenceFiles,
    find_divergences,
    has_receipt_drift,
    summarize_divergences,
)
from fabric.system.schemas import find_misfits, format_misfits

_FOREIGN = "deploy/foreign"


class _Looked(Struct, frozen=True):
    """The inspected records, and those that could not be inspected."""

    evidence: tuple[Evidence, ...]
    problems: tuple[Problem, ...]


class _AtProvider(Struct, frozen=True):
    """The state at the provider: code hashes by function (None if missing), other missing
    resources, foreign resources, and changed event sources."""

    live: Mapping[str, str | None] = {}
    lost: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def reconcile(asked: StateRequest, settings: Settings, *, fix: bool) -> Report:
    """Compare state with reality. Only with `fix`, receipts are rewritten from the records."""
    with open_scope(asked, settings) as scope:
        looked = _look(scope, settings)
        fixed = [one.ref for one in looked.evidence if fix and has_receipt_drift(one)]
        if fixed:
            _repair_records(scope, [one for one in looked.evidence if one.ref in fixed])
            looked = _look(scope, settings)
        warnings = scope.project.warnings
    entries = tuple(_build_reconciled_record(one) for one in looked.evidence)
    outcome = ReconcileOutcome(entries, tuple(map(describe_record, fixed)) if fix else UNSET)
    code = exit_code_of(looked.problems[0]) if looked.problems else ExitCode.OK
    return Report(
        asked.command, outcome, problems=looked.problems, warnings=warnings, exit_code=code
    )


def _build_reconciled_record(evidence: Evidence) -> ReconciledRecord:
    said, ref = summarize_divergences(find_divergences(evidence)), evidence.ref
    return ReconciledRecord(ref.service, ref.stage, ref.provider, said.status, said.detail)


def _look(scope: StateScope, settings: Settings) -> _Looked:
    stage = scope.one.stage
    everything = list_records_in(
        scope.record_store, list_record_refs(scope.record_store, _name_searched_place(scope))
    )
    refs = {ref for ref in everything.refs if ref.stage == stage and _is_ours(ref, scope)}
    refs |= {ref for ref in _list_receipt_refs(scope) if ref.service == scope.service}
    chosen = sorted(ref for ref in refs if scope.provider in ("", ref.provider))
    unreadable = set(everything.refs) - set(everything.records)
    problems: list[Problem] = []
    evidence = []
    for ref in chosen:
        record = everything.records.get(ref)
        if record is None and ref in unreadable:
            continue  # a problem of its own, or a stub that says nothing yet
        try:
            found = _inspect_provider(scope, record, settings)
        except FabricError as error:
            problems += error.problems  # nobody has looked: there is nothing to say of it
            continue
        evidence.append(_collect_evidence(scope, ref, everything, found))
    return _Looked(tuple(evidence), (*everything.problems, *problems))


def _name_searched_place(scope: StateScope) -> str:
    """Return the searched place. Only an own directory shows services without a config."""
    return "" if scope.record_store.is_own_folder else scope.service


def _is_ours(ref: RecordRef, scope: StateScope) -> bool:
    """Return whether the record is this config's. Configs can share a directory."""
    return ref.service == scope.service or ref.service not in list_service_names(
        Path(scope.placement.folder)
    )


def _list_receipt_refs(scope: StateScope) -> Iterator[RecordRef]:
    """List the records that this machine's files mention."""
    stage, home = scope.one.stage, scope.record_store.home
    for row in list_receipt_entries(read_document(build_receipt_path(home, stage))):
        yield RecordRef(str(row.get("service")), stage, str(row.get("provider")))
    for path in home.glob("deploy/*/deployment.json"):
        ref = RecordRef(scope.service, stage, path.parent.name)
        if is_receipt_for(read_document(path), ref):
            yield ref


def _collect_evidence(
    scope: StateScope, ref: RecordRef, everything: RecordListing, found: _AtProvider
) -> Evidence:
    home, record = scope.record_store.home, everything.records.get(ref)
    receipt = read_document(build_receipt_path(home, ref.stage))
    deploy_record = read_document(deploy_record_path(home, ref.provider))
    rivals = [one for one in everything.records.values() if one.ref.provider == ref.provider]
    return Evidence(
        ref=ref,
        record=record,
        lost_archives=list_lost_archives(scope.record_store, record) if record else (),
        functions=_list_config_functions(scope, ref),
        live=found.live,
        is_errored=build_unwritten_path(home, ref).exists(),
        lost=found.lost,
        foreign=found.foreign,
        changed=found.changed,
        files=EvidenceFiles(
            receipt=receipt,
            deploy_record=deploy_record,
            is_last_deploy=record is not None
            and record.updated_at == max(one.updated_at for one in rivals),
            receipt_misfit=_find_first_misfit("receipt", receipt),
            deploy_record_misfit=_find_first_misfit("deploy-record", deploy_record),
        ),
    )


def _find_first_misfit(schema: str, document: object) -> str:
    return "" if document is None else format_misfits(find_misfits(schema, document))


def _list_config_functions(scope: StateScope, ref: RecordRef) -> frozenset[str] | None:
    config = scope.config
    labels = {config.provider.label, *(one.label for one in config.targets.overrides)}
    if ref.service != config.service or ref.provider not in labels:
        return None
    return frozenset(one.name for one in config.functions)


def _inspect_provider(scope: StateScope, record: Record | None, settings: Settings) -> _AtProvider:
    """Inspect the real provider; other modes have none.

    Raises if the provider does not respond or the location differs from the record's.
    """
    if record is None or record.mode is not Mode.REAL:
        return _AtProvider()
    placement = apply_recorded_placement(scope.placement, record)
    require_enabled(placement, record.mode, settings.env)
    with open_deploy_scope(
        [placement], settings, ScopeOptions(lambda: scope.project.units)
    ) as deploy_scope:
        deployer = deploy_scope.tools.deployers.deployer(record.ref, record.mode)
        full_address = deploy_scope.tools.deployers.full_address(record.ref)
        return _inspect_functions(deployer, replace(full_address, previous=record), record)


def _inspect_functions(
    deployer: Deployer, address: DeploymentAddress, record: Record
) -> _AtProvider:
    found: dict[str, LiveFunction | None] = {}
    foreign: list[str] = []
    for one in record.functions:
        with _collect_foreign(foreign):
            found[one.name] = deployer.find(address, one.name)
    live = {name: one.artifact_sha256 or one.image if one else None for name, one in found.items()}
    lost: list[str] = []
    if isinstance(deployer, ServiceInspector):
        there = [one for one in found.values() if one is not None]
        with _collect_foreign(foreign):
            lost += deployer.missing(address, there)
    changed = deployer.changed_sources(address) if isinstance(deployer, SourceInspector) else ()
    return _AtProvider(live, tuple(lost), tuple(dict.fromkeys(foreign)), tuple(changed))


@contextlib.contextmanager
def _collect_foreign(foreign: list[str]) -> Iterator[None]:
    """Collect foreign resources under fabric's names. The inspection itself succeeds."""
    try:
        yield
    except FabricError as error:
        if any(one.code != _FOREIGN for one in error.problems):
            raise
        foreign += (one.message for one in error.problems)


def _repair_records(scope: StateScope, drifted: list[Evidence]) -> None:
    record_store = scope.record_store
    with lock_records(
        record_store, {one.ref: 0 for one in drifted}, "state reconcile", scope.lock_policy
    ):
        for one in drifted:
            record = read_unlocked(record_store, one.ref)
            own = one.files.deploy_record is None or is_receipt_for(
                one.files.deploy_record, one.ref
            )
            if record is not None:
                write_receipts(record_store.home, record, last=own and one.files.is_last_deploy)
