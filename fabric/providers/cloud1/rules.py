"""EventBridge rules by pattern or schedule, and EventBridge schedules with a time zone."""

from collections.abc import Iterator, Mapping
from typing import Any

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.answers import CONFLICT, GONE, unless
from fabric.providers.cloud1.permissions import for_rule, let_in
from fabric.providers.cloud1.versions import Cloud1Work, patiently
from fabric.providers.cloud1.wires import RuleWire, ScheduleWire
from fabric.system.cloud1_account import REFUSED, code_of

_TARGET = "fabric"
_DEFAULT = "default"


def has_bus(work: Cloud1Work, bus: str) -> bool:
    from botocore.exceptions import ClientError

    if bus == _DEFAULT:
        return True
    try:
        work.clients.of("events").describe_event_bus(Name=bus)
    except ClientError as error:
        if code_of(error) in GONE:
            return False
        raise
    return True


def set_rule(work: Cloud1Work, wire: RuleWire, alias: str) -> None:
    """Write all fields of a rule: the API resets omitted ones."""
    events = work.clients.of("events")
    when = {"ScheduleExpression": wire.schedule} if wire.schedule else {}
    asked = when or {"EventPattern": wire.pattern}
    which = {"Name": wire.name, "EventBusName": wire.bus}
    patiently(work, lambda: events.put_rule(**which, **asked, State="ENABLED"))
    let_in(work, alias, for_rule(alias, wire.bus, wire.name))
    targets = [{"Id": _TARGET, "Arn": alias}]
    answer = patiently(
        work,
        lambda: events.put_targets(Rule=wire.name, EventBusName=wire.bus, Targets=targets),
    )
    _refuse_failed(wire, answer)


def _refuse_failed(wire: RuleWire, answer: Mapping[str, Any]) -> None:
    """Raise for a rejected target, which the API reports in a successful response."""
    if not answer["FailedEntryCount"]:
        return
    why = "; ".join(one.get("ErrorMessage", "") for one in answer.get("FailedEntries") or ())
    message = f"cannot add the function as a target of the rule `{wire.name}`: {why}"
    raise FabricError(Problem("provider/refused", message, "deploy again"))


def drop_rule(work: Cloud1Work, wire: RuleWire) -> None:
    events = work.clients.of("events")
    bus = {"EventBusName": wire.bus}
    with unless(GONE):
        patiently(work, lambda: events.remove_targets(Rule=wire.name, Ids=[_TARGET], **bus))
        patiently(work, lambda: events.delete_rule(Name=wire.name, **bus))


def set_schedule(work: Cloud1Work, wire: ScheduleWire, alias: str) -> None:
    scheduler = work.clients.of("scheduler")
    asked = {
        "Name": wire.name,
        "ScheduleExpression": wire.schedule,
        "ScheduleExpressionTimezone": wire.zone,
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "State": "ENABLED",
        "Target": {"Arn": alias, "RoleArn": wire.role},
    }

    def put() -> Mapping[str, Any]:
        made: Mapping[str, Any] = {}
        with unless(CONFLICT):
            made = scheduler.create_schedule(**asked)
        return made or scheduler.update_schedule(**asked)

    patiently(work, put)


def drop_schedule(work: Cloud1Work, wire: ScheduleWire) -> None:
    with unless(GONE):
        work.clients.of("scheduler").delete_schedule(Name=wire.name)


def schedules_there(work: Cloud1Work, prefix: str) -> dict[str, list[ScheduleWire]]:
    """Group existing schedules by target alias. Accounts without schedules can lack the permission
    to list them."""
    from botocore.exceptions import ClientError

    found: dict[str, list[ScheduleWire]] = {}
    try:
        for one in _listed(work, prefix):
            found.setdefault(one["Target"]["Arn"], []).append(ScheduleWire(one["Name"]))
    except ClientError as error:
        if work.own.scheduler_role_arn or code_of(error) not in REFUSED:
            raise
    return found


def _listed(work: Cloud1Work, prefix: str) -> Iterator[Mapping[str, Any]]:
    pages = work.clients.of("scheduler").get_paginator("list_schedules")
    for page in pages.paginate(NamePrefix=prefix):
        yield from page["Schedules"]
