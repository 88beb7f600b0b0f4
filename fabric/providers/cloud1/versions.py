"""Functions and versions on AWS, and the wait until they are usable."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.answers import GONE, Quoted, is_busy
from fabric.providers.cloud1.clients import Cloud1Clients
from fabric.providers.cloud1.function_settings import (
    ALIAS,
    NEWEST,
    OwnSettings,
    decode_code_hash,
    mark_in,
    strip_arn_version,
)
from fabric.providers.core.contract import CallContext, LiveFunction
from fabric.providers.core.errors import format_generic_hint
from fabric.providers.core.retry import WAITING, RetryPolicy, poll_until
from fabric.system.cloud1_account import read_error_code


class Cloud1Work(Struct, frozen=True):
    """The context of every call: clients, provider settings, watch, redaction and waiting
    limits."""

    clients: Cloud1Clients
    own: OwnSettings
    watch: CallContext
    quoted: Quoted
    waiting: RetryPolicy = WAITING

    @property
    def functions(self) -> Any:
        return self.clients.of("lambda")


def find_by_mark(work: Cloud1Work, name: str, function: str, mark: str) -> LiveFunction | None:
    """Find the newest version with this mark. An interrupted run can leave the function between two
    versions."""
    found = [one for one in list_versions(work, name) if mark_in(one.get("Description")) == mark]
    newest = max(found, key=lambda one: int(one["Version"]), default=None)
    return None if newest is None else _build_live_function(name, function, newest)


def find_active_version(work: Cloud1Work, name: str, function: str) -> LiveFunction | None:
    """Find the version that receives traffic."""
    found = describe_function(work, name, ALIAS)
    return None if found is None else _build_live_function(name, function, found["Configuration"])


def _build_live_function(name: str, function: str, version: Mapping[str, Any]) -> LiveFunction:
    return LiveFunction(
        function,
        name,
        f"{strip_arn_version(version['FunctionArn'])}:{version['Version']}",
        artifact_sha256=decode_code_hash(version.get("CodeSha256")),
        mark=mark_in(version.get("Description")),
    )


def list_versions(work: Cloud1Work, name: str) -> Iterator[dict[str, Any]]:
    """List published versions; none if the function does not exist."""
    from botocore.exceptions import ClientError

    pages = work.functions.get_paginator("list_versions_by_function")
    try:
        for page in pages.paginate(FunctionName=name):
            yield from (one for one in page["Versions"] if one["Version"] != NEWEST)
    except ClientError as error:
        if read_error_code(error) not in GONE:
            raise


def describe_function(work: Cloud1Work, name: str, version: str = "") -> dict[str, Any] | None:
    """Describe a function in one call. Read calls have a far higher rate limit than others."""
    from botocore.exceptions import ClientError

    more = {"Qualifier": version} if version else {}
    try:
        found: dict[str, Any] = work.functions.get_function(FunctionName=name, **more)
    except ClientError as error:
        if read_error_code(error) in GONE:
            return None
        raise
    return found


def wait_until_ready(work: Cloud1Work, name: str) -> None:
    def look() -> bool | None:
        found = describe_function(work, name)
        one = found["Configuration"] if found else {}
        _refuse_failed(name, one)
        states = (one.get("State", "Active"), one.get("LastUpdateStatus", "Successful"))
        return True if found and states == ("Active", "Successful") else None

    if poll_until(look, work.waiting, work.watch) is None:
        message = f"timeout: function `{name}` is not ready after one minute"
        hint = "check the state of the function in the AWS console, then run: fabric deploy"
        raise FabricError(Problem("provider/not-ready", message, hint))


def _refuse_failed(name: str, one: Mapping[str, Any]) -> None:
    for state, reason in (("State", "StateReason"), ("LastUpdateStatus", "LastUpdateStatusReason")):
        if one.get(state) == "Failed":
            why = one.get(reason, "no reason was returned")
            message = f"function `{name}` failed to become ready: {why}"
            raise FabricError(Problem("provider/refused", message, format_generic_hint("AWS")))


def retry_on_conflict(work: Cloud1Work, call: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """Retry a change while another change of the function is in progress."""
    from botocore.exceptions import ClientError

    busy: list[ClientError] = []

    def call_once() -> Mapping[str, Any] | None:
        try:
            return call()
        except ClientError as error:
            if not is_busy(error):
                raise
            busy.append(error)
            return None

    answer = poll_until(call_once, work.waiting, work.watch)
    if answer is None:
        raise busy[-1]
    return answer
