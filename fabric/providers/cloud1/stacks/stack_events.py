"""The events of a stack: progress lines, and the first failure with its reason."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from fabric.providers.cloud1.core.versions import Cloud1Work
from fabric.providers.core.errors import Quoted
from fabric.system.cloud1_account import read_error_code

_Fields = Mapping[str, Any]
_STACK = "AWS::CloudFormation::Stack"
# Reasons of resources that only another failure stopped.
_FOLLOWING = ("cancelled", "The following resource(s) failed")
_ENDS = ("_COMPLETE", "_FAILED")


@dataclass
class StackProgress:
    """The events of one operation, oldest first. Events before its begin are not part of it."""

    work: Cloud1Work
    stack: str
    known: set[str]
    seen: list[_Fields] = field(default_factory=list)

    @classmethod
    def begin(cls, work: Cloud1Work, stack: str) -> Self:
        """Remember the newest event, so that only later ones count."""
        newest = next(_list_events(work, stack), None)
        return cls(work, stack, {str(newest["EventId"])} if newest else set())

    def print_new(self) -> None:
        fresh: list[_Fields] = []
        for one in _list_events(self.work, self.stack):
            if str(one["EventId"]) in self.known:
                break
            fresh.append(one)
        for one in reversed(fresh):
            self.known.add(str(one["EventId"]))
            self.seen.append(one)
            if one["ResourceStatus"].endswith(_ENDS) and one["ResourceType"] != _STACK:
                self.work.scope.watch.hear(_format_event(one))


def _format_event(one: _Fields) -> str:
    what = f"{one['LogicalResourceId']} ({one['ResourceType']})"
    return f"{one['StackName']}: {what} {one['ResourceStatus']}"


def _list_events(work: Cloud1Work, stack: str) -> Iterator[_Fields]:
    """List the events, newest first; none if the stack does not exist."""
    from botocore.exceptions import ClientError

    pages = work.clients.of("cloudformation").get_paginator("describe_stack_events")
    try:
        for page in pages.paginate(StackName=stack):
            yield from page["StackEvents"]
    except ClientError as error:
        if read_error_code(error) != "ValidationError":
            raise


def describe_failure(events: Iterable[_Fields], quoted: Quoted) -> str:
    """Describe the first failed resource. The others often only follow from it."""
    failed = [one for one in events if one["ResourceStatus"].endswith("_FAILED")]
    own = [
        one
        for one in failed
        if not any(words in one.get("ResourceStatusReason", "") for words in _FOLLOWING)
    ]
    first = next(iter(own or failed), None)
    if first is None:
        return "AWS returned no reason"
    reason = quoted(str(first.get("ResourceStatusReason", "no reason was returned")))
    return f"`{first['LogicalResourceId']}` ({first['ResourceType']}): {reason}"
