"""From `permissions` in `fabric.yml` to IAM: statements, managed policies and their differences."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.policy_templates import POLICY_TEMPLATES, expand_template
from fabric.providers.cloud1.permissions import Arn
from fabric.providers.core.payloads import format_json

# AWS counts the characters of all inline policies of a role, without white space.
LONGEST_POLICY = 10_240
_BASIC = "service-role/AWSLambdaBasicExecutionRole"
_KEYS = {
    "sid": "Sid",
    "effect": "Effect",
    "actions": "Action",
    "notActions": "NotAction",
    "resources": "Resource",
    "notResources": "NotResource",
    "condition": "Condition",
}


class RolePolicies(Struct, frozen=True):
    """The permissions of a role: JSON texts of statements, and ARNs of managed policies."""

    statements: tuple[str, ...]
    managed: tuple[str, ...]

    @property
    def document(self) -> str:
        return _format_document(self.statements)

    def join(self, other: "RolePolicies") -> "RolePolicies":
        """Return what either allows. New statements that deny wait for the release."""
        new = (one for one in self.statements if json.loads(one)["Effect"] == "Allow")
        return RolePolicies(
            tuple(dict.fromkeys((*other.statements, *new))),
            tuple(dict.fromkeys((*other.managed, *self.managed))),
        )

    @property
    def digest(self) -> str:
        return hash_fields((self.document, *sorted(self.managed)))[:16]


def build_policies(
    settings: Mapping[str, str], trigger_kinds: Iterable[str], place: Arn
) -> RolePolicies:
    """Build the policies of a function. Logs are always allowed; a VPC, tracing and queues need
    more."""
    entries = json.loads(settings["permissions"])
    statements = (one for entry in entries for one in _build_statements(entry, place))
    managed = (_build_managed_arn(one, place) for one in entries if isinstance(one, str))
    needed = (_build_managed_arn(one, place) for one in _list_needed(settings, trigger_kinds))
    return RolePolicies(
        tuple(dict.fromkeys(format_json(one) for one in statements)),
        tuple(dict.fromkeys((*needed, *managed))),
    )


def list_statement_faults(text: str) -> Iterator[str]:
    """List what IAM would reject of the statements, without a call."""
    for number, entry in enumerate(json.loads(text)):
        if isinstance(entry, dict) and not entry.keys() & POLICY_TEMPLATES.keys():
            said = _build_statement(entry)
            for names in (("Action", "NotAction"), ("Resource", "NotResource")):
                if not any(said.get(name) for name in names):
                    yield f"`permissions[{number}]` has no `{_PLAIN[names[0]]}`"


_PLAIN = {field: key for key, field in _KEYS.items()}


def _build_statements(entry: Any, place: Arn) -> Iterator[dict[str, object]]:
    if not isinstance(entry, dict):
        return
    templates = entry.keys() & POLICY_TEMPLATES.keys()
    if not templates:
        yield _build_statement(entry)
    for name in sorted(templates):
        parameters = {key: str(value) for key, value in (entry[name] or {}).items()}
        where = f"{place.region}:{place.account}"
        yield from expand_template(name, parameters, place.partition, where)


def _build_statement(said: Mapping[str, Any]) -> dict[str, object]:
    """Build a statement. Keys of IAM itself, with capitals, are accepted as well."""
    return {"Effect": "Allow", **{_KEYS.get(key, key): value for key, value in said.items()}}


def _list_needed(settings: Mapping[str, str], trigger_kinds: Iterable[str]) -> Iterator[str]:
    yield _BASIC
    if "vpc" in settings:
        yield "service-role/AWSLambdaVPCAccessExecutionRole"
    if settings.get("tracing") == "active":
        yield "AWSXRayDaemonWriteAccess"
    if "queue" in trigger_kinds:
        yield "service-role/AWSLambdaSQSQueueExecutionRole"
    if "logstream" in trigger_kinds:
        yield "service-role/AWSLambdaKinesisExecutionRole"
        yield "service-role/AWSLambdaDynamoDBExecutionRole"


def _build_managed_arn(name: str, place: Arn) -> str:
    """Build the ARN of a managed policy. Names without a path are below the root."""
    return name if name.startswith("arn:") else f"arn:{place.partition}:iam::aws:policy/{name}"


def _format_document(statements: Iterable[str]) -> str:
    rows = [json.loads(one) for one in statements]
    return format_json({"Version": "2012-10-17", "Statement": rows}) if rows else ""
