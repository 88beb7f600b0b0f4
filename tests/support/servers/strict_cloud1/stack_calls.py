"""CloudFormation's calls: change sets, stacks and their events."""

import json
from urllib.parse import urlsplit

from moto.s3.models import s3_backends

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.operations import heeding
from tests.support.servers.strict_cloud1.refusals import RefusalError
from tests.support.servers.strict_cloud1.stacks import (
    ChangeSet,
    Stack,
    changes_between,
    parsed_template,
    validation,
)

_PAGE = 2
_IAM = ("AWS::IAM::Role", "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::User")
_AT_REST = (*("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE"),)
_IN_CALL, _IN_BUCKET = 51_200, 1 << 20


def _find(region: Region, name: str) -> Stack | None:
    """By id every stack, by name only one that is not deleted."""
    for one in reversed(region.stacks):
        if one.ident == name or (one.name == name and one.status != "DELETE_COMPLETE"):
            return one
    return None


def _stack(region: Region, name: str) -> Stack:
    found = _find(region, name)
    if found is None:
        raise validation(f"Stack with id {name} does not exist")
    return found


def _change_set(region: Region, asked: Fields) -> tuple[Stack, ChangeSet]:
    stack = _stack(region, asked["StackName"])
    found = stack.change_sets.get(asked["ChangeSetName"])
    if found is None:
        message = f"ChangeSet [{asked['ChangeSetName']}] does not exist"
        raise RefusalError(404, "ChangeSetNotFound", message)
    return stack, found


def _create_change_set(region: Region, asked: Fields) -> Fields:
    template = parsed_template(_template_text(region, asked))
    _check_capabilities(template, asked)
    stack = _find(region, asked["StackName"])
    parameters = _parameters(template, asked, stack.parameters if stack else {})
    _check_express(template, asked)
    kind = asked["ChangeSetType"]
    if kind == "IMPORT":
        _check_import(stack, template, asked)
        _check_kept(stack, parameters, asked)
    if kind == "CREATE" or (kind == "IMPORT" and stack is None):
        if stack is not None and stack.status != "REVIEW_IN_PROGRESS":
            raise validation(f"Stack [{stack.name}] already exists and cannot be created again")
        stack = stack or _new_stack(region, asked["StackName"])
    elif stack is None or stack.status not in _AT_REST:
        status = stack.status if stack else "missing"
        raise validation(f"Stack:{asked['StackName']} is in {status} state and can not be updated.")
    was = stack.change_sets.get(asked["ChangeSetName"])
    if was is not None and was.token != asked.get("ClientToken"):
        raise RefusalError(409, "AlreadyExistsException", "ChangeSet exists")
    if was is None:
        made = _made_change_set(stack, template, parameters, asked)
        stack.change_sets[made.name] = made
    return {"Id": f"{stack.ident}/{asked['ChangeSetName']}", "StackId": stack.ident}


def _made_change_set(
    stack: Stack, template: Fields, parameters: dict[str, str], asked: Fields
) -> ChangeSet:
    tags = {one["Key"]: one["Value"] for one in asked.get("Tags", [])}
    changes = list(changes_between(stack, template, parameters))
    imports = {one["LogicalResourceId"]: one for one in asked.get("ResourcesToImport", [])}
    changes = [
        {**one, "Action": "Import"} if one["LogicalResourceId"] in imports else one
        for one in changes
    ]
    made = ChangeSet(
        asked["ChangeSetName"], asked["ClientToken"], template, parameters, tags, changes
    )
    made.imports = {
        name: next(iter(one["ResourceIdentifier"].values())) for name, one in imports.items()
    }
    made.mode = asked.get("DeploymentConfig", {}).get("Mode", "STANDARD")
    return made


def _template_text(region: Region, asked: Fields) -> str:
    """From the call, or from a bucket of the account."""
    if "TemplateBody" in asked:
        if len(asked["TemplateBody"].encode()) > _IN_CALL:
            raise validation("1 validation error detected: templateBody has more than 51200 bytes")
        return str(asked["TemplateBody"])
    bucket, _, key = urlsplit(asked["TemplateURL"]).path.strip("/").partition("/")
    account = s3_backends[region.account.number]["aws"]
    found = account.get_object(bucket, key) if bucket in account.buckets else None
    if found is None:
        raise validation("S3 error: The specified key does not exist.")
    if len(found.value) > _IN_BUCKET:
        raise validation("Template may not exceed 1048576 bytes in size.")
    return bytes(found.value).decode()


def _check_express(template: Fields, asked: Fields) -> None:
    config = asked.get("DeploymentConfig", {})
    if config.get("Mode") != "EXPRESS":
        return
    kinds = [one["Type"] for one in template["Resources"].values()]
    if any(one.startswith(("Custom::", "AWS::CloudFormation::CustomResource")) for one in kinds):
        raise validation("Custom resources are not supported with EXPRESS mode")
    if "Transform" in template:
        raise validation("Transforms are not supported with EXPRESS mode")
    if config.get("DisableRollback") is not False:
        raise validation("a failure would leave the stack without a rollback")


def _check_import(stack: Stack | None, template: Fields, asked: Fields) -> None:
    """An import changes nothing besides the resources that it names."""
    old = stack.template if stack else {"Resources": {}}
    named = {one["LogicalResourceId"]: one for one in asked["ResourcesToImport"]}
    for name, one in template["Resources"].items():
        if name in old["Resources"]:
            if name in named or one != old["Resources"][name]:
                raise validation(f"[{name}] is in the stack and cannot be changed by an import")
            continue
        if name not in named or named[name]["ResourceType"] != one["Type"]:
            raise validation(f"Resources [{name}] is missing from ResourcesToImport list")
        if "DeletionPolicy" not in one:
            raise validation(f"Resources to import [{name}] need a DeletionPolicy attribute")
    if set(old["Resources"]) - set(template["Resources"]):
        raise validation("an import cannot delete resources")
    if old.get("Outputs", {}) != template.get("Outputs", {}):
        raise validation("As part of the import operation, you cannot modify or add [Outputs]")


def _check_kept(stack: Stack | None, parameters: dict[str, str], asked: Fields) -> None:
    """An import changes neither parameters nor tags of a deployed stack."""
    if stack is None or stack.status == "REVIEW_IN_PROGRESS":
        return
    tags = {one["Key"]: one["Value"] for one in asked.get("Tags", [])}
    if any(parameters.get(name) != value for name, value in stack.parameters.items()):
        raise validation("As part of the import operation, you cannot modify [Parameters]")
    if tags != stack.tags:
        raise validation("As part of the import operation, you cannot modify or add [Tags]")


def _check_capabilities(template: Fields, asked: Fields) -> None:
    kinds = [one["Type"] for one in template["Resources"].values()]
    if any(kind in _IAM for kind in kinds) and not asked.get("Capabilities"):
        message = "Requires capabilities : [CAPABILITY_IAM]"
        raise RefusalError(400, "InsufficientCapabilitiesException", message)


def _parameters(template: Fields, asked: Fields, before: dict[str, str]) -> dict[str, str]:
    declared = template.get("Parameters", {})
    given = {}
    for one in asked.get("Parameters", []):
        key = one["ParameterKey"]
        if one.get("UsePreviousValue") and key not in before:
            raise validation(f"Invalid input for parameter key {key}: no previous value")
        given[key] = before[key] if one.get("UsePreviousValue") else one["ParameterValue"]
    unknown = sorted(set(given) - set(declared))
    if unknown:
        raise validation(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    missing = [one for one, row in declared.items() if one not in given and "Default" not in row]
    if missing:
        raise validation(f"Parameters: [{', '.join(missing)}] must have values")
    return {one: given.get(one, str(row.get("Default"))) for one, row in declared.items()}


def _new_stack(region: Region, name: str) -> Stack:
    number = len(region.stacks)
    place = f"arn:aws:cloudformation:{region.name}:{region.account.number}:stack"
    made = Stack(name, f"{place}/{name}/{number}")
    made.become("REVIEW_IN_PROGRESS")
    region.stacks.append(made)
    return made


def _describe_change_set(region: Region, asked: Fields) -> Fields:
    """A change set is ready at the second look."""
    stack, one = _change_set(region, asked)
    shown = one.status
    if one.status == "CREATE_PENDING":
        sides = (
            (each.parameters, each.tags, each.template.get("Outputs")) for each in (one, stack)
        )
        is_same = not one.changes and len({repr(side) for side in sides}) == 1
        one.status = "FAILED" if is_same else "CREATE_COMPLETE"
        one.reason = "The submitted information didn't contain changes." if is_same else ""
    start = int(asked.get("NextToken") or 0)
    rows = [{"Type": "Resource", "ResourceChange": row} for row in one.changes]
    more = {"NextToken": str(start + _PAGE)} if len(rows) > start + _PAGE else {}
    described = {
        "ChangeSetName": one.name,
        "StackId": stack.ident,
        "StackName": stack.name,
        "Status": shown,
        "ExecutionStatus": one.execution,
        "Changes": rows[start : start + _PAGE],
    }
    return {**described, **more, **({"StatusReason": one.reason} if shown == "FAILED" else {})}


def _delete_change_set(region: Region, asked: Fields) -> Fields:
    stack = _stack(region, asked["StackName"])
    stack.change_sets.pop(asked["ChangeSetName"], None)
    return {}


def _execute(region: Region, asked: Fields) -> Fields:
    stack, one = _change_set(region, asked)
    if one.execution != "AVAILABLE" or one.status != "CREATE_COMPLETE":
        message = f"ChangeSet [{one.name}] cannot be executed in its current status"
        raise RefusalError(400, "InvalidChangeSetStatus", message)
    stack.execute(one)
    return {}


def _describe_stacks(region: Region, asked: Fields) -> Fields:
    """A look at a stack does the next step of its operation."""
    stack = _stack(region, asked["StackName"])
    shown = {
        "StackId": stack.ident,
        "StackName": stack.name,
        "StackStatus": stack.status,
        "CreationTime": stack.events[0]["Timestamp"],
        "Parameters": [
            {"ParameterKey": key, "ParameterValue": value}
            for key, value in stack.parameters.items()
        ],
        "Capabilities": stack.capabilities,
        "Outputs": stack.outputs() if stack.status in _AT_REST else [],
        "Tags": [{"Key": key, "Value": value} for key, value in stack.tags.items()],
        "EnableTerminationProtection": stack.is_protected,
        **({"LastUpdatedTime": stack.updated} if stack.updated else {}),
    }
    stack.step()
    return {"Stacks": [shown]}


def _describe_events(region: Region, asked: Fields) -> Fields:
    stack = _stack(region, asked["StackName"])
    start = int(asked.get("NextToken") or 0)
    rows = stack.events[::-1][start : start + _PAGE]
    more = {"NextToken": str(start + _PAGE)} if len(stack.events) > start + _PAGE else {}
    return {"StackEvents": rows, **more}


def _delete(region: Region, asked: Fields) -> Fields:
    stack = _find(region, asked["StackName"])
    if stack is None or stack.status == "DELETE_COMPLETE":
        return {}
    if stack.is_protected:
        raise validation(
            f"Stack [{stack.name}] cannot be deleted while TerminationProtection is on"
        )
    if stack.status == "REVIEW_IN_PROGRESS":
        stack.become("DELETE_COMPLETE")
    elif stack.status != "DELETE_IN_PROGRESS":
        stack.delete()
    return {}


def _protect(region: Region, asked: Fields) -> Fields:
    stack = _stack(region, asked["StackName"])
    stack.is_protected = asked["EnableTerminationProtection"]
    return {"StackId": stack.ident}


def _get_template(region: Region, asked: Fields) -> Fields:
    template = _stack(region, asked["StackName"]).template
    return {"TemplateBody": json.dumps(template), "StagesAvailable": ["Original", "Processed"]}


def _list_resources(region: Region, asked: Fields) -> Fields:
    stack = _stack(region, asked["StackName"])
    rows = [
        {
            "LogicalResourceId": name,
            "PhysicalResourceId": ident,
            "ResourceType": stack.template["Resources"][name]["Type"],
            "ResourceStatus": "CREATE_COMPLETE",
            "LastUpdatedTimestamp": stack.events[0]["Timestamp"],
        }
        for name, ident in stack.made.items()
    ]
    start = int(asked.get("NextToken") or 0)
    more = {"NextToken": str(start + _PAGE)} if len(rows) > start + _PAGE else {}
    return {"StackResourceSummaries": rows[start : start + _PAGE], **more}


def add_deployed_stack(region: Region, name: str, resources: dict[str, dict[str, str]]) -> None:
    """A stack that another tool deployed, with existing resources: `id`, `Type` and policies by
    logical id. Functions get the tags that only CloudFormation can write."""
    found = _find(region, name)
    stack = found or _new_stack(region, name)
    definitions = {
        key: {part: text for part, text in one.items() if part != "id"}
        for key, one in resources.items()
    }
    stack.template = {"Resources": definitions}
    stack.made = {key: one["id"] for key, one in resources.items()}
    stack.capabilities = ["CAPABILITY_NAMED_IAM"]
    stack.become("UPDATE_COMPLETE" if found else "CREATE_COMPLETE")
    own = {"stack-id": stack.ident, "stack-name": stack.name}
    for key, one in resources.items():
        if one["Type"] == "AWS::Lambda::Function":
            tags = {f"aws:cloudformation:{part}": text for part, text in own.items()}
            region.functions[one["id"]].tags |= {**tags, "aws:cloudformation:logical-id": key}


_SET = "StackName ChangeSetName"
STACK_CALLS = {
    "CreateChangeSet": heeding(
        f"{_SET} ChangeSetType ClientToken TemplateBody TemplateURL Parameters Tags RoleARN "
        "Capabilities NotificationARNs DeploymentConfig ResourcesToImport",
        _create_change_set,
    ),
    "DescribeChangeSet": heeding(f"{_SET} NextToken", _describe_change_set),
    "DeleteChangeSet": heeding(_SET, _delete_change_set),
    "ExecuteChangeSet": heeding(f"{_SET} ClientRequestToken", _execute),
    "DescribeStacks": heeding("StackName", _describe_stacks),
    "GetTemplate": heeding("StackName TemplateStage", _get_template),
    "ListStackResources": heeding("StackName NextToken", _list_resources),
    "DescribeStackEvents": heeding("StackName NextToken", _describe_events),
    "DeleteStack": heeding("StackName", _delete),
    "UpdateTerminationProtection": heeding("StackName EnableTerminationProtection", _protect),
}
