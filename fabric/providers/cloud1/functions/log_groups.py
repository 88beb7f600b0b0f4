"""Log groups of functions, APIs and workflows: retention, class and encryption.

fabric creates a group that needs settings, because Lambda would create it without them. A removal
keeps groups, with their logs.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.client import GONE, ignore_codes
from fabric.providers.cloud1.core.versions import Cloud1Work
from fabric.providers.cloud1.functions.scaling import read_setting
from fabric.providers.core.contract import LiveFunction
from fabric.system.cloud1_account import read_error_code

_CLASSES = {"standard": "STANDARD", "infrequentAccess": "INFREQUENT_ACCESS"}


def read_retention(one: LiveFunction) -> str:
    return _read(one, "retentionDays")


def read_log_class(one: LiveFunction) -> str:
    return _read(one, "class")


def read_log_key(one: LiveFunction) -> str:
    return _read(one, "kmsKey")


def _read(one: LiveFunction, key: str) -> str:
    """Return a setting with the name of its log group; empty if it is not set."""
    logs = read_setting(one, "logs")
    group = logs.get("group") or f"/aws/lambda/{one.resource_name}"
    return f"{logs[key]} {group}" if key in logs else ""


def set_retention(work: Cloud1Work, one: LiveFunction, text: str) -> str:
    days, _, group = text.partition(" ")
    _create_group(work, one, group)
    set_log_days(work, group, int(days))
    return group


def remove_retention(work: Cloud1Work, _one: LiveFunction, stored: str) -> None:
    set_log_days(work, stored.partition(" ")[2], 0)


def set_log_days(work: Cloud1Work, group: str, days: int) -> None:
    """Set how long an existing group keeps logs; 0 is for ever."""
    logs = work.clients.of("logs")
    if group and days:
        logs.put_retention_policy(logGroupName=group, retentionInDays=days)
    elif group:
        logs.delete_retention_policy(logGroupName=group)


def prepare_log_group(work: Cloud1Work, group: str, days: int, stored: str) -> str:
    """Create the group, if any, set its retention, and return the text to store. `stored` is that
    of the last release: fabric removes no retention of others."""
    if group:
        create_log_group(work, group)
    if group and days:
        set_log_days(work, group, days)
        return f"{days} {group}"
    with ignore_codes(GONE):
        set_log_days(work, stored.partition(" ")[2], 0)
    return ""


def set_log_class(work: Cloud1Work, one: LiveFunction, text: str) -> str:
    """Create the group with its class. Raises if it has another one."""
    name, _, group = text.partition(" ")
    if not _create_group(work, one, group):
        there = next(_find_group(work, group), {}).get("logGroupClass", "STANDARD")
        if there != _CLASSES[name]:
            message = (
                f"function `{one.name}`: the log group `{group}` has the class {there}, which AWS "
                "cannot change"
            )
            hint = "delete the log group with its logs, or remove `class` below `logs`"
            raise FabricError(Problem("provider/refused", message, hint))
    return group


def set_log_key(work: Cloud1Work, one: LiveFunction, text: str) -> str:
    key, _, group = text.partition(" ")
    _create_group(work, one, group)
    work.clients.of("logs").associate_kms_key(logGroupName=group, kmsKeyId=key)
    return group


def remove_log_key(work: Cloud1Work, _one: LiveFunction, stored: str) -> None:
    group = stored.partition(" ")[2]
    if group:
        work.clients.of("logs").disassociate_kms_key(logGroupName=group)


def _create_group(work: Cloud1Work, one: LiveFunction, group: str) -> bool:
    """Create the group, and return whether it did not exist."""
    name = read_setting(one, "logs").get("class")
    return create_log_group(work, group, **({"logGroupClass": _CLASSES[name]} if name else {}))


def create_log_group(work: Cloud1Work, group: str, **more: str) -> bool:
    """Create the group, and return whether it did not exist."""
    from botocore.exceptions import ClientError

    try:
        work.clients.of("logs").create_log_group(logGroupName=group, **more)
    except ClientError as error:
        if read_error_code(error) != "ResourceAlreadyExistsException":
            raise
        return False
    return True


def _find_group(work: Cloud1Work, group: str) -> Iterator[Mapping[str, Any]]:
    pages = work.clients.of("logs").get_paginator("describe_log_groups")
    for page in pages.paginate(logGroupNamePrefix=group):
        yield from (one for one in page["logGroups"] if one["logGroupName"] == group)
