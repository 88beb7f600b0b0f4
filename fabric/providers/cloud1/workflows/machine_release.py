"""Release of state machines: the alias, the triggers, and the permissions of their roles."""

import contextlib
import json
from collections.abc import Collection, Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec import json as typed_json
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.records.changes import name_kept_workflow, name_workflow_output
from fabric.model.records.record import Record, WorkflowRecord
from fabric.model.task import Pairs
from fabric.providers.cloud1.core.client import (
    CONFLICT,
    MAX_PARALLEL,
    convert_client_errors,
    ignore_codes,
)
from fabric.providers.cloud1.core.ownership import refuse_other_account
from fabric.providers.cloud1.core.policies import RolePolicies
from fabric.providers.cloud1.core.versions import ALIAS, Cloud1Work
from fabric.providers.cloud1.events.events import list_function_wires, name_prefix
from fabric.providers.cloud1.events.rules import (
    drop_rule,
    drop_schedule,
    find_schedules,
    set_rule,
    set_schedule,
)
from fabric.providers.cloud1.events.scheduler_role import build_allow_policies, list_dead_letters
from fabric.providers.cloud1.events.wires import (
    RuleWire,
    ScheduleWire,
    Wire,
    decode_wires,
    encode_wires,
    format_wire,
    is_named_by_hash,
    strip_settings,
)
from fabric.providers.cloud1.functions.aliases import StoredReleaseState, read_kept_state
from fabric.providers.cloud1.functions.log_groups import prepare_log_group
from fabric.providers.cloud1.functions.roles import (
    KeptRole,
    OwnRole,
    RoleUse,
    claim_role,
    delete_role,
    grow_role,
    open_role,
    parse_kept_role,
    replace_policies,
    set_boundary,
)
from fabric.providers.cloud1.workflows.machines import (
    MISSING_MACHINE,
    Machine,
    build_machine_policies,
    has_machine_role,
    is_own_machine,
    list_version_arns,
    read_machine_tags,
)
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.retry import run_parallel
from fabric.system.cloud1_account import read_error_code

_PRINCIPALS = ("events.amazonaws.com", "scheduler.amazonaws.com")
# The dot separates the names from those of functions.
_EVENTS_ROLE = RoleUse(".workflow-events-role", "workflow", _PRINCIPALS)


class _Released(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What state stores of a released state machine."""

    version: str = ""
    role: str = ""
    # The role that its triggers use.
    events: str = ""
    # The permissions boundary of that role.
    events_boundary: str = ""
    wires: str = ""
    # The retention of the logs, with their group.
    log_days: str = ""


def release_machines(
    work: Cloud1Work, address: DeploymentAddress, kept: StoredReleaseState
) -> dict[str, str]:
    """Release the recorded state machines, and return the values to store."""
    rows = [one for one in _list_rows(address) if one.version]

    def release(row: WorkflowRecord) -> str:
        with convert_client_errors(f"workflow `{row.name}`", work.scope.quoted):
            released = _Release(Machine(work, address, row.name), row, kept).run()
        return typed_json.encode(released).decode()

    texts = run_parallel(release, rows, MAX_PARALLEL)
    return {name_kept_workflow(row.name): text for row, text in zip(rows, texts, strict=True)}


def build_machine_outputs(address: DeploymentAddress) -> Pairs:
    """Build the outputs: the ARN of each alias."""
    rows = (one for one in _list_rows(address) if one.version)
    return tuple((name_workflow_output(one.name), f"{one.address}:{ALIAS}") for one in rows)


def _list_rows(address: DeploymentAddress) -> Sequence[WorkflowRecord]:
    return address.previous.workflows if address.previous else ()


def _decode(text: str) -> _Released:
    return typed_json.decode(text, type=_Released) if text else _Released()


class _Release:
    """The release of one state machine, compared with the last one."""

    def __init__(self, machine: Machine, row: WorkflowRecord, kept: StoredReleaseState) -> None:
        self._machine = machine
        self._row = row
        self._is_sure = kept.is_sure
        self._salt = kept.salt
        self._arn = machine.alias_arn
        self._was = _decode(kept.texts.get(name_kept_workflow(row.name), ""))
        self._boundary = machine.work.own.iam.boundary

    def run(self) -> _Released:
        row, was = self._row, self._was
        policies = self._build_policies()
        last = parse_kept_role(was.role if self._is_sure else "")
        has_role_changed = policies is not None and not last.allows(policies, self._boundary)
        if policies and has_role_changed and was.role:
            # After a rollback the role allows less than the version needs.
            role = self._machine.role
            grow_role(role, policies, open_role(role))
        has_moved = not (self._is_sure and was.version == row.version)
        if has_moved:
            self._point_alias()
        wires = _list_wires(self._machine, row)
        encoded = encode_wires(wires, self._arn, self._salt) if wires else ""
        events = was.events
        has_boundary = not wires or was.events_boundary == self._boundary
        if not (self._is_sure and was.wires == encoded and has_boundary):
            events = self._set_triggers(wires)
        if policies and has_role_changed:
            replace_policies(self._machine.role, policies)
        if has_moved and was.version:
            self._prune()
        # An own role stays as long as the state machine, because old versions use it.
        kept = KeptRole(policies.digest, boundary=self._boundary) if policies else None
        return _Released(
            version=row.version,
            role=kept.format() if kept else was.role,
            events=events,
            events_boundary=self._boundary if wires else "",
            wires=encoded,
            log_days=self._set_log_days(),
        )

    def _set_log_days(self) -> str:
        machine, was = self._machine, self._was.log_days
        logs = json.loads(dict(self._row.settings).get("logs", "{}"))
        days = logs.get("retentionDays", 0)
        if self._is_sure and was == (f"{days} {machine.log_group}" if days else ""):
            return was
        return prepare_log_group(machine.work, machine.log_group if days else "", days, was)

    def _build_policies(self) -> RolePolicies | None:
        settings = dict(self._row.settings)
        return (
            build_machine_policies(self._machine, settings) if has_machine_role(settings) else None
        )

    def _point_alias(self) -> None:
        """Update or create the alias. An earlier release can have created it without recording
        that."""
        from botocore.exceptions import ClientError

        states = self._machine.states
        routing = [{"stateMachineVersionArn": self._row.version, "weight": 100}]
        ways = (
            partial(states.update_state_machine_alias, stateMachineAliasArn=self._arn),
            partial(states.create_state_machine_alias, name=ALIAS),
        )
        first, second = ways if self._was.version else ways[::-1]
        try:
            first(routingConfiguration=routing)
        except ClientError as error:
            if read_error_code(error) not in MISSING_MACHINE | CONFLICT:
                raise
            second(routingConfiguration=routing)
        number = self._row.version.rpartition(":")[2]
        self._hear(f"alias `{ALIAS}` now points to version {number}")

    def _hear(self, text: str) -> None:
        self._machine.work.scope.watch.hear(f"{self._machine.name}: {text}")

    def _set_triggers(self, wires: Sequence[Wire]) -> str:
        """Create new triggers, delete old ones, and return the role that they use."""
        machine = self._machine
        old = {*decode_wires(self._was.wires)}
        if not self._is_sure:
            old |= {*_find_wires(machine, [*wires, *old])}
        role = OwnRole(machine.work, machine.address, machine.name, _EVENTS_ROLE)
        arn = self._connect(wires, old, role) if wires else ""
        for wire in sorted(old - {*map(strip_settings, wires)}, key=repr):
            _drop(machine, wire)
        if not wires and (old or not self._is_sure):
            delete_role(role)
        return arn

    def _connect(self, wires: Sequence[Wire], old: Collection[Wire], role: OwnRole) -> str:
        machine, there = self._machine, open_role(role)
        allowed = build_trigger_policies(machine, wires)
        grow_role(role, allowed, there)
        for wire in wires:
            if is_named_by_hash(wire) and self._is_sure and strip_settings(wire) in old:
                continue
            if isinstance(wire, RuleWire):
                set_rule(machine.work, wire, self._arn, there.arn)
            elif isinstance(wire, ScheduleWire):
                set_schedule(machine.work, replace(wire, role=there.arn), self._arn)
            self._hear(f"connected {format_wire(wire)}")
        if allowed.join(there.policies) != allowed:
            replace_policies(role, allowed)
        elif not (self._is_sure and self._was.events_boundary == self._boundary):
            set_boundary(role, claim_role(role))
        return there.arn

    def _prune(self) -> None:
        """Delete versions that no recorded deployment uses."""
        machine = self._machine
        record = machine.address.previous
        named = {*_list_used_versions(record)} if record else set()
        for arn in [one for one in list_version_arns(machine) if one not in named]:
            if not self._try_delete(arn):
                continue
            number = arn.rpartition(":")[2]
            self._hear(f"deleted unused version {number}")

    def _try_delete(self, arn: str) -> bool:
        """Delete a version. A failure does not fail the release: a later one tries again."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            with ignore_codes(MISSING_MACHINE):
                self._machine.states.delete_state_machine_version(stateMachineVersionArn=arn)
        except (ClientError, BotoCoreError) as error:
            number = arn.rpartition(":")[2]
            self._hear(f"version {number} could not be deleted: {error}")
            return False
        return True


def _list_used_versions(record: Record) -> Iterator[str]:
    past = (one for deployment in record.history for one in deployment.workflows)
    yield from (one.version for one in (*record.workflows, *past))


def _list_wires(machine: Machine, row: WorkflowRecord) -> tuple[Wire, ...]:
    """List the rules and schedules. The dot separates their names from those of functions."""
    owner = LiveFunction(f"{row.name}.workflow", "", machine.arn, triggers=row.triggers)
    return list_function_wires(machine.address, owner)


def _find_wires(machine: Machine, wires: Sequence[Wire]) -> Iterator[Wire]:
    """Find existing rules and schedules of the state machine, after a failed release."""
    events = machine.work.clients.of("events")
    buses = {"default", *(one.bus for one in wires if isinstance(one, RuleWire))}
    for bus in sorted(buses):
        with ignore_codes(MISSING_MACHINE):
            pages = events.get_paginator("list_rule_names_by_target")
            for page in pages.paginate(TargetArn=machine.alias_arn, EventBusName=bus):
                yield from (RuleWire(bus, name) for name in page["RuleNames"])
    prefix = name_prefix(machine.address)
    is_used = any(isinstance(one, ScheduleWire) for one in wires)
    found = find_schedules(machine.work, prefix, is_used=is_used)
    yield from found.get(machine.alias_arn, ())


def build_trigger_policies(machine: Machine, wires: Sequence[Wire]) -> RolePolicies:
    """Build the policies of the role of triggers, also for the queues of failed events."""
    schedules = [one for one in wires if isinstance(one, ScheduleWire)]
    queues = sorted({*list_dead_letters((schedules,))})
    rows = (
        ("states:StartExecution", [machine.alias_arn, machine.arn]),
        ("sqs:SendMessage", queues),
    )
    return build_allow_policies(rows)


def _drop(machine: Machine, wire: Wire) -> None:
    if isinstance(wire, RuleWire):
        drop_rule(machine.work, wire)
    elif isinstance(wire, ScheduleWire):
        drop_schedule(machine.work, wire)
    machine.work.scope.watch.hear(f"{machine.name}: disconnected {format_wire(wire)}")


def delete_machine(work: Cloud1Work, address: DeploymentAddress, name: str) -> None:
    """Delete the triggers, the alias, the state machine and its roles. Logs are kept."""
    refuse_other_account(work, address)
    machine = Machine(work, address, name)
    kept = read_kept_state(address)
    was = _decode(kept.texts.get(name_kept_workflow(name), ""))
    row = next((one for one in _list_rows(address) if one.name == name), None)
    settings = dict(row.settings) if row else {}
    wires: set[Wire] = {*decode_wires(was.wires)}
    with contextlib.suppress(FabricError):
        wires |= {*map(strip_settings, _list_wires(machine, row))} if row else set()
    if not kept.is_sure:
        wires |= {*_find_wires(machine, [*wires])}
    for wire in sorted(wires, key=repr):
        _drop(machine, wire)
    _delete_own_machine(machine)
    if has_machine_role(settings) or was.role:
        delete_role(machine.role)
    if wires or was.events:
        delete_role(OwnRole(work, address, name, _EVENTS_ROLE))


def _delete_own_machine(machine: Machine) -> None:
    tags = read_machine_tags(machine)
    if tags is None:
        return
    if not is_own_machine(machine, tags):
        machine.work.scope.watch.hear(
            f"{machine.name}: `{machine.arn}` now belongs to another owner and is not deleted"
        )
        return
    with ignore_codes(MISSING_MACHINE):
        machine.states.delete_state_machine_alias(stateMachineAliasArn=machine.alias_arn)
    with ignore_codes(MISSING_MACHINE):
        machine.states.delete_state_machine(stateMachineArn=machine.arn)
    machine.work.scope.watch.hear(f"{machine.name}: deleted with all its versions")
