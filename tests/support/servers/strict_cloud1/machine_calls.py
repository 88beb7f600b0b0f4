"""Step Functions' calls, except for those that start an execution."""

from moto.logs.models import logs_backends

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.machines import (
    Machine,
    definition_faults,
    now,
    refusal,
)
from tests.support.servers.strict_cloud1.operations import heeding
from tests.support.servers.strict_cloud1.packages import must_be_assumable
from tests.support.servers.strict_cloud1.role_access import is_allowed

_PAGE = 2
_NOT_ASSUMED = (
    "Neither the global service principal states.amazonaws.com, nor the regional one is authorized"
    " to assume the provided role."
)


def settings_of(region: Region, asked: Fields) -> Fields:
    """The settings of a create or an update, as far as an account takes them."""
    faults = list(definition_faults(asked["definition"]))
    if faults:
        raise refusal("InvalidDefinition", f"Invalid State Machine Definition: '{faults[0]}'")
    role = asked["roleArn"]
    must_be_assumable(
        region, role, "states.amazonaws.com", refusal("AccessDeniedException", _NOT_ASSUMED)
    )
    _check_logs(region, role, asked.get("loggingConfiguration", {}))
    names = ("definition", "roleArn", "loggingConfiguration", "tracingConfiguration")
    return {name: asked[name] for name in names if name in asked} | {"revision": object()}


def _check_logs(region: Region, role: str, logs: Fields) -> None:
    if logs.get("level", "OFF") == "OFF":
        return
    arns = [
        one.get("cloudWatchLogsLogGroup", {}).get("logGroupArn", "")
        for one in logs.get("destinations", [])
    ]
    groups = logs_backends[region.account.number][region.name].groups
    if len(arns) != 1 or not arns[0].endswith(":*") or arns[0].split(":")[6] not in groups:
        raise refusal("InvalidLoggingConfiguration", "Invalid Logging Configuration.")
    if not is_allowed(region, role, "logs:CreateLogDelivery", "*"):
        message = "The state machine IAM Role is not authorized to access the Log Destination"
        raise refusal("AccessDeniedException", message)


def _tags(asked: Fields) -> dict[str, str]:
    return {one["key"]: one["value"] for one in asked.get("tags", [])}


def machine_arn(region: Region, name: str) -> str:
    return f"arn:aws:states:{region.name}:{region.account.number}:stateMachine:{name}"


def base_of(arn: str) -> str:
    """The ARN of the machine, without that of a version or an alias."""
    return ":".join(arn.split(":")[:7])


def find(region: Region, arn: str) -> Machine | None:
    """One that is to be deleted goes after so many looks."""
    found = region.machines.get(base_of(arn))
    if found is not None and found.leaving is not None:
        found.leaving -= 1
        if found.leaving < 0:
            del region.machines[found.arn]
            return None
    return found


def there(region: Region, arn: str, code: str = "StateMachineDoesNotExist") -> Machine:
    found = find(region, arn)
    if found is None:
        raise refusal(code, f"State Machine Does Not Exist: '{arn}'")
    return found


def _changeable(region: Region, arn: str) -> Machine:
    found = there(region, arn)
    if arn != found.arn:
        raise refusal("ValidationException", f"{arn} is a qualified ARN")
    if found.leaving is not None:
        raise refusal("StateMachineDeleting", f"State Machine is deleting: '{arn}'")
    return found


def _published(machine: Machine, asked: Fields) -> Fields:
    if "versionDescription" in asked and not asked.get("publish"):
        raise refusal("ValidationException", "versionDescription requires publish")
    if not asked.get("publish"):
        return {}
    return {"stateMachineVersionArn": machine.publish(asked.get("versionDescription", ""))}


def _create(region: Region, asked: Fields) -> Fields:
    arn = machine_arn(region, asked["name"])
    was = find(region, arn)
    if was is not None and was.leaving is not None:
        raise refusal("StateMachineDeleting", f"State Machine is deleting: '{arn}'")
    settings = settings_of(region, asked)
    kind = asked.get("type", "STANDARD")
    if was is not None:
        same = ("definition", "loggingConfiguration", "tracingConfiguration")
        if was.kind != kind or any(was.latest.get(one) != settings.get(one) for one in same):
            raise refusal("StateMachineAlreadyExists", f"State Machine Already Exists: '{arn}'")
        return {"stateMachineArn": arn, "creationDate": now(), **_published(was, asked)}
    made = Machine(asked["name"], arn, kind, _tags(asked), settings)
    region.machines[arn] = made
    return {"stateMachineArn": arn, "creationDate": now(), **_published(made, asked)}


def _update(region: Region, asked: Fields) -> Fields:
    found = _changeable(region, asked["stateMachineArn"])
    found.latest = settings_of(region, {**found.latest, **asked})
    return {"updateDate": now(), "revisionId": "1", **_published(found, asked)}


def _describe(region: Region, asked: Fields) -> Fields:
    arn = asked["stateMachineArn"]
    found = there(region, arn)
    version = found.qualified(arn)
    if version is None:
        raise refusal("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")
    return {
        "stateMachineArn": arn,
        "name": found.name,
        "type": found.kind,
        "status": "ACTIVE" if found.leaving is None else "DELETING",
        "creationDate": now(),
        **{key: one for key, one in version.items() if key != "revision"},
    }


def _delete(region: Region, asked: Fields) -> Fields:
    arn = asked["stateMachineArn"]
    if arn != base_of(arn):
        raise refusal("ValidationException", f"{arn} is a qualified ARN")
    found = region.machines.get(arn)
    if found is not None and found.leaving is None:
        found.leaving = region.account.looks
        found.aliases.clear()
        found.versions.clear()
    return {}


def _list_versions(region: Region, asked: Fields) -> Fields:
    found = there(region, asked["stateMachineArn"])
    rows = [
        {"stateMachineVersionArn": arn, "creationDate": now()} for arn in reversed(found.versions)
    ]
    start = int(asked.get("nextToken") or 0)
    more = {"nextToken": str(start + _PAGE)} if len(rows) > start + _PAGE else {}
    return {"stateMachineVersions": rows[start : start + _PAGE], **more}


def _delete_version(region: Region, asked: Fields) -> Fields:
    arn = asked["stateMachineVersionArn"]
    found = find(region, arn)
    if found is None:
        return {}
    used = [one for one in found.aliases.values() if arn in str(one["routingConfiguration"])]
    if used:
        raise refusal("ConflictException", f"Version {arn} is used by an alias")
    found.versions.pop(arn, None)
    return {}


def _routing(region: Region, asked: Fields) -> Machine:
    rows = asked["routingConfiguration"]
    if sum(one["weight"] for one in rows) != 100:
        raise refusal("ValidationException", "the weights must be 100 together")
    found = there(region, rows[0]["stateMachineVersionArn"], "ResourceNotFound")
    for one in rows:
        if one["stateMachineVersionArn"] not in found.versions:
            raise refusal("ResourceNotFound", f"no version {one['stateMachineVersionArn']}")
    return found


def _create_alias(region: Region, asked: Fields) -> Fields:
    found = _routing(region, asked)
    arn = f"{found.arn}:{asked['name']}"
    was = found.aliases.get(arn)
    if was is not None and was["routingConfiguration"] != asked["routingConfiguration"]:
        raise refusal("ConflictException", f"the alias {arn} already exists")
    found.aliases[arn] = {"routingConfiguration": asked["routingConfiguration"]}
    return {"stateMachineAliasArn": arn, "creationDate": now()}


def _update_alias(region: Region, asked: Fields) -> Fields:
    arn = asked["stateMachineAliasArn"]
    found = find(region, arn)
    if found is None or arn not in found.aliases:
        raise refusal("ResourceNotFound", f"no alias {arn}")
    if _routing(region, asked) is not found:
        raise refusal("ValidationException", "a version of another state machine")
    found.aliases[arn] = {"routingConfiguration": asked["routingConfiguration"]}
    return {"updateDate": now()}


def _delete_alias(region: Region, asked: Fields) -> Fields:
    arn = asked["stateMachineAliasArn"]
    found = find(region, arn)
    if found is None or arn not in found.aliases:
        raise refusal("ResourceNotFound", f"no alias {arn}")
    del found.aliases[arn]
    return {}


def _list_tags(region: Region, asked: Fields) -> Fields:
    found = there(region, asked["resourceArn"], "ResourceNotFound")
    return {"tags": [{"key": name, "value": text} for name, text in found.tags.items()]}


def _describe_execution(region: Region, asked: Fields) -> Fields:
    arn = asked["executionArn"]
    for machine in region.machines.values():
        one = machine.executions.get(arn)
        if one is not None:
            texts = {"output": one.output, "error": one.error, "cause": one.cause}
            return {
                "executionArn": arn,
                "stateMachineArn": machine.arn,
                "status": one.status,
                "startDate": now(),
                **{name: text for name, text in texts.items() if text},
            }
    raise refusal("ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'")


_SETTINGS = (
    "definition roleArn loggingConfiguration tracingConfiguration publish versionDescription"
)
MACHINE_CALLS = {
    "CreateStateMachine": heeding(f"name type tags {_SETTINGS}", _create),
    "UpdateStateMachine": heeding(f"stateMachineArn {_SETTINGS}", _update),
    "DescribeStateMachine": heeding("stateMachineArn", _describe),
    "DeleteStateMachine": heeding("stateMachineArn", _delete),
    "ListStateMachineVersions": heeding("stateMachineArn nextToken", _list_versions),
    "DeleteStateMachineVersion": heeding("stateMachineVersionArn", _delete_version),
    "CreateStateMachineAlias": heeding("name routingConfiguration", _create_alias),
    "UpdateStateMachineAlias": heeding("stateMachineAliasArn routingConfiguration", _update_alias),
    "DeleteStateMachineAlias": heeding("stateMachineAliasArn", _delete_alias),
    "ListTagsForResource": heeding("resourceArn", _list_tags),
    "DescribeExecution": heeding("executionArn", _describe_execution),
}
