"""EventBridge rules by pattern or schedule, and EventBridge schedules with a time zone."""

from collections.abc import Iterator, Mapping
from typing import Any

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.answers import CONFLICT, GONE, ignore_codes
from fabric.providers.cloud1.event_sources import RuleWire, ScheduleWire
from fabric.providers.cloud1.permissions import build_rule_permission, let_in
from fabric.providers.cloud1.versions import Cloud1Work, retry_on_conflict
from fabric.system.cloud1_account import REFUSED, read_error_code

_TARGET = "fabric"
_DEFAULT = "default"


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


def set_rule(work: Cloud1Work, wire: RuleWire, alias: str) -> None:
    """Write all fields of a rule: the API resets omitted ones."""
    events = work.clients.of("events")
    when = {"ScheduleExpression": wire.schedule} if wire.schedule else {}
    asked = when or {"EventPattern": wire.pattern}
    which = {"Name": wire.name, "EventBusName": wire.bus}
    retry_on_conflict(work, lambda: events.put_rule(**which, **asked, State="ENABLED"))
    let_in(work, alias, build_rule_permission(alias, wire.bus, wire.name))
    targets = [{"Id": _TARGET, "Arn": alias}]
    answer = retry_on_conflict(
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
    with ignore_codes(GONE):
        retry_on_conflict(work, lambda: events.remove_targets(Rule=wire.name, Ids=[_TARGET], **bus))
        retry_on_conflict(work, lambda: events.delete_rule(Name=wire.name, **bus))


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
        with ignore_codes(CONFLICT):
            made = scheduler.create_schedule(**asked)
        return made or scheduler.update_schedule(**asked)

    retry_on_conflict(work, put)


def drop_schedule(work: Cloud1Work, wire: ScheduleWire) -> None:
    with ignore_codes(GONE):
        work.clients.of("scheduler").delete_schedule(Name=wire.name)


def find_schedules(work: Cloud1Work, prefix: str) -> dict[str, list[ScheduleWire]]:
    """Group existing schedules by target alias. Accounts without schedules can lack the permission
    to list them."""
    from botocore.exceptions import ClientError

    found: dict[str, list[ScheduleWire]] = {}
    try:
        for one in _list_schedules(work, prefix):
            found.setdefault(one["Target"]["Arn"], []).append(ScheduleWire(one["Name"]))
    except ClientError as error:
        if work.own.scheduler_role_arn or read_error_code(error) not in REFUSED:
            raise
    return found


def _list_schedules(work: Cloud1Work, prefix: str) -> Iterator[Mapping[str, Any]]:
    pages = work.clients.of("scheduler").get_paginator("list_schedules")
    for page in pages.paginate(NamePrefix=prefix):
        yield from page["Schedules"]
