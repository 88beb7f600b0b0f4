"""The role that EventBridge Scheduler assumes to invoke the functions of a service.

It is created before the first schedule, and deleted after the last one. With `schedulerRoleArn`
fabric creates none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.providers.cloud1.core.client import convert_client_errors, ignore_codes
from fabric.providers.cloud1.core.permissions import parse_arn_home
from fabric.providers.cloud1.core.policies import LONGEST_POLICY, RolePolicies
from fabric.providers.cloud1.core.versions import ALIAS, Cloud1Work, build_alias_arn
from fabric.providers.cloud1.events.event_sources import (
    KEPT_SCHEDULER_ROLE,
    Wiring,
    read_known_wires,
)
from fabric.providers.cloud1.events.events import name_prefix
from fabric.providers.cloud1.events.wires import ScheduleWire, read_options
from fabric.providers.cloud1.functions.aliases import StoredReleaseState
from fabric.providers.cloud1.functions.roles import (
    OwnRole,
    RoleUse,
    claim_role,
    delete_role,
    put_policy,
    set_boundary,
)
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.payloads import format_json
from fabric.system.cloud1_account import REFUSED

_DIGEST = 16
# Schedules by the alias that they invoke.
Schedules: TypeAlias = Mapping[str, Sequence[ScheduleWire]]


_USE = RoleUse("", "purpose", ("scheduler.amazonaws.com",), "`schedulerRoleArn`")


def _open(work: Cloud1Work, address: DeploymentAddress) -> OwnRole:
    return OwnRole(work, address, "scheduler", _USE)


def choose_scheduler_role(
    work: Cloud1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> str:
    """Return the ARN of the role for schedules: the configured one, or that of fabric."""
    if work.own.scheduler_role_arn or not functions:
        return work.own.scheduler_role_arn
    home = parse_arn_home(functions[0].resource_id)
    name = _open(work, address).name
    return f"arn:{home.partition}:iam::{home.account}:role{work.own.iam.path}{name}"


class SchedulerRole(Struct, frozen=True):
    """The role of one release."""

    wiring: Wiring
    address: DeploymentAddress
    arn: str
    kept: StoredReleaseState

    @property
    def work(self) -> Cloud1Work:
        return self.wiring.work

    @property
    def stored(self) -> str:
        """Return the value to store; empty if fabric has no role here."""
        if self.work.own.scheduler_role_arn or not _list_schedules(self.wiring):
            return ""
        settings = (self.arn, self.work.own.iam.boundary)
        return hash_fields((self._build().document, *settings))[:_DIGEST]

    def prepare(self) -> None:
        """Let the role invoke the functions of old and new schedules."""
        if self.stored and self.stored != self.kept.sure(KEPT_SCHEDULER_ROLE):
            self._write(self._build(_list_known_aliases(self)))

    def settle(self) -> dict[str, str]:
        """Remove what the schedules do not need any longer, and return the value to store."""
        last = self.kept.texts.get(KEPT_SCHEDULER_ROLE, "")
        if not self.stored:
            if last or not self.kept.is_sure:
                drop_scheduler_role(self.work, self.address, is_known=bool(last))
            return {}
        wanted = self._build()
        if wanted != self._build(_list_known_aliases(self)):
            self._write(wanted)
        return {KEPT_SCHEDULER_ROLE: self.stored}

    def _build(self, more: Iterable[str] = ()) -> RolePolicies:
        return build_schedule_policies(self.address, _list_schedules(self.wiring), more)

    def _write(self, policies: RolePolicies) -> None:
        role = _open(self.work, self.address)
        with convert_client_errors(f"the role `{role.name}`", self.work.scope.quoted):
            found = claim_role(role)
            if found["Arn"] != self.arn:  # its path changed
                delete_role(role)
                found = claim_role(role)
            put_policy(role, policies)
            set_boundary(role, found)


def drop_scheduler_role(work: Cloud1Work, address: DeploymentAddress, *, is_known: bool) -> None:
    """Delete the role. Without permission to read it, an interrupted release has created none."""
    with ignore_codes(frozenset() if is_known else REFUSED):
        delete_role(_open(work, address))


def _list_schedules(wiring: Wiring) -> Schedules:
    found: dict[str, list[ScheduleWire]] = {}
    for name, wires in wiring.wanted.functions.items():
        schedules = [wire for wire in wires if isinstance(wire, ScheduleWire)]
        if schedules:
            found[wiring.aliases[name]] = schedules
    return found


def _list_known_aliases(role: SchedulerRole) -> tuple[str, ...]:
    """List the aliases of the functions that the role can invoke since the last release."""
    record = role.address.previous
    if record is None or KEPT_SCHEDULER_ROLE not in role.kept.texts:
        return ()
    return tuple(
        build_alias_arn(one.resource_id)
        for one in record.functions
        if any(isinstance(wire, ScheduleWire) for wire in read_known_wires(one.name, role.kept))
    )


def build_schedule_policies(
    address: DeploymentAddress, schedules: Schedules, more: Iterable[str] = ()
) -> RolePolicies:
    """Build the permissions of the role for schedules by alias, and for more aliases. A long policy
    names all functions of the service."""
    aliases = sorted({*schedules, *more})
    queues = sorted(set(list_dead_letters(schedules.values())))
    found = _format_statements(aliases, queues)
    if len(found.document) <= LONGEST_POLICY:
        return found
    ours = parse_arn_home(aliases[0]).of("lambda", f"function:{name_prefix(address)}")
    named = [one for one in aliases if not one.startswith(ours)]
    return _format_statements([f"{ours}*:{ALIAS}", *named], queues)


def list_dead_letters(schedules: Iterable[Sequence[ScheduleWire]]) -> Iterator[str]:
    for wires in schedules:
        yield from (str(said["deadLetter"]) for said in map(read_options, wires) if said.get(_DEAD))


_DEAD = "deadLetter"


def _format_statements(aliases: Sequence[str], queues: Sequence[str]) -> RolePolicies:
    return build_allow_policies((("lambda:InvokeFunction", aliases), ("sqs:SendMessage", queues)))


def build_allow_policies(rows: Iterable[tuple[str, Sequence[str]]]) -> RolePolicies:
    """Build a statement for each action that has resources."""
    return RolePolicies(
        tuple(
            format_json({"Effect": "Allow", "Action": [action], "Resource": list(resources)})
            for action, resources in rows
            if resources
        ),
        (),
    )
