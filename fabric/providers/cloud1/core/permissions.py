"""Permissions to invoke a function's alias: one policy statement per event source."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from fabric.model.hashing import hash_fields
from fabric.providers.cloud1.core.client import GONE, ignore_codes, is_there_already
from fabric.providers.cloud1.core.versions import Cloud1Work, retry_on_conflict
from fabric.system.cloud1_account import read_error_code

_DIGEST = 16
_OURS = "fabric-"


class Arn(NamedTuple):
    """The ARN parts that all resources of a function share."""

    partition: str
    region: str
    account: str

    def of(self, service: str, rest: str) -> str:
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{rest}"


class Permission(NamedTuple):
    """One permission. `account` restricts a source whose ARN contains no account."""

    name: str
    principal: str
    source: str
    account: str = ""


def parse_arn_home(alias: str) -> Arn:
    _, partition, _, region, account, *_ = alias.split(":")
    return Arn(partition, region, account)


def build_gateway_permission(alias: str, api: str) -> Permission:
    source = parse_arn_home(alias).of("execute-api", f"{api}/*")
    return Permission(f"{_OURS}http-{api}", "apigateway.amazonaws.com", source)


def build_authorizer_permission(alias: str, api: str) -> Permission:
    source = parse_arn_home(alias).of("execute-api", f"{api}/authorizers/*")
    return Permission(f"{_OURS}authorizer-{api}", "apigateway.amazonaws.com", source)


def build_rule_permission(alias: str, bus: str, name: str) -> Permission:
    source = parse_arn_home(alias).of("events", format_rule_path(bus, name))
    return Permission(_name_statement("rule", source), "events.amazonaws.com", source)


def build_bucket_permission(alias: str, bucket: str) -> Permission:
    home = parse_arn_home(alias)
    source = f"arn:{home.partition}:s3:::{bucket}"
    return Permission(_name_statement("bucket", source), "s3.amazonaws.com", source, home.account)


def build_topic_permission(topic: str) -> Permission:
    return Permission(_name_statement("topic", topic), "sns.amazonaws.com", topic)


def format_rule_path(bus: str, name: str) -> str:
    return f"rule/{name}" if bus == "default" else f"rule/{bus}/{name}"


def _name_statement(kind: str, source: str) -> str:
    return f"{_OURS}{kind}-{hash_fields((source,))[:_DIGEST]}"


def let_in(work: Cloud1Work, alias: str, permission: Permission) -> None:
    from botocore.exceptions import ClientError

    more = {"SourceAccount": permission.account} if permission.account else {}
    asked = {
        "FunctionName": alias,
        "StatementId": permission.name,
        "Action": "lambda:InvokeFunction",
        "Principal": permission.principal,
        "SourceArn": permission.source,
        **more,
    }
    try:
        retry_on_conflict(work, lambda: _add_statement(work, asked))
    except ClientError as error:
        if not is_there_already(error):
            raise


def _add_statement(work: Cloud1Work, asked: Mapping[str, str]) -> Mapping[str, Any]:
    made: Mapping[str, Any] = work.functions.add_permission(**asked)
    return made


def shut_out(work: Cloud1Work, alias: str, permission: Permission) -> None:
    with ignore_codes(GONE):
        work.functions.remove_permission(FunctionName=alias, StatementId=permission.name)


def list_permitted_sources(work: Cloud1Work, alias: str) -> frozenset[str]:
    """Return the sources that fabric has permitted. One call, with a high rate limit."""
    from botocore.exceptions import ClientError

    try:
        policy = json.loads(work.functions.get_policy(FunctionName=alias)["Policy"])
    except ClientError as error:
        if read_error_code(error) in GONE:
            return frozenset()
        raise
    rows = (row for row in policy["Statement"] if row.get("Sid", "").startswith(_OURS))
    return frozenset(_read_source(row) for row in rows) - {""}


def list_permitted_arns(work: Cloud1Work, name: str) -> frozenset[str]:
    """Return all sources that a function or an alias permits, also those of other tools."""
    policy: Mapping[str, Any] = {"Statement": ()}
    with ignore_codes(GONE):
        policy = json.loads(work.functions.get_policy(FunctionName=name)["Policy"])
    conditions = (row.get("Condition") or {} for row in policy["Statement"])
    pairs = (pair for one in conditions for each in one.values() for pair in each.items())
    return frozenset(str(arn) for key, arn in pairs if key.lower() == "aws:sourcearn")


def _read_source(row: dict[str, Any]) -> str:
    """Return the source ARN, with the key in any letter case."""
    conditions = (row.get("Condition") or {}).get("ArnLike") or {}
    return next((str(one) for key, one in conditions.items() if key.lower() == "aws:sourcearn"), "")
