"""CloudFormation stacks of a service: change sets, the wait for their end, and deletion.

A change set shows what would be replaced before anything changes. Its token is the key of the
order, so that a repeated call makes no second one.
"""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from fabric.model.late_values import require_known_values
from fabric.model.problems import FabricError, Problem, UntouchedError
from fabric.providers.cloud1.core.client import ignore_codes
from fabric.providers.cloud1.core.ownership import refuse_other_account, refuse_other_region
from fabric.providers.cloud1.core.versions import Cloud1Work, build_ownership_tags
from fabric.providers.cloud1.stacks.stack_events import StackProgress, describe_failure
from fabric.providers.cloud1.stacks.stack_imports import build_import_order, find_missing_imports
from fabric.providers.core.contract import DeployedStack, DeploymentAddress, StackOrder
from fabric.providers.core.retry import poll_until
from fabric.system.cloud1_account import read_error_code

_Fields = Mapping[str, Any]
# Databases and certificates can take hours.
_LONGEST_WAIT = 4 * 3600.0
_MISSING = "does not exist"
_VALIDATION = "ValidationError"
_NO_CHANGES = ("didn't contain changes", "No updates are to be performed")
# In a call, and in a bucket.
_LARGEST_TEMPLATE, _LARGEST_STORED = 51_200, 1 << 20
_REVIEW, _ROLLED_BACK = "REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE"
_READY = frozenset(
    (
        *("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE"),
        *("UPDATE_ROLLBACK_COMPLETE", "IMPORT_ROLLBACK_COMPLETE"),
    )
)
_DEPLOYED = frozenset(("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE"))
_EXPRESS = {"Mode": "EXPRESS", "DisableRollback": False}
_NO_CHANGE_SET = frozenset(("ChangeSetNotFound", "ChangeSetNotFoundException"))
_WRONG_STATUS = frozenset(("InvalidChangeSetStatus", "InvalidChangeSetStatusException"))
_STARTED = ("EXECUTE_IN_PROGRESS", "EXECUTE_COMPLETE")
# Resources with data that is lost if they are replaced or deleted.
_WITH_DATA = (
    *("AWS::Cassandra::", "AWS::Cognito::UserPool", "AWS::DAX::Cluster", "AWS::DocDB::"),
    *("AWS::DynamoDB::", "AWS::EC2::Volume", "AWS::ECR::Repository", "AWS::EFS::FileSystem"),
    *("AWS::ElastiCache::", "AWS::Elasticsearch::", "AWS::FSx::", "AWS::Kinesis::Stream"),
    *("AWS::KMS::Key", "AWS::Logs::LogGroup", "AWS::MemoryDB::", "AWS::MSK::Cluster"),
    *("AWS::Neptune::", "AWS::OpenSearchService::", "AWS::QLDB::", "AWS::RDS::DBCluster"),
    *("AWS::RDS::DBInstance", "AWS::RDS::GlobalCluster", "AWS::Redshift::Cluster"),
    *("AWS::S3::Bucket", "AWS::S3Express::", "AWS::S3Tables::", "AWS::SecretsManager::Secret"),
    *("AWS::SQS::Queue", "AWS::SSM::Parameter", "AWS::Timestream::"),
)
# Such resources only belong to those with data.
_WITHOUT_DATA = frozenset(
    (
        *("AWS::Cognito::UserPoolClient", "AWS::Cognito::UserPoolDomain"),
        *("AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy", "AWS::SQS::QueueInlinePolicy"),
        *("AWS::ElastiCache::ParameterGroup", "AWS::ElastiCache::SubnetGroup"),
        "AWS::SecretsManager::SecretTargetAttachment",
    )
)


def deploy_stack(work: Cloud1Work, address: DeploymentAddress, order: StackOrder) -> DeployedStack:
    """Create or update the stack. Waits for a change that an interrupted run began."""
    refuse_other_region(work, address)
    refuse_other_account(work, address)
    _refuse_large_template(work, order)
    stack = _find_usable_stack(work, order)
    if stack is not None:
        _refuse_foreign(address, order, stack)
        _refuse_stuck(order, stack)
    missing = find_missing_imports(work, order, stack)
    if missing:
        importing = build_import_order(work, order, missing, is_new=stack is None)
        _change(work, address, importing, stack)
        stack = _require_stack(work, order.name)
    _change(work, address, replace(order, imports=""), stack)
    found = _require_stack(work, order.name)
    _set_protection(work, order, found)
    outputs = tuple((one["OutputKey"], one["OutputValue"]) for one in found.get("Outputs", ()))
    return DeployedStack(str(found["StackId"]), outputs)


def _change(
    work: Cloud1Work, address: DeploymentAddress, order: StackOrder, stack: _Fields | None
) -> None:
    """Change the stack with one change set, if it has changes."""
    changes = _create_change_set(work, address, order, stack)
    if changes is None:
        work.scope.watch.hear(f"stack {order.name}: unchanged")
        return
    _guard_data(work, order, changes)
    _execute(work, order, stack)


def _refuse_large_template(work: Cloud1Work, order: StackOrder) -> None:
    size = len(order.template.encode())
    message = f"the template of stack `{order.name}` has {size:,} bytes"
    if size > _LARGEST_STORED:
        hint = f"split it: the maximum is {_LARGEST_STORED:,} bytes"
        raise UntouchedError(Problem("stack/too-large", message, hint))
    if size > _LARGEST_TEMPLATE and not work.own.artifact_bucket:
        message += f"; templates above {_LARGEST_TEMPLATE:,} bytes require a bucket"
        hint = "set `artifactBucket` below `extensions.cloud1-lambda`, or split the template"
        raise UntouchedError(Problem("stack/too-large", message, hint))


@contextlib.contextmanager
def _offer_template(
    work: Cloud1Work, address: DeploymentAddress, order: StackOrder
) -> Iterator[dict[str, str]]:
    """Pass the template, or the address of a large one, which is stored until AWS has read it.

    The object belongs to one stack, whose deploys exclude each other. If an interrupted run leaves
    the object, the next deploy replaces and deletes it.
    """
    content = order.template.encode()
    if len(content) <= _LARGEST_TEMPLATE:
        yield {"TemplateBody": order.template}
        return
    storage, bucket = work.clients.of("s3"), work.own.artifact_bucket
    require_known_values(f"the template of stack `{order.name}`", (bucket,))
    place = f"{address.region}/{address.service}/{address.stage}"
    key = f"fabric/stacks/{place}/{order.name}.template"
    storage.put_object(Bucket=bucket, Key=key, Body=content)
    try:
        yield {"TemplateURL": f"{storage.meta.endpoint_url}/{bucket}/{key}"}
    finally:
        storage.delete_object(Bucket=bucket, Key=key)


def _find_usable_stack(work: Cloud1Work, order: StackOrder) -> _Fields | None:
    """Return the stack in a final state; None if it does not exist or has no resources yet."""
    found = _wait_for_end(work, order.name)
    status = _status(found)
    if status == _ROLLED_BACK:
        work.scope.watch.hear(f"stack {order.name}: deleting the stack of a failed create")
        delete_stack(work, order.name)
        return None
    return None if status in ("", _REVIEW, "DELETE_COMPLETE") else found


def _wait_for_end(work: Cloud1Work, name: str) -> _Fields | None:
    """Wait until no operation of the stack is in progress."""
    found = _find_stack(work, name)
    if found is None or _is_at_rest(_status(found)):
        return found
    work.scope.watch.hear(f"stack {name}: waiting for {_status(found)}")
    progress = StackProgress.begin(work, str(found["StackId"]))
    return _poll(work, name, progress, lambda one: _is_at_rest(_status(one)))


def _is_at_rest(status: str) -> bool:
    return status == _REVIEW or not status.endswith("_IN_PROGRESS")


def _poll(work: Cloud1Work, name: str, progress: StackProgress, is_over: Any) -> _Fields | None:
    """Poll the stack and print its events. A deleted stack is an end, too."""
    waiting = replace(work.scope.waiting, most=_LONGEST_WAIT)

    def look() -> tuple[_Fields | None] | None:
        found = _find_stack(work, name)
        progress.print_new()
        return (found,) if found is None or is_over(found) else None

    ended = poll_until(look, waiting, work.scope.watch)
    if ended is None:
        message = f"stack `{name}` was still in progress after {_LONGEST_WAIT / 3600:.0f} hours"
        raise FabricError(Problem("stack/failed", message, "deploy again to wait for its end"))
    return ended[0]


def _find_stack(work: Cloud1Work, name: str) -> _Fields | None:
    from botocore.exceptions import ClientError

    try:
        found: list[_Fields] = _client(work).describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if read_error_code(error) == _VALIDATION and _MISSING in str(error):
            return None
        raise
    return found[0] if found else None


def _require_stack(work: Cloud1Work, name: str) -> _Fields:
    found = _find_stack(work, name)
    if found is None:
        message = f"stack `{name}` was deleted during the deploy"
        raise FabricError(Problem("stack/failed", message, "deploy again"))
    return found


def _status(found: _Fields | None) -> str:
    return str(found["StackStatus"]) if found else ""


def _client(work: Cloud1Work) -> Any:
    return work.clients.of("cloudformation")


def _refuse_foreign(address: DeploymentAddress, order: StackOrder, stack: _Fields) -> None:
    """Raise if the stack belongs to another service, or to no service without `adopt`."""
    tags = {one["Key"]: one["Value"] for one in stack.get("Tags", ())}
    wanted = build_ownership_tags(address)
    if all(tags.get(name) == text for name, text in wanted.items()):
        return
    owner = tags.get("fabric:service", "")
    if owner:
        where = f"`{owner}` in stage `{tags.get('fabric:stage', '')}`"
        message = f"the stack `{order.name}` already exists and belongs to {where}"
        raise UntouchedError(Problem("deploy/foreign", message, "use another name for the stack"))
    if not order.rules.adopt:
        message = f"the stack `{order.name}` already exists and is not managed by fabric"
        hint = "set `adopt: true` to take it over, or use another name; it was not changed"
        raise UntouchedError(Problem("deploy/foreign", message, hint))


def _refuse_stuck(order: StackOrder, stack: _Fields) -> None:
    status = _status(stack)
    if status not in _READY:
        message = f"the stack `{order.name}` cannot be updated: its status is {status}"
        raise FabricError(Problem("stack/stuck", message, _choose_hint(order.name, status)))


def _choose_hint(name: str, status: str) -> str:
    if status == "UPDATE_ROLLBACK_FAILED":
        return (
            "fix the resource, then run: aws cloudformation continue-update-rollback "
            f"--stack-name {name}"
        )
    if status.startswith(("ROLLBACK", "DELETE")):
        return f"fix the resource, then run: aws cloudformation delete-stack --stack-name {name}"
    return "fix the resource or the template, then deploy again"


def _create_change_set(
    work: Cloud1Work, address: DeploymentAddress, order: StackOrder, stack: _Fields | None
) -> list[_Fields] | None:
    """Create the change set and list its changes; None if nothing changes."""
    with _offer_template(work, address, order) as template:
        found = _ask_for_change_set(work, address, order, stack, template)
    if found is not None and found["Status"] != "FAILED":
        return list(_list_changes(work, order))
    reason = "it was not ready in time" if found is None else str(found.get("StatusReason", ""))
    _drop_change_set(work, order)
    if found is not None and any(words in reason for words in _NO_CHANGES):
        return None
    message = f"the change set of stack `{order.name}` failed: {work.scope.quoted(reason)}"
    raise FabricError(Problem("stack/failed", message, "fix the template or its parameters"))


def _ask_for_change_set(
    work: Cloud1Work,
    address: DeploymentAddress,
    order: StackOrder,
    stack: _Fields | None,
    template: Mapping[str, str],
) -> _Fields | None:
    """Create the change set, and wait until AWS has compared it; None if that takes too long."""
    name = _name_change_set(order)
    with ignore_codes(_NO_CHANGE_SET, frozenset((_VALIDATION,))):
        # One of an interrupted run can be outdated.
        _client(work).delete_change_set(StackName=order.name, ChangeSetName=name)
    is_import = bool(order.imports)
    tags = {**dict(order.tags), **build_ownership_tags(address)}
    if is_import and stack is not None:
        # An import changes nothing else. The update after it sets the tags.
        tags = {one["Key"]: one["Value"] for one in stack.get("Tags", ())}
    optional = {
        "RoleARN": order.role_arn,
        "Capabilities": list(order.capabilities),
        "NotificationARNs": list(order.notifications) if not is_import else None,
        # Without rollback a failed stack would need a manual repair.
        "DeploymentConfig": _EXPRESS if order.is_express and not is_import else None,
        "ResourcesToImport": json.loads(order.imports or "null"),
    }
    kinds = ("IMPORT",) if is_import else ("CREATE",) if stack is None else ("UPDATE",)
    _client(work).create_change_set(
        StackName=order.name,
        ChangeSetName=name,
        ChangeSetType=kinds[0],
        ClientToken=order.token,
        Parameters=_build_parameters(order),
        Tags=[{"Key": key, "Value": value} for key, value in sorted(tags.items())],
        **template,
        **{key: value for key, value in optional.items() if value},
    )
    return poll_until(
        lambda: _find_ready_change_set(work, order), work.scope.waiting, work.scope.watch
    )


def _build_parameters(order: StackOrder) -> list[dict[str, object]]:
    given: list[dict[str, object]] = [
        {"ParameterKey": key, "ParameterValue": value} for key, value in order.parameters.reveal()
    ]
    return [
        *given,
        *({"ParameterKey": key, "UsePreviousValue": True} for key in order.kept_parameters),
    ]


def _name_change_set(order: StackOrder) -> str:
    return f"fabric-{order.token[:32]}"


def _find_ready_change_set(work: Cloud1Work, order: StackOrder) -> _Fields | None:
    found: _Fields = _client(work).describe_change_set(
        StackName=order.name, ChangeSetName=_name_change_set(order)
    )
    return found if found["Status"] in ("CREATE_COMPLETE", "FAILED") else None


def _list_changes(work: Cloud1Work, order: StackOrder) -> Iterator[_Fields]:
    pages = _client(work).get_paginator("describe_change_set")
    for page in pages.paginate(StackName=order.name, ChangeSetName=_name_change_set(order)):
        for one in page.get("Changes", ()):
            yield from [one["ResourceChange"]] if "ResourceChange" in one else []


def _drop_change_set(work: Cloud1Work, order: StackOrder) -> None:
    """Delete the change set, and a stack that has only this one."""
    with ignore_codes(_NO_CHANGE_SET):
        _client(work).delete_change_set(StackName=order.name, ChangeSetName=_name_change_set(order))
    if _status(_find_stack(work, order.name)) == _REVIEW:
        _client(work).delete_stack(StackName=order.name)


def _guard_data(work: Cloud1Work, order: StackOrder, changes: Iterable[_Fields]) -> None:
    """Raise if data would be lost, before anything changes."""
    lost = [
        one
        for one in changes
        if _loses_data(one) and one["LogicalResourceId"] not in order.rules.allow_replace
    ]
    if not lost:
        return
    _drop_change_set(work, order)
    rows = ", ".join(_describe_loss(one) for one in lost)
    message = f"stack `{order.name}` would lose data: {rows}"
    ids = ", ".join(one["LogicalResourceId"] for one in lost)
    hint = f"add `allowReplace: [{ids}]` to the stack, or change the template; nothing was changed"
    where = order.find_place(lost[0]["LogicalResourceId"])
    raise UntouchedError(Problem("stack/would-replace", message, hint, where))


def holds_data(kind: str) -> bool:
    """Return whether resources of a type have data that is lost with them."""
    return kind.startswith(_WITH_DATA) and kind not in _WITHOUT_DATA


def _loses_data(change: _Fields) -> bool:
    if not holds_data(str(change["ResourceType"])):
        return False
    return change["Action"] == "Remove" or change.get("Replacement") in ("True", "Conditional")


def _describe_loss(change: _Fields) -> str:
    words = {"True": "is replaced", "Conditional": "can be replaced"}
    what = words.get(str(change.get("Replacement")), "is deleted")
    if change["Action"] == "Remove":
        what = "is deleted"
    return f"`{change['LogicalResourceId']}` ({change['ResourceType']}) {what}"


def _execute(work: Cloud1Work, order: StackOrder, before: _Fields | None) -> None:
    """Execute the change set, and wait for the end. Raises with the first failed resource."""
    progress = StackProgress.begin(work, order.name)
    _start(work, order)
    updated = before.get("LastUpdatedTime") if before else None

    def is_over(found: _Fields) -> bool:
        status = _status(found)
        is_old = before is not None and found.get("LastUpdatedTime") == updated
        return not status.endswith("_IN_PROGRESS") and not (is_old and status == _status(before))

    found = _poll(work, order.name, progress, is_over)
    status = _status(found)
    if status in _DEPLOYED:
        return
    why = describe_failure(progress.seen, work.scope.quoted)
    if status == _ROLLED_BACK:
        # Only a deleted stack can be created again.
        delete_stack(work, order.name)
    message = f"stack `{order.name}` failed ({status or 'deleted'}): {why}"
    raise FabricError(Problem("stack/failed", message, _choose_end_hint(order.name, status)))


def _choose_end_hint(name: str, status: str) -> str:
    if status in (_ROLLED_BACK, "UPDATE_ROLLBACK_COMPLETE"):
        return "fix the resource in the template, then deploy again"
    return _choose_hint(name, status)


def _start(work: Cloud1Work, order: StackOrder) -> None:
    """Start the execution. A repeated call finds that it has begun."""
    from botocore.exceptions import ClientError

    name = _name_change_set(order)
    try:
        _client(work).execute_change_set(
            StackName=order.name, ChangeSetName=name, ClientRequestToken=order.token
        )
    except ClientError as error:
        code = read_error_code(error)
        if code in _NO_CHANGE_SET:
            return  # it was executed by the call whose response was lost
        if code not in _WRONG_STATUS:
            raise
        found = _client(work).describe_change_set(StackName=order.name, ChangeSetName=name)
        if found.get("ExecutionStatus") not in _STARTED:
            raise


def _set_protection(work: Cloud1Work, order: StackOrder, stack: _Fields) -> None:
    is_protected = bool(stack.get("EnableTerminationProtection"))
    if is_protected != order.rules.protect:
        _client(work).update_termination_protection(
            StackName=order.name, EnableTerminationProtection=order.rules.protect
        )


def delete_stack(work: Cloud1Work, name: str) -> None:
    """Delete the stack, and wait until it is deleted."""
    found = _wait_for_end(work, name)
    if _status(found) in ("", "DELETE_COMPLETE"):
        return
    assert found is not None  # noqa: S101 - it has a status
    ident = str(found["StackId"])
    progress = StackProgress.begin(work, ident)
    _client(work).delete_stack(StackName=ident)

    def is_over(one: _Fields) -> bool:
        return _status(one) in ("DELETE_COMPLETE", "DELETE_FAILED")

    ended = _poll(work, ident, progress, is_over)
    if _status(ended) == "DELETE_FAILED":
        why = describe_failure(progress.seen, work.scope.quoted)
        message = f"stack `{found['StackName']}` could not be deleted: {why}"
        hint = "delete or empty the resource, then run the command again"
        raise FabricError(Problem("stack/failed", message, hint))
