"""From `permissions` in `fabric.yml` to IAM: statements, managed policies and their differences."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.late_values import find_late_names
from fabric.model.policy_templates import POLICY_TEMPLATES, expand_template
from fabric.model.text.spelling import find_nearest
from fabric.providers.cloud1.core.permissions import Arn
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
        both = dict.fromkeys((*other.statements, *new))
        return RolePolicies(
            tuple(_drop_repeated_names(both)),
            tuple(dict.fromkeys((*other.managed, *self.managed))),
        )

    @property
    def digest(self) -> str:
        return hash_fields((self.document, *sorted(self.managed)))[:16]


def _drop_repeated_names(statements: Iterable[str]) -> Iterator[str]:
    """Drop the `Sid` of statements that repeat one, because IAM requires unique ones."""
    seen: set[str] = set()
    for text in statements:
        said = json.loads(text)
        name = said.get("Sid", "")
        rest = {key: value for key, value in said.items() if key != "Sid"}
        yield format_json(rest) if name in seen else text
        seen |= {name} - {""}


def build_policies(
    settings: Mapping[str, str], triggers: Sequence[str], place: Arn
) -> RolePolicies:
    """Build the policies of a function. Logs are always allowed; a VPC, tracing, event sources and
    destinations need more. `triggers` are JSON texts."""
    entries = json.loads(settings["permissions"])
    rows = [json.loads(text) for text in triggers]
    statements = [one for entry in entries for one in build_statements(entry, place)]
    statements += _build_destination_statements(settings, rows)
    statements += (one for row in rows for one in _build_broker_statements(row))
    managed = (build_managed_arn(one, place) for one in entries if isinstance(one, str))
    needed = (build_managed_arn(one, place) for one in _list_needed(settings, rows))
    return RolePolicies(
        tuple(dict.fromkeys(format_json(one) for one in statements)),
        tuple(dict.fromkeys((*needed, *managed))),
    )


# The action that sends an event to a destination, by its service.
_SENDS = {
    "sqs": "sqs:SendMessage",
    "sns": "sns:Publish",
    "lambda": "lambda:InvokeFunction",
    "events": "events:PutEvents",
}


def _build_destination_statements(
    settings: Mapping[str, str], triggers: Sequence[Mapping[str, Any]]
) -> list[dict[str, object]]:
    """Build the statements for destinations of events that failed or succeeded."""
    said = json.loads(settings.get("async", "{}"))
    streams = [one.get("onFailure") for one in triggers if one.get("type") == "logstream"]
    asked = (settings.get("deadLetter"), said.get("onSuccess"), said.get("onFailure"), *streams)
    arns = dict.fromkeys(str(one) for one in asked if one)
    services = {arn: arn.split(":")[2] for arn in arns if arn.startswith("arn:")}
    return [
        {"Effect": "Allow", "Action": [_SENDS[service]], "Resource": [arn]}
        for arn, service in services.items()
        if service in _SENDS
    ]


# For the network interfaces through which Lambda reaches brokers.
_NETWORK = (
    *("ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces"),
    *("ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs"),
)
_KAFKA_READS = (
    *("kafka-cluster:Connect", "kafka-cluster:DescribeGroup", "kafka-cluster:AlterGroup"),
    *("kafka-cluster:DescribeTopic", "kafka-cluster:ReadData"),
    "kafka-cluster:DescribeClusterDynamicConfiguration",
)


def _build_broker_statements(trigger: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Build the statements for a broker of Kafka or Amazon MQ: its logins, its network, and the
    topic of a cluster without a login, which then checks the role."""
    access = trigger.get("access", ())
    logins = [one["secret"] for one in (trigger, *access) if "secret" in one]
    broker, cluster = trigger.get("broker"), trigger.get("cluster")
    if logins:
        yield _allow(("secretsmanager:GetSecretValue",), *dict.fromkeys(logins))
    if broker:
        yield _allow(("mq:DescribeBroker",), broker)
    if broker or any("subnet" in one for one in access):
        yield _allow(_NETWORK, "*")
    if cluster and not logins:
        topic = cluster.replace(":cluster/", ":topic/") + f"/{trigger['topic']}"
        group = cluster.replace(":cluster/", ":group/") + f"/{trigger.get('groupId', '*')}"
        yield _allow(_KAFKA_READS, cluster, topic, group)


def _allow(actions: Iterable[str], *resources: str) -> dict[str, object]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": list(resources)}


def list_statement_faults(text: str) -> Iterator[str]:
    """List what IAM would reject of the statements, or fabric would drop, without a call."""
    names: set[str] = set()
    for number, entry in enumerate(json.loads(text)):
        place = f"`permissions[{number}]`"
        if isinstance(entry, str):
            if entry in POLICY_TEMPLATES:
                yield f"{place} is a policy template and needs its parameters"
            elif near := find_nearest(entry, POLICY_TEMPLATES):
                yield f"{place} is the unknown policy `{entry}`: did you mean `{near}`?"
            continue
        yield from (f"{place} {why}" for why in _find_entry_faults(entry))
        name = str(_build_statement(entry).get("Sid", ""))
        if name in names:
            yield f"{place} repeats the `sid` {name}"
        names |= {name} - {""}


def _find_entry_faults(entry: Mapping[str, Any]) -> Iterator[str]:
    templates = entry.keys() & POLICY_TEMPLATES.keys()
    if templates:
        if len(entry) > 1:
            yield "mixes a policy template with other keys"
        return
    said = _build_statement(entry)
    if len(said.keys() - {"Effect"}) < len(entry.keys() - {"effect", "Effect"}):
        yield "has a key in two spellings"
    if not _SID.fullmatch(str(said.get("Sid", ""))):
        yield "has a `sid` with other characters than letters and digits"
    for needed in (("Action", "NotAction"), ("Resource", "NotResource")):
        if sum(bool(said.get(one)) for one in needed) != 1:
            plain = [_PLAIN[one] for one in needed]
            yield f"requires exactly one of `{plain[0]}` and `{plain[1]}`"
    yield from _find_form_faults(said)


def _find_form_faults(statement: Mapping[str, object]) -> Iterator[str]:
    """Find actions and resources with a form that IAM rejects."""
    for keys, form, noun in _FORMS:
        for text in (one for key in keys for one in _list_texts(statement.get(key))):
            if not form.fullmatch(text) and not find_late_names(text) and "${" not in text:
                yield f"has `{text}`, which is not {noun}"


def _list_texts(value: object) -> Iterator[str]:
    yield from map(str, value if isinstance(value, list) else [value] if value else [])


_FORMS = (
    (
        ("Action", "NotAction"),
        re.compile(r"\*|[A-Za-z0-9-]+:\S+"),
        "an action with a service, such as `s3:GetObject`",
    ),
    (("Resource", "NotResource"), re.compile(r"\*|arn:\S+", re.DOTALL), "an ARN or `*`"),
)
_SID = re.compile(r"[A-Za-z0-9]*")
_PLAIN = {field: key for key, field in _KEYS.items()}


def build_statements(entry: Any, place: Arn) -> Iterator[dict[str, object]]:
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


def _list_needed(
    settings: Mapping[str, str], triggers: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    kinds = {str(one.get("type", "")) for one in triggers}
    yield _BASIC
    if "vpc" in settings:
        yield "service-role/AWSLambdaVPCAccessExecutionRole"
    if settings.get("tracing") == "active":
        yield "AWSXRayDaemonWriteAccess"
    if "durable" in settings:
        yield "service-role/AWSLambdaBasicDurableExecutionRolePolicy"
    if "queue" in kinds:
        yield "service-role/AWSLambdaSQSQueueExecutionRole"
    if any(one.get("cluster") for one in triggers):
        yield "service-role/AWSLambdaMSKExecutionRole"
    if any(one.get("type") == "logstream" and one.get("stream") for one in triggers):
        yield "service-role/AWSLambdaKinesisExecutionRole"
        yield "service-role/AWSLambdaDynamoDBExecutionRole"


def build_managed_arn(name: str, place: Arn) -> str:
    """Build the ARN of a managed policy. Names without a path are below the root."""
    return name if name.startswith("arn:") else f"arn:{place.partition}:iam::aws:policy/{name}"


def _format_document(statements: Iterable[str]) -> str:
    rows = [json.loads(one) for one in statements]
    return format_json({"Version": "2012-10-17", "Statement": rows}) if rows else ""
