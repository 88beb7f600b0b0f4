"""Who may call a function, or one alias or version of it: each has a policy of its own."""

import json
import re

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.functions import Function, Reference
from tests.support.servers.strict_cloud1.operations import heeding
from tests.support.servers.strict_cloud1.refusals import RefusalError, conflict, not_found

_LONGEST_POLICY = 20_480


def _policy(region: Region, asked: Fields) -> tuple[Function, str]:
    """A policy of a qualifier that does not exist is refused."""
    reference = Reference.of(asked["FunctionName"], asked.get("Qualifier"))
    function = region.function(reference)
    function.version(reference.qualifier)
    return function, reference.qualifier


def _add(region: Region, asked: Fields) -> Fields:
    function, qualifier = _policy(region, asked)
    rows = function.policies.setdefault(qualifier, [])
    sid = asked["StatementId"]
    if any(one["Sid"] == sid for one in rows):
        raise conflict(
            f"The statement id ({sid}) provided already exists. Please provide a new statement id,"
            " or remove the existing statement."
        )
    row = _statement(asked, function.arn(qualifier))
    if len(json.dumps([*rows, row])) > _LONGEST_POLICY:
        message = f"The final policy size is bigger than the limit ({_LONGEST_POLICY})."
        raise RefusalError(400, "PolicyLengthExceededException", message)
    rows.append(row)
    return {"Statement": json.dumps(row)}


def _statement(asked: Fields, resource: str) -> Fields:
    principal = asked["Principal"]
    kind = "Service" if principal.endswith(".amazonaws.com") else "AWS"
    row: Fields = {
        "Sid": asked["StatementId"],
        "Effect": "Allow",
        "Principal": "*" if principal == "*" else {kind: principal},
        "Action": asked["Action"],
        "Resource": resource,
    }
    condition: Fields = {}
    if "SourceArn" in asked:
        condition["ArnLike"] = {"AWS:SourceArn": asked["SourceArn"]}
    if "SourceAccount" in asked:
        condition["StringEquals"] = {"AWS:SourceAccount": asked["SourceAccount"]}
    if "FunctionUrlAuthType" in asked:
        urls = {"lambda:FunctionUrlAuthType": asked["FunctionUrlAuthType"]}
        condition.setdefault("StringEquals", {}).update(urls)
    if "InvokedViaFunctionUrl" in asked:
        said = str(asked["InvokedViaFunctionUrl"]).lower()
        condition["Bool"] = {"lambda:InvokedViaFunctionUrl": said}
    return {**row, "Condition": condition} if condition else row


def _get(region: Region, asked: Fields) -> Fields:
    function, qualifier = _policy(region, asked)
    rows = function.policies.get(qualifier)
    if not rows:
        raise not_found("The resource you requested does not exist.")
    policy = {"Version": "2012-10-17", "Id": "default", "Statement": rows}
    return {"Policy": json.dumps(policy), "RevisionId": function.latest.settings["RevisionId"]}


def _remove(region: Region, asked: Fields) -> Fields:
    function, qualifier = _policy(region, asked)
    rows = function.policies.get(qualifier, [])
    kept = [one for one in rows if one["Sid"] != asked["StatementId"]]
    if len(kept) == len(rows):
        message = f"Statement {asked['StatementId']} is not found in resource policy."
        raise not_found(message)
    function.policies[qualifier] = kept
    return {}


def allows(function: Function, qualifier: str, service: str, source: str) -> bool:
    """Whether a service may call on behalf of a source, such as a route or a rule."""
    return any(
        _allows(row, function, service, source) for row in function.policies.get(qualifier, [])
    )


def _allows(row: Fields, function: Function, service: str, source: str) -> bool:
    if row["Principal"] not in ("*", {"Service": service}):
        return False
    if row["Action"] not in {"*", "lambda:*", "lambda:InvokeFunction"}:
        return False
    condition = row.get("Condition", {})
    account = function.latest.arn.split(":")[4]
    if condition.get("StringEquals", {}).get("AWS:SourceAccount", account) != account:
        return False
    return _is_like(source, condition.get("ArnLike", {}).get("AWS:SourceArn", source))


def _is_like(arn: str, pattern: str) -> bool:
    """`*` and `?` within each of the six parts of an ARN."""
    wanted, given = pattern.split(":", 5), arn.split(":", 5)
    return len(wanted) == len(given) and all(
        re.fullmatch(re.escape(one).replace(r"\*", ".*").replace(r"\?", "."), other)
        for one, other in zip(wanted, given, strict=True)
    )


PERMISSION_CALLS = {
    "AddPermission": heeding(
        "FunctionName StatementId Action Principal SourceArn SourceAccount Qualifier"
        " FunctionUrlAuthType InvokedViaFunctionUrl",
        _add,
    ),
    "GetPolicy": heeding("FunctionName Qualifier", _get),
    "RemovePermission": heeding("FunctionName StatementId Qualifier", _remove),
}
