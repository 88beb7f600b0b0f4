"""What moto takes and an account refuses: asked before moto is."""

import json
import re
from collections.abc import Callable
from itertools import combinations
from typing import Any
from urllib.parse import parse_qsl
from xml.etree import ElementTree as ET

from moto.iam.aws_managed_policies import aws_managed_policies_data
from moto.iam.models import AWSManagedPolicy, iam_backends
from msgspec import Struct

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.cloud import Cloud
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.packages import must_be_assumable
from tests.support.servers.strict_cloud1.refusals import RefusalError, not_written
from tests.support.servers.strict_cloud1.scaling_checks import (
    check_registered,
    check_target,
    forget,
)
from tests.support.servers.strict_cloud1.schedule_expressions import is_at, is_rate_or_cron


class Asked(Struct, frozen=True):
    """A request to a service of moto's; `members` are read where its protocol is JSON."""

    path: str
    members: Fields
    body: bytes
    headers: Fields


def _notifications(cloud: Cloud, region: Region, asked: Asked) -> None:
    """A function that does not let the bucket call it, or two that want the same event."""
    bucket = asked.path.strip("/").partition("/")[0]
    rows = list(ET.fromstring(asked.body).iterfind("{*}CloudFunctionConfiguration"))  # noqa: S314
    skips = asked.headers.get("X-Amz-Skip-Destination-Validation", "").lower() == "true"
    for row in () if skips else rows:
        arn = row.findtext("{*}CloudFunction", "")
        source = f"arn:aws:s3:::{bucket}"
        if not cloud.is_allowed(region, arn, "s3.amazonaws.com", source):
            raise _wrong("Unable to validate the following destination configurations")
    idents = [row.findtext("{*}Id") for row in rows if row.findtext("{*}Id")]
    if len(set(idents)) < len(idents):
        raise _wrong("Same ID used for multiple configurations. IDs must be unique")
    if any(_overlap(one, other) for one, other in combinations(rows, 2)):
        raise _wrong(
            "Configurations overlap. Configurations on the same bucket cannot share a common event"
            " type."
        )


def _wrong(message: str) -> RefusalError:
    return RefusalError(400, "InvalidArgument", message)


def _overlap(one: ET.Element, other: ET.Element) -> bool:
    if not any(_same_event(a, b) for a in _events(one) for b in _events(other)):
        return False
    mine, theirs = _filter(one), _filter(other)
    starts = (
        mine["prefix"].startswith(theirs["prefix"]),
        theirs["prefix"].startswith(mine["prefix"]),
    )
    ends = mine["suffix"].endswith(theirs["suffix"]), theirs["suffix"].endswith(mine["suffix"])
    return any(starts) and any(ends)


def _events(row: ET.Element) -> list[str]:
    return [one.text or "" for one in row.iterfind("{*}Event")]


def _same_event(one: str, other: str) -> bool:
    return one == other or any(
        wide.endswith(":*") and narrow.startswith(wide[:-1])
        for wide, narrow in ((one, other), (other, one))
    )


def _filter(row: ET.Element) -> dict[str, str]:
    rules = row.iterfind("{*}Filter/{*}S3Key/{*}FilterRule")
    named = {
        one.findtext("{*}Name", "").lower(): one.findtext("{*}Value", "") or "" for one in rules
    }
    return {"prefix": "", "suffix": "", **named}


def _rule(cloud: Cloud, region: Region, asked: Asked) -> None:
    expression = asked.members.get("ScheduleExpression")
    if not expression and not asked.members.get("EventPattern"):
        message = "Parameter(s) EventPattern or ScheduleExpression must be specified."
        raise RefusalError(400, "ValidationException", message)
    if expression and not is_rate_or_cron(expression):
        message = "Parameter ScheduleExpression is not valid."
        raise RefusalError(400, "ValidationException", message)


def _schedule(cloud: Cloud, region: Region, asked: Asked) -> None:
    """A role that the service can take on, a function that is there, a time that can come."""
    expression, target = asked.members["ScheduleExpression"], asked.members["Target"]
    if not is_rate_or_cron(expression) and not is_at(expression):
        message = f"Invalid Schedule Expression {expression}."
        raise RefusalError(400, "ValidationException", message)
    zone = asked.members.get("ScheduleExpressionTimezone", "UTC")
    if not re.fullmatch(r"UTC|[A-Z]\w+(/[\w+-]+)+", zone):
        message = f"The ScheduleExpressionTimezone you provided is invalid: {zone}"
        raise RefusalError(400, "ValidationException", message)
    must_be_assumable(
        region,
        target["RoleArn"],
        "scheduler.amazonaws.com",
        RefusalError(400, "ValidationException", _SCHEDULER_ROLE),
    )


_SCHEDULER_ROLE = (
    "The execution role you provide must allow AWS EventBridge Scheduler to assume the role."
)


def _targets(cloud: Cloud, region: Region, asked: Asked) -> None:
    for one in asked.members["Targets"]:
        unheeded = set(one) - {
            *("Id", "Arn", "Input", "InputTransformer", "RetryPolicy", "DeadLetterConfig"),
        }
        if ":lambda:" in one["Arn"] and unheeded:
            raise not_written(f"{sorted(unheeded)} of a target")
        if ":states:" in one["Arn"]:
            refused = RefusalError(400, "ValidationException", f"RoleArn is required: {one['Arn']}")
            role = one.get("RoleArn", "")
            must_be_assumable(region, role, "events.amazonaws.com", refused)


def _record_sets(cloud: Cloud, region: Region, asked: Asked) -> None:
    """What no zone takes: weights out of range, an alias at the top, or of two minds."""
    del cloud, region
    for row in ET.fromstring(asked.body).iterfind(".//{*}ResourceRecordSet"):  # noqa: S314
        weight, identifier = row.findtext("{*}Weight"), row.findtext("{*}SetIdentifier")
        name = row.findtext("{*}Name", "")
        if weight is not None and not 0 <= int(weight) <= _HEAVIEST:
            raise RefusalError(400, "InvalidInput", f"Invalid weight {weight}")
        if (weight is None) != (identifier is None):
            raise _batch(f"Missing field 'SetIdentifier' or 'Weight' of {name}")
        if len(identifier or "") > _LONGEST_IDENTIFIER:
            raise RefusalError(400, "InvalidInput", "SetIdentifier is too long")
        if row.findtext("{*}Type") == "CNAME" and name.count(".") == _AT_THE_TOP:
            raise _batch(f"RRSet of type CNAME with DNS name {name} is not permitted at apex")


def _batch(message: str) -> RefusalError:
    return RefusalError(400, "InvalidChangeBatch", f"[{message}]")


_HEAVIEST = 255
_LONGEST_IDENTIFIER = 128
_AT_THE_TOP = 2
Check = Callable[[Cloud, Region, Asked], Any]


def _attached_policy(_: Cloud, region: Region, asked: Asked) -> None:
    """Policies of AWS itself are there for everybody. moto reads all of them, or none."""
    arn = dict(parse_qsl(asked.body.decode())).get("PolicyArn", "")
    there = iam_backends[region.account.number]["aws"].managed_policies
    name = arn.rpartition("/")[2]
    data = json.loads(aws_managed_policies_data).get(name) if arn not in there else None
    if data is not None:
        made = AWSManagedPolicy.from_data(name, region.account.number, region.name, data)
        if made.arn == arn:
            there[arn] = made


def _scaling(check: Callable[[Region, Fields], None]) -> Check:
    return lambda _, region, asked: check(region, asked.members)


CHECKS: dict[str, Check] = {
    "application-autoscaling.RegisterScalableTarget": _scaling(check_target),
    "application-autoscaling.PutScalingPolicy": _scaling(check_registered),
    "application-autoscaling.PutScheduledAction": _scaling(check_registered),
    "application-autoscaling.DeregisterScalableTarget": _scaling(forget),
    "iam.AttachRolePolicy": _attached_policy,
    "s3.PutBucketNotificationConfiguration": _notifications,
    "events.PutRule": _rule,
    "events.PutTargets": _targets,
    "scheduler.CreateSchedule": _schedule,
    "scheduler.UpdateSchedule": _schedule,
    "route53.ChangeResourceRecordSets": _record_sets,
}
