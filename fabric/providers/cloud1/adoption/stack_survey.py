"""The stacks that own surveyed functions: what they would delete, and what stays in them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.adoption.event_survey import CREATE, KEEP
from fabric.providers.cloud1.adoption.old_stacks import (
    OldResource,
    OldStack,
    list_protection_steps,
    read_stack,
)
from fabric.providers.cloud1.core.versions import Cloud1Work
from fabric.providers.core.contract import AdoptableFunction, AdoptionPart, FunctionDraft

_STACK_TAG = "aws:cloudformation:stack-id"
_FUNCTION = "AWS::Lambda::Function"
# The other resources of a stack that call functions, as users know them.
_CALLERS = {
    "AWS::ApiGatewayV2::Api": "HTTP API",
    "AWS::ApiGateway::RestApi": "REST API",
    "AWS::Lambda::Url": "function URL",
    "AWS::Scheduler::Schedule": "schedule",
    "AWS::SNS::Subscription": "subscription",
}
# Resources with data or with other users, which must outlive the stack.
_SHARED = {
    "AWS::Cognito::UserPool": "user pool",
    "AWS::DynamoDB::GlobalTable": "table",
    "AWS::DynamoDB::Table": "table",
    "AWS::EFS::FileSystem": "file system",
    "AWS::Events::EventBus": "event bus",
    "AWS::KMS::Key": "key",
    "AWS::Kinesis::Stream": "stream",
    "AWS::RDS::DBCluster": "database",
    "AWS::RDS::DBInstance": "database",
    "AWS::S3::Bucket": "bucket",
    "AWS::SNS::Topic": "topic",
    "AWS::SQS::Queue": "queue",
    "AWS::SSM::Parameter": "parameter",
    "AWS::SecretsManager::Secret": "secret",
    "AWS::StepFunctions::StateMachine": "state machine",
}
_BUCKET_OF_SERVERLESS = "ServerlessDeploymentBucket"


class FoundFunction(Struct, frozen=True):
    """One function of the config, as it is at AWS."""

    draft: FunctionDraft
    described: Mapping[str, Any] | None
    adoptable: AdoptableFunction | None = None
    parts: tuple[AdoptionPart, ...] = ()


def read_stacks(work: Cloud1Work, found: Iterable[FoundFunction], stack: str) -> list[OldStack]:
    tags = (one.described.get("Tags") or {} for one in found if one.described)
    idents = {str(one[_STACK_TAG]) for one in tags if _STACK_TAG in one}
    stacks = [one for one in (read_stack(work, ident) for ident in sorted(idents)) if one]
    if stack and all(one.name != stack for one in stacks):
        named = read_stack(work, stack)
        if named is None:
            message = f"the stack `{stack}` does not exist"
            hint = "check its name, and the region and account of your credentials"
            raise FabricError(Problem("adopt/unknown-stack", message, hint))
        stacks.append(named)
    return stacks


def find_unprotected(
    stacks: Iterable[OldStack], found: Sequence[FoundFunction]
) -> list[OldResource]:
    """Find the resources of adopted functions that their stacks would delete."""
    needed = _list_needed_ids(found)
    return [
        resource
        for one in stacks
        for resource in one.resources
        if not resource.is_retained and _is_needed(resource, needed)
    ]


def _list_needed_ids(found: Iterable[FoundFunction]) -> frozenset[str]:
    """List the IDs of resources that adopted functions consist of or use."""
    needed: set[str] = set()
    for one in found:
        if one.adoptable is None or one.described is None:
            continue
        live = one.adoptable.live
        configuration = one.described["Configuration"]
        logs = configuration.get("LoggingConfig", {}).get("LogGroup")
        needed |= {
            live.resource_name,
            live.resource_id,
            f"{live.resource_id}:live",
            logs or f"/aws/lambda/{live.resource_name}",
            str(configuration["Role"]).rpartition("/")[2],
            *(link.id for link in one.adoptable.links),
            *(f"{link.place}|{link.id}" for link in one.adoptable.links),
            *(row["Arn"] for row in configuration.get("Layers") or ()),
        }
    return frozenset(needed)


def _is_needed(one: OldResource, needed: frozenset[str]) -> bool:
    if one.kind == "AWS::Lambda::Version":
        return one.id.rpartition(":")[0] in needed
    return one.kind in _NEEDED_KINDS and one.id in needed


_NEEDED_KINDS = frozenset(
    (
        *("AWS::Lambda::Function", "AWS::Lambda::Alias", "AWS::Lambda::EventSourceMapping"),
        *("AWS::Lambda::LayerVersion", "AWS::Events::Rule", "AWS::Logs::LogGroup"),
        "AWS::IAM::Role",
    )
)


def list_steps(
    stacks: Iterable[OldStack], unprotected: Sequence[OldResource], stage: str
) -> Iterator[str]:
    for one in stacks:
        rows = [resource for resource in unprotected if resource.stack == one.name]
        if rows:
            yield from list_protection_steps(one, rows, stage)


def list_other_parts(
    stacks: Iterable[OldStack], found: Sequence[FoundFunction]
) -> Iterator[AdoptionPart]:
    """List what stays in the stacks, except for resources that a function names."""
    named = {part.name for one in found for part in one.parts}
    taken = {one.adoptable.live.resource_name for one in found if one.adoptable}
    for one in stacks:
        for resource in one.resources:
            if resource.id not in named | taken:
                yield from _describe_other(resource)
    triggers = (json.loads(text) for one in found for text in one.draft.triggers)
    if any(one["type"] == "http" for one in triggers):
        yield AdoptionPart(CREATE, "API", "HTTP triggers", reason="a new API with a new address")


def _describe_other(one: OldResource) -> Iterator[AdoptionPart]:
    stays = f"stays in stack `{one.stack}`"
    end = "" if one.is_retained else ", and is deleted with it"
    if kind := _CALLERS.get(one.kind):
        yield AdoptionPart(KEEP, kind, one.id, reason=stays)
    elif one.kind == _FUNCTION:
        yield AdoptionPart(KEEP, "function", one.id, reason=f"is not in the config; {stays}{end}")
    elif (shared := _SHARED.get(one.kind)) and one.name != _BUCKET_OF_SERVERLESS:
        yield AdoptionPart(KEEP, shared, one.id, reason=f"{stays}{end}")
