"""CloudFormation's calls: change sets, stacks and their events."""

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
_AT_REST = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")


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
    template = parsed_template(asked["TemplateBody"])
    _check_capabilities(template, asked)
    parameters = _parameters(template, asked)
    stack = _find(region, asked["StackName"])
    if asked["ChangeSetType"] == "CREATE":
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
        tags = {one["Key"]: one["Value"] for one in asked.get("Tags", [])}
        changes = list(changes_between(stack, template, parameters))
        made = ChangeSet(
            asked["ChangeSetName"], asked["ClientToken"], template, parameters, tags, changes
        )
        stack.change_sets[made.name] = made
    return {"Id": f"{stack.ident}/{asked['ChangeSetName']}", "StackId": stack.ident}


def _check_capabilities(template: Fields, asked: Fields) -> None:
    kinds = [one["Type"] for one in template["Resources"].values()]
    if any(kind in _IAM for kind in kinds) and not asked.get("Capabilities"):
        message = "Requires capabilities : [CAPABILITY_IAM]"
        raise RefusalError(400, "InsufficientCapabilitiesException", message)


def _parameters(template: Fields, asked: Fields) -> dict[str, str]:
    declared = template.get("Parameters", {})
    given = {one["ParameterKey"]: one["ParameterValue"] for one in asked.get("Parameters", [])}
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
        sides = ((each.parameters, each.tags, each.template.get("Outputs")) for each in (one, stack))
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


_SET = "StackName ChangeSetName"
STACK_CALLS = {
    "CreateChangeSet": heeding(
        f"{_SET} ChangeSetType ClientToken TemplateBody Parameters Tags RoleARN Capabilities",
        _create_change_set,
    ),
    "DescribeChangeSet": heeding(f"{_SET} NextToken", _describe_change_set),
    "DeleteChangeSet": heeding(_SET, _delete_change_set),
    "ExecuteChangeSet": heeding(f"{_SET} ClientRequestToken", _execute),
    "DescribeStacks": heeding("StackName", _describe_stacks),
    "DescribeStackEvents": heeding("StackName NextToken", _describe_events),
    "DeleteStack": heeding("StackName", _delete),
    "UpdateTerminationProtection": heeding("StackName EnableTerminationProtection", _protect),
}
