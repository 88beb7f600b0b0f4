"""CloudFormation stacks of other tools: their resources, and what they would delete."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fabric.config.yaml.nodes import convert_to_plain
from fabric.config.yaml.reader import read
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.versions import Cloud1Work
from fabric.system.cloud1_account import read_error_code

_Fields = Mapping[str, Any]
_RETAINED = ("Retain", "RetainExceptOnCreate")
_BUCKET_OF_SERVERLESS = "ServerlessDeploymentBucket"
# Larger templates must be in a bucket.
_MAX_BYTES_IN_CALL = 51_200
# CloudFormation rejects an update that changes only policies.
_NOTE = "Metadata: {adopted: fabric}"


class OldResource(Struct, frozen=True):
    """A resource of a stack, by its logical ID, and its ID at AWS."""

    stack: str
    name: str
    kind: str
    id: str
    is_retained: bool


class OldStack(Struct, frozen=True):
    name: str
    resources: tuple[OldResource, ...]
    parameters: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    # Whether its template is JSON, and its size in bytes.
    is_json: bool = False
    size: int = 0
    # The logical IDs of the template before its transform: of SAM, fewer.
    sources: tuple[str, ...] = ()
    # The stack that deploys this one as a nested stack.
    parent: str = ""


def read_stack(work: Cloud1Work, name: str) -> OldStack | None:
    """Read a stack with its resources. None if it does not exist."""
    from botocore.exceptions import ClientError

    client = work.clients.of("cloudformation")
    try:
        [found] = client.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if read_error_code(error) == "ValidationError" and "does not exist" in str(error):
            return None
        raise
    status, title = str(found["StackStatus"]), str(found["StackName"])
    if status == "DELETE_COMPLETE":
        return None
    if status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS":
        message = f"refusing to adopt: an operation of the stack `{title}` is running ({status})"
        raise FabricError(Problem("adopt/busy", message, "wait until it ends, then try again"))
    template = _read_template(_fetch_body(work, title, "Processed"))
    original = _fetch_body(work, title, "Original")
    pages = client.get_paginator("list_stack_resources").paginate(StackName=title)
    rows = [one for page in pages for one in page["StackResourceSummaries"]]
    return OldStack(
        title,
        tuple(_read_resources(title, rows, template.get("Resources", {}))),
        tuple(one["ParameterKey"] for one in found.get("Parameters", ())),
        tuple(found.get("Capabilities", ())),
        is_json=not isinstance(original, str),
        size=len(original if isinstance(original, str) else json.dumps(original)),
        sources=tuple(_read_template(original).get("Resources", {})),
        parent=str(found.get("ParentId", "")).rpartition("stack/")[2].partition("/")[0],
    )


def _read_resources(
    stack: str, rows: Sequence[_Fields], defined: Mapping[str, _Fields]
) -> Iterator[OldResource]:
    for one in rows:
        if one["ResourceStatus"] != "DELETE_COMPLETE" and one.get("PhysicalResourceId"):
            name = one["LogicalResourceId"]
            policy = defined.get(name, {}).get("DeletionPolicy", "Delete")
            yield OldResource(
                *(stack, name, one["ResourceType"], one["PhysicalResourceId"]),
                policy in _RETAINED,
            )


def _read_template(body: Any) -> _Fields:
    if isinstance(body, str):
        body = convert_to_plain(read("template", body.encode(), keeps_tags=True).root)
    return dict(body)


def _fetch_body(work: Cloud1Work, name: str, phase: str) -> Any:
    """Fetch a template. botocore decodes JSON, but not YAML."""
    client = work.clients.of("cloudformation")
    return client.get_template(StackName=name, TemplateStage=phase)["TemplateBody"]


def list_protection_steps(
    stack: OldStack, unprotected: Sequence[OldResource], stage: str
) -> Iterator[str]:
    """List the steps that keep resources when their stack is deleted."""
    names = list(dict.fromkeys(_find_source(stack, one.name) for one in unprotected))
    if any(one.name == _BUCKET_OF_SERVERLESS for one in stack.resources):
        yield "Add this to serverless.yml:"
        yield "resources:"
        yield "  extensions:"
        for name in names:
            yield f"    {name}:"
            yield from (f"      {line}" for line in _POLICIES)
        yield f"Then run: serverless deploy --stage {stage}"
        return
    if stack.parent:
        yield f"Add these attributes in the template of the nested stack to: {', '.join(names)}"
        yield from (f"  {line}" for line in _POLICIES)
        yield f"Then deploy the stack {stack.parent}, which contains it"
        return
    yield from _list_update_steps(stack, names)


def _find_source(stack: OldStack, name: str) -> str:
    """Find the resource of the template that a transform made a resource from. SAM appends to its
    logical ID, and copies its policies."""
    starts = [one for one in stack.sources if name.startswith(one)]
    return max(starts, key=len, default=name)


def _list_update_steps(stack: OldStack, names: Sequence[str]) -> Iterator[str]:
    called = f"--stack-name {stack.name}"
    file, output = ("template.json", "json") if stack.is_json else ("template.yml", "text")
    yield (
        f"aws cloudformation get-template {called} --template-stage Original"
        f" --query TemplateBody --output {output} > {file}"
    )
    yield f"Add these attributes in {file} to: {', '.join(names)}"
    yield from (f"  {line}" for line in _POLICIES)
    if stack.size > _MAX_BYTES_IN_CALL:
        more = [f"--capabilities {' '.join(stack.capabilities)}"] if stack.capabilities else []
        deploy = ["aws cloudformation deploy", called, f"--template-file {file}"]
        yield " ".join([*deploy, "--s3-bucket BUCKET", *more])
        return
    given = " ".join(f"ParameterKey={one},UsePreviousValue=true" for one in stack.parameters)
    more = [f"--capabilities {' '.join(stack.capabilities)}"] if stack.capabilities else []
    more += [f"--parameters {given}"] if given else []
    yield " ".join(
        ["aws cloudformation update-stack", called, f"--template-body file://{file}", *more]
    )
    yield f"aws cloudformation wait stack-update-complete {called}"


_POLICIES = ("DeletionPolicy: Retain", "UpdateReplacePolicy: Retain", _NOTE)
