"""Records as tasks query them, and upstream outputs from those records."""

from collections.abc import Iterator, Mapping, Sequence

from fabric.app.records.deploy_work import Units
from fabric.graph.judge import release_output
from fabric.graph.late_outputs import (
    OutputName,
    find_output_task,
    list_service_outputs,
)
from fabric.model.late_values import STACK_OUTPUT, fill_placeholders
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Deployment, Record, RecordRef
from fabric.model.task import Pairs
from fabric.model.task_id import is_kind, name_of
from fabric.state.records.transaction import RecordTransaction
from fabric.system.clock import Clock, stamp
from fabric.tasks.deploy_tools import OpenRecord
from fabric.tasks.stack import build_stack_output


class KnownRecords:
    def __init__(self, transaction: RecordTransaction, clock: Clock) -> None:
        self._transaction = transaction
        self._clock = clock

    def record(self, ref: RecordRef) -> Record | None:
        return self._transaction.record(ref)

    def lock_record(self, ref: RecordRef) -> OpenRecord:
        return self._transaction.lock_record(ref)

    def as_found(self, stage: str, releases: Sequence[str]) -> Pairs:
        found = ((name, self.record(parse_release_ref(name, stage))) for name in releases)
        hashes = ((name, _hash_outputs(name, one)) for name, one in found if one)
        return tuple(pair for pair in hashes if pair[1])

    def now(self) -> str:
        return stamp(self._clock)


def _hash_outputs(task: str, record: Record) -> str:
    """Hash the outputs of a release or of a stack; empty if the stack is not deployed."""
    if not is_kind(task, "stack"):
        return release_output(record).digest
    row = record.stack(name_of(task).function)
    return build_stack_output(row).digest if row and row.key else ""


class UpstreamAddresses:
    """The outputs of a service's upstreams."""

    def __init__(self, transaction: RecordTransaction, units: Units) -> None:
        self._transaction = transaction
        self._units = units

    def all(self, ref: RecordRef) -> dict[str, str]:
        """Return all upstream addresses for a deploy. Each upstream must be deployed."""
        outputs = {
            name: self._find_endpoint(upstream, ref)
            for name, upstream in self._upstreams(ref).items()
        }
        return {**outputs, **self.list_own_outputs(ref)}

    def find_known(self, ref: RecordRef) -> dict[str, str]:
        """Return the addresses of deployed upstreams only."""
        records = {
            name: self._transaction.record(one) for name, one in self._upstreams(ref).items()
        }
        found = {name: record.endpoint for name, record in records.items() if record}
        return {**found, **self.list_own_outputs(ref)}

    def find_record(self, ref: RecordRef) -> Record | None:
        return self._transaction.record(ref)

    def list_own_outputs(self, ref: RecordRef) -> dict[str, str]:
        """Return the outputs of the service's own stack, and those of other services that it
        uses, as the state has them."""
        record = self._transaction.record(ref)
        stack = record.stack("before") if record else None
        outputs = stack.outputs if stack else ()
        return {
            **{f"{STACK_OUTPUT}{one.name}": one.value for one in outputs},
            **dict(self._list_used_outputs(ref)),
        }

    def _list_used_outputs(self, ref: RecordRef) -> Iterator[tuple[str, str]]:
        unit = self._units.get(ref)
        for name in list_service_outputs(unit.config) if unit else ():
            task = find_output_task(unit, name) if unit else None
            record = self._transaction.record(parse_release_ref(task, ref.stage)) if task else None
            outputs = record.named_outputs if record else {}
            one = OutputName(name)
            value = outputs.get(one.output, one.default)
            if value is not None:
                yield name, value

    def _upstreams(self, ref: RecordRef) -> dict[str, RecordRef]:
        unit = self._units.get(ref)
        outputs = unit.needs.outputs if unit else ()
        return {name: parse_release_ref(release, ref.stage) for name, release in outputs}

    def _find_endpoint(self, upstream: RecordRef, taker: RecordRef) -> str:
        record = self._transaction.record(upstream)
        if record is None:
            raise FabricError(not_deployed_problem(taker.service, upstream))
        return record.endpoint


class RollbackTargets:
    """The deployments to restore, known once a rollback is decided."""

    def __init__(self) -> None:
        self._targets: Mapping[RecordRef, Deployment] = {}

    def go_back_to(self, targets: Mapping[RecordRef, Deployment]) -> None:
        self._targets = targets

    def target(self, ref: RecordRef) -> Deployment:
        return self._targets[ref]


def parse_release_ref(name: str, stage: str) -> RecordRef:
    release = name_of(name)
    provider, _, other = release.provider.partition("@")
    return RecordRef(release.service, other or stage, provider)


def not_deployed_problem(service: str, upstream: RecordRef) -> Problem:
    return Problem(
        "deploy/upstream-not-deployed",
        f"`{service}` depends on `{upstream.service}`, "
        f"which is not deployed in stage `{upstream.stage}`",
        hint=f"deploy `{upstream.service}` first, or all of them with `fabric compose deploy`",
    )


def with_values(env: Pairs, outputs: Mapping[str, str]) -> Pairs:
    return tuple((name, fill_placeholders(value, outputs)) for name, value in env)
