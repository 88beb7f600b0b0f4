"""EventBridge rules by pattern or schedule, and EventBridge schedules with a time zone."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secrecy import REDACTED
from fabric.providers.cloud1.core.client import CONFLICT, DENIED, GONE, ignore_codes
from fabric.providers.cloud1.core.permissions import build_rule_permission, let_in
from fabric.providers.cloud1.core.versions import Cloud1Work, retry_on_conflict
from fabric.providers.cloud1.events.wires import RuleWire, ScheduleWire, read_options
from fabric.providers.cloud1.functions.aliases import StoredReleaseState
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.payloads import format_json, read_role_statements
from fabric.providers.core.triggers import shorten_name
from fabric.system.cloud1_account import REFUSED, read_error_code

_TARGET = "fabric"
_DEFAULT = "default"
# The error code of a deletion of a rule with targets.
_HAS_TARGETS = "ValidationException"


def has_bus(work: Cloud1Work, bus: str) -> bool:
    from botocore.exceptions import ClientError

    if bus == _DEFAULT:
        return True
    try:
        work.clients.of("events").describe_event_bus(Name=bus)
    except ClientError as error:
        if read_error_code(error) in GONE:
            return False
        raise
    return True


def has_schedule_group(work: Cloud1Work, group: str) -> bool:
    found = [True] if not group else []
    with ignore_codes(GONE):
        if group:
            found.append(bool(work.clients.of("scheduler").get_schedule_group(Name=group)))
    return bool(found)


def set_rule(work: Cloud1Work, wire: RuleWire, alias: str, role: str = "") -> None:
    """Write all fields of a rule: the API resets omitted ones. A target other than a function
    needs a role."""
    events = work.clients.of("events")
    when = {"ScheduleExpression": wire.schedule} if wire.schedule else {}
    asked = when or {"EventPattern": wire.pattern}
    which = {"Name": wire.name, "EventBusName": wire.bus}
    state = _build_state(wire)
    retry_on_conflict(work, lambda: events.put_rule(**which, **asked, State=state))
    if not role:
        let_in(work, alias, build_rule_permission(alias, wire.bus, wire.name))
    target = {"Id": _TARGET, "Arn": alias, **({"RoleArn": role} if role else {})}
    targets = [{**target, **_build_target_options(read_options(wire))}]
    answer = retry_on_conflict(
        work,
        lambda: events.put_targets(Rule=wire.name, EventBusName=wire.bus, Targets=targets),
    )
    _refuse_failed(wire, answer)


def _build_state(wire: RuleWire | ScheduleWire) -> str:
    return "ENABLED" if read_options(wire).get("enabled", True) else "DISABLED"


def _build_target_options(options: Mapping[str, Any]) -> dict[str, object]:
    """Build the input, the retries and the dead-letter queue of a rule's target."""
    found: dict[str, object] = {}
    if "input" in options:
        found["Input"] = json.dumps(options["input"])
    if "inputPath" in options:
        found["InputPath"] = options["inputPath"]
    if "inputTransformer" in options:
        said = options["inputTransformer"]
        transformer = {"InputTemplate": said["template"]}
        if said.get("paths"):
            transformer["InputPathsMap"] = said["paths"]
        found["InputTransformer"] = transformer
    return {**found, **_build_delivery_options(options)}


def _build_delivery_options(options: Mapping[str, Any]) -> dict[str, object]:
    found: dict[str, object] = {}
    if "retry" in options:
        said = options["retry"]
        found["RetryPolicy"] = {
            "MaximumRetryAttempts": said.get("maximumRetryAttempts", 185),
            "MaximumEventAgeInSeconds": said.get("maximumEventAge", 86_400),
        }
    if "deadLetter" in options:
        found["DeadLetterConfig"] = {"Arn": options["deadLetter"]}
    return found


def _refuse_failed(wire: RuleWire, answer: Mapping[str, Any]) -> None:
    """Raise for a rejected target, which the API reports in a successful response."""
    if not answer["FailedEntryCount"]:
        return
    why = "; ".join(one.get("ErrorMessage", "") for one in answer.get("FailedEntries") or ())
    message = f"cannot add the target of the rule `{wire.name}`: {why}"
    raise FabricError(Problem("provider/refused", message, "deploy again"))


def drop_rule(work: Cloud1Work, wire: RuleWire, arn: str = "") -> None:
    """Delete a rule. The target of an adopted rule has another id, and is found by its ARN."""
    events = work.clients.of("events")
    bus = {"EventBusName": wire.bus}

    def drop(ids: Sequence[str]) -> None:
        retry_on_conflict(work, lambda: events.remove_targets(Rule=wire.name, Ids=list(ids), **bus))
        retry_on_conflict(work, lambda: events.delete_rule(Name=wire.name, **bus))

    with ignore_codes(GONE):
        try:
            drop([_TARGET])
        except events.exceptions.ClientError as error:
            adopted = read_error_code(error) == _HAS_TARGETS and list_target_ids(work, wire, arn)
            if not adopted:
                raise
            drop(adopted)


def list_target_ids(work: Cloud1Work, wire: RuleWire, arn: str) -> list[str]:
    return [str(one["Id"]) for one in list_targets(work, wire) if one["Arn"] == arn]


def list_targets(work: Cloud1Work, wire: RuleWire) -> list[dict[str, Any]]:
    events = work.clients.of("events")
    found: list[dict[str, Any]] = events.list_targets_by_rule(
        Rule=wire.name, EventBusName=wire.bus
    )["Targets"]
    return found


def changes_target(wire: RuleWire, target: Mapping[str, Any]) -> bool:
    """Return whether a release would change more of a target than its ID and function."""
    others = {name: one for name, one in target.items() if name not in ("Id", "Arn", "RoleArn")}
    return others != _build_target_options(read_options(wire))


def list_changed_rule_settings(work: Cloud1Work, wire: RuleWire, alias: str) -> list[str]:
    """List the settings of a rule that a release would change."""
    found = work.clients.of("events").describe_rule(Name=wire.name, EventBusName=wire.bus)
    pattern = json.loads(found.get("EventPattern") or "null")
    targets = [one for one in list_targets(work, wire) if one["Arn"] == alias]
    is_same = {
        "schedule": found.get("ScheduleExpression", "") == wire.schedule,
        "pattern": pattern == json.loads(wire.pattern or "null"),
        "enabled": found["State"] == _build_state(wire),
        "target": bool(targets) and not changes_target(wire, targets[0]),
    }
    return [name for name, same in is_same.items() if not same]


def move_rule(work: Cloud1Work, wire: RuleWire, old: str, new: str) -> bool:
    """Replace a target by another with the same id and the same input, in one call. Return whether
    there was one."""
    targets = [{**one, "Arn": new} for one in list_targets(work, wire) if one["Arn"] == old]
    if targets:
        events = work.clients.of("events")
        answer = retry_on_conflict(
            work,
            lambda: events.put_targets(Rule=wire.name, EventBusName=wire.bus, Targets=targets),
        )
        _refuse_failed(wire, answer)
    return bool(targets)


def list_rules_of(work: Cloud1Work, arn: str, bus: str) -> list[str]:
    """List the rules of a bus with this target. A missing bus has none."""
    from botocore.exceptions import ClientError

    client = work.clients.of("events")
    names: list[str] = []
    more: dict[str, str] = {}
    try:
        while True:
            page = client.list_rule_names_by_target(TargetArn=arn, EventBusName=bus, **more)
            names += page["RuleNames"]
            if not page.get("NextToken"):
                return names
            more = {"NextToken": page["NextToken"]}
    except ClientError as error:
        if read_error_code(error) not in GONE:
            raise
    return names


def set_schedule(work: Cloud1Work, wire: ScheduleWire, alias: str) -> None:
    scheduler, options = work.clients.of("scheduler"), read_options(wire)
    asked = {
        "Name": wire.name,
        "ScheduleExpression": wire.schedule,
        "ScheduleExpressionTimezone": wire.zone or "UTC",
        "FlexibleTimeWindow": _build_window(options),
        **_identify_group(wire),
        **{name: options[key] for key, name in _LIMITS.items() if key in options},
        "State": _build_state(wire),
        "Target": {
            "Arn": alias,
            "RoleArn": wire.role,
            **({"Input": json.dumps(options["input"])} if "input" in options else {}),
            **_build_delivery_options(options),
        },
    }

    def put() -> Mapping[str, Any]:
        made: Mapping[str, Any] = {}
        with ignore_codes(CONFLICT):
            made = scheduler.create_schedule(**asked)
        return made or scheduler.update_schedule(**asked)

    retry_on_conflict(work, put)


def list_changed_schedule_settings(work: Cloud1Work, wire: ScheduleWire, alias: str) -> list[str]:
    """List the settings of a schedule that a release would change."""
    scheduler = work.clients.of("scheduler")
    found = scheduler.get_schedule(Name=wire.name, **_identify_group(wire))
    target, options = found["Target"], read_options(wire)
    shown_input = json.loads(target["Input"]) if "Input" in target else None
    is_same = {
        "schedule": found["ScheduleExpression"] == wire.schedule,
        "timezone": found["ScheduleExpressionTimezone"] == (wire.zone or "UTC"),
        "enabled": found["State"] == _build_state(wire),
        "target": target["Arn"] == alias,
        "input": shown_input == options.get("input") or REDACTED in wire.options,
    }
    return [name for name, same in is_same.items() if not same]


_LIMITS = {"start": "StartDate", "end": "EndDate"}


def _build_window(options: Mapping[str, Any]) -> dict[str, object]:
    minutes = options.get("flexibleWindowMinutes")
    return {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": minutes} if minutes else {"Mode": "OFF"}


def _identify_group(wire: ScheduleWire) -> dict[str, str]:
    return {"GroupName": wire.group} if wire.group else {}


def drop_schedule(work: Cloud1Work, wire: ScheduleWire) -> None:
    with ignore_codes(GONE):
        work.clients.of("scheduler").delete_schedule(Name=wire.name, **_identify_group(wire))


def find_schedules(
    work: Cloud1Work, prefix: str, *, is_used: bool
) -> dict[str, list[ScheduleWire]]:
    """Group existing schedules by target alias. Accounts without schedules can lack the permission
    to list them."""
    from botocore.exceptions import ClientError

    found: dict[str, list[ScheduleWire]] = {}
    try:
        for one in _list_schedules(work, prefix):
            group = one.get("GroupName", _DEFAULT)
            wire = ScheduleWire(one["Name"], group="" if group == _DEFAULT else group)
            found.setdefault(one["Target"]["Arn"], []).append(wire)
    except ClientError as error:
        if is_used or read_error_code(error) not in REFUSED:
            raise
    return found


def _list_schedules(work: Cloud1Work, prefix: str) -> Iterator[Mapping[str, Any]]:
    pages = work.clients.of("scheduler").get_paginator("list_schedules")
    for page in pages.paginate(NamePrefix=prefix):
        yield from page["Schedules"]


_KEPT = "statements"
_NAME_LENGTH = 128
_PLURALS = {"actions": "Action", "resources": "Resource"}


class RolePolicy(Struct, frozen=True):
    role: str
    name: str
    text: str

    def format_fingerprint(self, salt: str) -> str:
        return f"{self.role} {hash_fields((salt, self.text))}"


def set_statements(
    work: Cloud1Work, address: DeploymentAddress, kept: StoredReleaseState
) -> dict[str, str]:
    """Write the policy and return the values to store."""
    policy = _build_policy(work, address)
    said = policy.format_fingerprint(kept.salt) if policy.text else ""
    was = kept.texts.get(_KEPT, "")
    if policy.text and kept.sure(_KEPT) != said:
        _put(work, policy)
        work.scope.watch.hear(f"role {policy.role}: policy `{policy.name}` now matches the config")
    if was and (not policy.text or _read_role(was) != policy.role):
        _delete(work, _read_role(was), policy.name)
    return {_KEPT: said} if said else {}


def drop_statements(work: Cloud1Work, address: DeploymentAddress, kept: StoredReleaseState) -> None:
    """Delete the policy, also one of an interrupted release that did not store it. Without
    permission to read it, there is none."""
    policy, known = _build_policy(work, address), _read_role(kept.texts.get(_KEPT, ""))
    if known:
        _delete(work, known, policy.name)
    if not kept.is_sure and policy.role not in ("", known):
        with ignore_codes(REFUSED):
            _delete(work, policy.role, policy.name)


def _read_role(kept: str) -> str:
    return kept.partition(" ")[0]


def _build_policy(work: Cloud1Work, address: DeploymentAddress) -> RolePolicy:
    role = work.own.role_arn.rpartition("/")[2]
    name = shorten_name(f"fabric-{address.service}-{address.stage}", _NAME_LENGTH)
    statements = [_build_statement(one) for one in read_role_statements(address.extension)]
    document = {"Version": "2012-10-17", "Statement": statements}
    return RolePolicy(role, name, format_json(document) if statements else "")


def _build_statement(said: Any) -> dict[str, object]:
    """Build a statement. Keys that the schema leaves open are AWS keys, capitalized."""
    return {_PLURALS.get(name, name[:1].upper() + name[1:]): one for name, one in said.items()}


def _put(work: Cloud1Work, policy: RolePolicy) -> None:
    from botocore.exceptions import ClientError

    asked = {"RoleName": policy.role, "PolicyName": policy.name, "PolicyDocument": policy.text}
    try:
        retry_on_conflict(work, lambda: work.clients.of("iam").put_role_policy(**asked))
    except ClientError as error:
        if read_error_code(error) not in DENIED:
            raise
        raise FabricError(_permission_problem(policy)) from error


def _permission_problem(policy: RolePolicy) -> Problem:
    message = (
        f"permission denied: cannot put the policy `{policy.name}` on the role `{policy.role}`"
    )
    hint = (
        "allow `iam:PutRolePolicy` and `iam:DeleteRolePolicy` on the role, or add this policy "
        f"yourself and remove `iam.role.statements` from the config: {policy.text}"
    )
    return Problem("credentials/refused", message, hint)


def _delete(work: Cloud1Work, role: str, name: str) -> None:
    asked = {"RoleName": role, "PolicyName": name}
    with ignore_codes(GONE):
        retry_on_conflict(work, lambda: work.clients.of("iam").delete_role_policy(**asked))
