"""What the calls of a role need: its policies in moto, and the action and resource of a call."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from moto.iam.models import ManagedPolicy, iam_backends

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.iam_policies import Document, IamRequest, allows
from tests.support.servers.strict_cloud1.refusals import RefusalError

# Operations whose action has another name.
_ACTIONS = {
    "lambda.Invoke": "lambda:InvokeFunction",
    "s3.ListObjects": "s3:ListBucket",
    "s3.ListObjectsV2": "s3:ListBucket",
    "s3.HeadBucket": "s3:ListBucket",
    "s3.HeadObject": "s3:GetObject",
}
_PREFIXES = {"stepfunctions": "states"}


def is_allowed(region: Region, role: str, action: str, resource: str) -> bool:
    """By the inline and attached policies of a role and by its boundary."""
    account = iam_backends[region.account.number]["aws"]
    found = next((one for one in account.roles.values() if one.arn == role), None)
    if found is None:
        return False
    attached = (_read_managed(one) for one in found.managed_policies.values())
    policies = [*map(_read, found.policies.values()), *attached]
    named = found.permissions_boundary_arn
    boundary = _read_managed(account.managed_policies[named]) if named else None
    context = {"aws:PrincipalArn": role, "aws:RequestedRegion": region.name}
    return allows(policies, IamRequest(action, resource, context), boundary)


def _read_managed(policy: ManagedPolicy) -> Document:
    [document] = (one.document for one in policy.versions if one.is_default)
    return _read(document)


def _read(document: Any) -> Document:
    found: Document = json.loads(document) if isinstance(document, str) else document
    return found


def check_call(region: Region, role: str, call: str, asked: Fields) -> None:
    """Refuse a call of a function's code that its role does not allow."""
    service, _, operation = call.partition(".")
    action = _ACTIONS.get(call) or f"{_PREFIXES.get(service, service)}:{operation}"
    resource = next((form(region, asked) for key, form in _RESOURCES.items() if key in asked), "*")
    if not is_allowed(region, role, action, resource):
        message = f"{role} is not authorized to perform: {action} on resource: {resource}"
        code = "AccessDenied" if service == "s3" else "AccessDeniedException"
        raise RefusalError(403, code, message)


def _arn(region: Region, service: str, rest: str) -> str:
    return f"arn:aws:{service}:{region.name}:{region.account.number}:{rest}"


def _function(region: Region, asked: Mapping[str, Any]) -> str:
    name, qualifier = str(asked["FunctionName"]), asked.get("Qualifier", "")
    return name if name.startswith("arn:") else region.function_arn(name, qualifier)


# By the member of a request that names the resource.
_RESOURCES: Mapping[str, Callable[[Region, Mapping[str, Any]], str]] = {
    "TableName": lambda region, it: _arn(region, "dynamodb", f"table/{it['TableName']}"),
    "QueueUrl": lambda region, it: _arn(region, "sqs", str(it["QueueUrl"]).rpartition("/")[2]),
    "Key": lambda _, it: f"arn:aws:s3:::{it['Bucket']}/{it['Key']}",
    "Bucket": lambda _, it: f"arn:aws:s3:::{it['Bucket']}",
    "TopicArn": lambda _, it: str(it["TopicArn"]),
    "FunctionName": _function,
    "stateMachineArn": lambda _, it: str(it["stateMachineArn"]),
}
