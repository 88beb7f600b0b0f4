"""The resources of a run: backends, records and task tools, opened and closed together."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.project.placement import Placement
from fabric.app.records.backends import BackEnds
from fabric.app.records.config_values import ConfigValues
from fabric.app.records.deploy_work import DeployWork, ProblemPlaces, Units
from fabric.app.records.known_records import KnownRecords, RollbackTargets, UpstreamAddresses
from fabric.app.records.pinned_values import PinnedValues
from fabric.app.records.placed_deployers import PlacedDeployers
from fabric.app.request import Where
from fabric.app.settings import Settings
from fabric.app.task_kinds import list_deploy_kinds
from fabric.graph.service_unit import ServiceUnit
from fabric.model.catalog import find_provider_facts
from fabric.model.problems import FabricError, Problem
from fabric.model.records.adoptions import find_unfinished_adoption
from fabric.model.records.record import Intent, Mode, Operation, Record, RecordRef
from fabric.model.task import Task
from fabric.model.task_id import parse_task_kind
from fabric.model.task_inputs import DeployInputs, RestoreInputs
from fabric.model.time.time_spans import FORMS, parse_seconds
from fabric.providers.core.contract import Deployer
from fabric.providers.core.provider import Connections
from fabric.state.locks.leases import Terms
from fabric.state.records.archives import build_archive_path, find_archive, keep_archive
from fabric.state.records.missing import find_missing_problem
from fabric.state.records.transaction import Claim, LockPolicy, RecordTransaction
from fabric.system.clock import Clock, stamp
from fabric.system.crypto.value_seal import ValueSeal
from fabric.system.parallel import MAX_WORKERS, run_for_each
from fabric.system.process.process_identity import identify_this_process
from fabric.tasks.contract import Registry
from fabric.tasks.deploy_tools import DeployTools, DnsSync

LEASE_VARIABLE = "FABRIC_LOCK_LEASE"
_LEASE = 60.0
# Longer than any lock should lie dead.
_LONGEST_LEASE = 3600.0


class DeployScope(Struct, frozen=True):
    """The resources that a run can change and use."""

    work: DeployWork
    # Read only.
    dependencies: Mapping[RecordRef, Placement]
    transaction: RecordTransaction
    values: ConfigValues
    targets: RollbackTargets
    kept_values: ValueSeal
    tools: DeployTools

    @property
    def placements(self) -> Mapping[RecordRef, Placement]:
        return self.work.placements

    @property
    def deployment_ids(self) -> Mapping[RecordRef, str]:
        return self.work.deployment_ids

    @property
    def settings(self) -> Settings:
        return self.work.settings

    @property
    def kinds(self) -> Registry:
        """Return the kinds of tasks that change these records."""
        return list_deploy_kinds(self.tools, self.settings.env)

    def record(self, ref: RecordRef) -> Record | None:
        """Return the deployed state, as far as this run knows it."""
        return self.transaction.record(ref)

    def find_real_deployer(self, ref: RecordRef) -> Deployer | None:
        """Open the deployer of the provider; None if that fails, which the check `deployer`
        reports."""
        with contextlib.suppress(FabricError):
            return self.tools.deployers.deployer(ref, Mode.REAL)
        return None


# What brings names in line, from what a run works on and what it knows of records.
DnsSyncFactory: TypeAlias = Callable[[DeployWork, Callable[[RecordRef], Record | None]], DnsSync]
# The same for whatever is asked for, with how long a lock is waited for.
OpenDnsSync: TypeAlias = Callable[[Where, float], DnsSyncFactory]


class ScopeOptions(Struct, frozen=True):
    """Settings of a run: its configs, read on demand, and its modes."""

    units: Callable[[], Iterable[ServiceUnit]] = tuple
    force: bool = False
    lock_timeout: float = 0.0
    without_state: bool = False
    dependencies: Sequence[Placement] = ()
    takes_today: bool = False
    names: DnsSyncFactory | None = None


@contextlib.contextmanager
def open_deploy_scope(
    placements: Iterable[Placement], settings: Settings, options: ScopeOptions
) -> Iterator[DeployScope]:
    by_ref = {placement.ref: placement for placement in placements}
    back_ends = BackEnds(settings, without_state=options.without_state)
    connections = Connections()
    try:
        beside = {placement.ref: placement for placement in options.dependencies}
        everything = {**beside, **by_ref}
        ids = {ref: generate_deployment_id(ref, settings) for ref in by_ref}
        work = DeployWork(by_ref, Units(options.units), ids, settings, beside)
        policy = replace(lock_policy(settings, options.lock_timeout), options=work.options)
        transaction = RecordTransaction(back_ends.of(everything.values()), policy)
        yield _build_scope(work, transaction, beside, options, connections)
    finally:
        connections.close()
        back_ends.close()


def build_read_only_deployers(
    placements: Iterable[Placement],
    units: Callable[[], Iterable[ServiceUnit]],
    settings: Settings,
    connections: Connections,
) -> PlacedDeployers:
    """Build deployers for read-only queries. No record is locked or changed."""
    own = Units(units)
    work = DeployWork({one.ref: one for one in placements}, own, {}, settings)
    nobody = RecordTransaction({}, lock_policy(settings))
    pinned = PinnedValues(work.placements, settings.env)
    return PlacedDeployers(work, UpstreamAddresses(nobody, own), pinned, connections)


def _build_scope(
    work: DeployWork,
    transaction: RecordTransaction,
    dependencies: Mapping[RecordRef, Placement],
    options: ScopeOptions,
    connections: Connections,
) -> DeployScope:
    upstreams = UpstreamAddresses(transaction, work.units)
    pinned = PinnedValues(work.placements, work.settings.env)
    deployers = PlacedDeployers(work, upstreams, pinned, connections)
    values, targets = ConfigValues(work, upstreams, deployers, pinned), RollbackTargets()
    kept_values = ValueSeal(work.settings.state_key, work.settings.chance)
    tools = DeployTools(
        records=KnownRecords(transaction, work.settings.clock),
        deployers=deployers,
        values=values,
        archives=StoredArchives(transaction, work.placements),
        targets=targets,
        kept_values=kept_values,
        places=ProblemPlaces(work),
        force=options.force,
        takes_today=options.takes_today,
        names=options.names(work, transaction.record) if options.names else None,
    )
    return DeployScope(
        work=work,
        dependencies=dependencies,
        transaction=transaction,
        values=values,
        targets=targets,
        kept_values=kept_values,
        tools=tools,
    )


def lock_policy(settings: Settings, lock_timeout: float = 0.0) -> LockPolicy:
    return LockPolicy(
        identify_this_process(), settings.clock, Terms(_read_lock_lease(settings), lock_timeout)
    )


def _read_lock_lease(settings: Settings) -> float:
    text = settings.env.get(LEASE_VARIABLE, "")
    if not text:
        return _LEASE
    seconds = parse_seconds(LEASE_VARIABLE, text, "usage/bad-value")
    if 0 < seconds <= _LONGEST_LEASE:
        return seconds
    message = f"{LEASE_VARIABLE} must be more than 0 and at most 1h, got `{text}`"
    raise FabricError(Problem("usage/bad-value", message, hint=f"use a duration such as {FORMS}"))


def generate_deployment_id(ref: RecordRef, settings: Settings) -> str:
    seconds = int(settings.clock.now().timestamp())
    return f"{ref.provider}-{ref.stage}-{seconds}-{settings.chance(3)}"


def claim_of(placement: Placement, operation: str, tasks: Iterable[Task], clock: Clock) -> Claim:
    """Build the claim of a run on one record."""
    at = stamp(clock)
    intents = tuple(
        Intent(task.id, _choose_operation(task.id), list_task_functions(task), "", at)
        for task in tasks
    )
    return Claim(
        ref=placement.ref,
        operation=operation,
        mode=Mode(placement.mode),
        provider_id=placement.provider_id,
        region=placement.region,
        intents=intents,
        refuse=partial(_find_claim_problem, placement, operation),
    )


def _find_claim_problem(
    placement: Placement, operation: str, record: Record | None
) -> Problem | None:
    """Check the record under its lock. A removal can end an unfinished adoption."""
    unfinished = None if operation == "remove" else find_unfinished_adoption(record)
    return unfinished or mode_mismatch_problem(placement, record)


def list_task_functions(task: Task) -> str:
    """List the functions of a task, as an intent names them. Empty means all."""
    match task.inputs:
        case DeployInputs(functions=specs):
            return ",".join(name for name, _, _ in specs)
        case RestoreInputs(functions=names):
            return ",".join(names)
        case inputs:
            return inputs.function


def _choose_operation(task: str) -> Operation:
    kind = parse_task_kind(task)
    return Operation.DEPLOY if kind == "restore" else Operation(kind)


def find_lost_records(scope: DeployScope, at_once: int = MAX_WORKERS) -> tuple[Problem, ...]:
    """Find missing records that other data still mentions, including those of upstreams.

    Checks `at_once` records in parallel.
    """
    looked_at = sorted({*scope.placements, *scope.dependencies})
    absent = [ref for ref in looked_at if scope.record(ref) is None]
    found: dict[RecordRef, Problem] = {}

    def look(ref: RecordRef) -> None:
        problem = find_missing_problem(scope.transaction.record_store(ref), ref, scope.work.options)
        if problem is not None:
            found[ref] = problem

    problems = run_for_each(absent, look, at_once)
    return (*problems, *(found[ref] for ref in sorted(found)))


def mode_mismatch_problem(placement: Placement, record: Record | None) -> Problem | None:
    """Return a problem if a simulated run would change real resources."""
    if record is None or record.mode is Mode.SIMULATED or placement.mode != Mode.SIMULATED:
        return None
    facts = find_provider_facts(record.provider_id)
    variable = facts.real_deploy_variable if facts else "FABRIC_REAL_DEPLOY"
    return Problem(
        "deploy/mode-mismatch",
        f"refusing to simulate {placement.ref.title}, deployed in {record.mode} mode: "
        f"{variable} is not set; nothing was changed",
        hint=f"set {variable}=1, or use another stage",
    )


class StoredArchives:
    def __init__(
        self, transaction: RecordTransaction, placements: Mapping[RecordRef, Placement]
    ) -> None:
        self._transaction = transaction
        self._placements = placements

    def keep(self, ref: RecordRef, content: bytes) -> Path:
        is_real = self._placements[ref].mode != Mode.SIMULATED
        return keep_archive(self._transaction.record_store(ref), ref, content, durable=is_real)

    def find_archive(self, ref: RecordRef, sha256: str) -> Path:
        record_store = self._transaction.record_store(ref)
        find_archive(record_store, ref, sha256)
        return build_archive_path(record_store.home, sha256)
