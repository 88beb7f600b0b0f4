"""The input of a deploy command: variables, and documents as canonical JSON texts. No effects."""

import json
from collections.abc import Callable, Mapping, Sequence

from fabric.model.catalog import find_provider_facts
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.triggers import format_resource_name

ARTIFACTS = "FABRIC_ARTIFACTS_JSON"
_QUEUES = "FABRIC_CLOUD1_QUEUE_EVENT_SOURCES_JSON"
_STORAGE = "FABRIC_CLOUD1_STORAGE_EVENTS_JSON"
_STATEMENTS = "FABRIC_CLOUD1_IAM_ROLE_STATEMENTS_JSON"
_ENV = "FABRIC_FUNCTION_ENV_JSON"
_RULES = "FABRIC_CLOUD1_EVENTBUS_RULES_JSON"
_RESOURCES = "FABRIC_CLOUD1_RESOURCE_ADDRESSES_JSON"
_WORKFLOWS = "FABRIC_CLOUD1_WORKFLOW_ADDRESSES_JSON"
_SECRETS = "FABRIC_CLOUD1_SECRET_REFERENCES_JSON"
PAYLOADS = (_QUEUES, _STORAGE, _STATEMENTS, _ENV, _RULES, _RESOURCES, _WORKFLOWS, _SECRETS)
DOCUMENTS = (ARTIFACTS, *PAYLOADS)
WORDS = (
    "FABRIC_SERVICE",
    "FABRIC_STAGE",
    "FABRIC_PROVIDER",
    "FABRIC_FUNCTION",
    "FABRIC_ARTIFACT",
    "FABRIC_ARTIFACT_SHA256",
)


def deploy_words(address: DeploymentAddress, orders: Sequence[FunctionOrder]) -> dict[str, str]:
    """Build the short variables. Those of a function are set only if there is exactly one
    function."""
    words = _build_site_words(address)
    if len(orders) == 1:
        artifact = orders[0].artifact
        words["FABRIC_FUNCTION"] = orders[0].name
        words["FABRIC_ARTIFACT"] = str(artifact.path.absolute())
        words["FABRIC_ARTIFACT_SHA256"] = artifact.sha256
    return words


def destroy_words(address: DeploymentAddress, functions: Sequence[LiveFunction]) -> dict[str, str]:
    one = {"FABRIC_FUNCTION": functions[0].name} if len(functions) == 1 else {}
    return {**_build_site_words(address), **one}


def _build_site_words(address: DeploymentAddress) -> dict[str, str]:
    return {
        "FABRIC_SERVICE": address.service,
        "FABRIC_STAGE": address.stage,
        "FABRIC_PROVIDER": address.label,
    }


def deploy_documents(address: DeploymentAddress, orders: Sequence[FunctionOrder]) -> dict[str, str]:
    return {
        ARTIFACTS: format_json([_build_artifact_row(order) for order in orders]),
        **build_payloads(address, orders),
    }


def destroy_documents(
    address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> dict[str, str]:
    """Build the documents of a delete command. There is no archive, so functions are listed by
    name."""
    rows = [
        {"function": one.name, "sha256": one.artifact_sha256, "resourceId": one.resource_id}
        for one in functions
    ]
    return {ARTIFACTS: format_json(rows), **build_payloads(address, ())}


def build_payloads(address: DeploymentAddress, orders: Sequence[FunctionOrder]) -> dict[str, str]:
    """Build the environment of functions and the provider-specific documents, including empty
    ones."""
    environment = {_ENV: format_json({order.name: dict(order.env.reveal()) for order in orders})}
    facts = find_provider_facts(address.provider_id)
    if facts is None or not facts.traits.tells_documents:
        return environment
    documents = {
        _QUEUES: _build_trigger_rows(orders, "queue", _queue),
        _STORAGE: _build_trigger_rows(orders, "storage", _build_storage_row),
        _STATEMENTS: read_role_statements(address.extension),
        _RULES: _build_trigger_rows(orders, "eventbus", _build_rule_row),
        _RESOURCES: {
            one.name: {"type": one.type, "envVar": one.env_var, "address": one.address.reveal()}
            for one in address.supplies.resources
        },
        _WORKFLOWS: {
            name: {"steps": json.loads(steps), "address": format_resource_name(address, name)}
            for name, steps in address.supplies.workflows
        },
        _SECRETS: dict(address.supplies.secret_refs),
    }
    return {**environment, **{name: format_json(document) for name, document in documents.items()}}


def read_role_statements(extension: str) -> list[object]:
    """Return `iam.role.statements` as configured."""
    found: object = json.loads(extension)
    for key in ("iam", "role", "statements"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, list) else []


def format_json(document: object) -> str:
    """Format a document as canonical JSON, ASCII only: the environment can have any locale."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _build_artifact_row(order: FunctionOrder) -> dict[str, object]:
    artifact = order.artifact
    return {
        "function": order.name,
        "path": str(artifact.path.absolute()),
        "sha256": artifact.sha256,
        "sizeBytes": artifact.size,
        "entry": artifact.handler,
        "runtime": artifact.runtime,
        "changed": artifact.changed,
    }


def _build_trigger_rows(
    orders: Sequence[FunctionOrder],
    kind: str,
    row: Callable[[Mapping[str, object]], dict[str, object]],
) -> list[dict[str, object]]:
    return [
        {"function": order.name, **row(trigger)}
        for order in orders
        for trigger in (json.loads(text) for text in order.triggers)
        if trigger.get("type") == kind
    ]


def _queue(trigger: Mapping[str, object]) -> dict[str, object]:
    response = trigger.get("functionResponseType", "")
    return {
        "queue": trigger.get("queue", ""),
        "batchSize": trigger.get("batchSize", 10),
        "maximumBatchingWindowSeconds": trigger.get("maximumBatchingWindowSeconds", 0),
        "functionResponseTypes": [response] if response else [],
        "enabled": trigger.get("enabled", True),
    }


def _build_storage_row(trigger: Mapping[str, object]) -> dict[str, object]:
    return {
        "bucket": trigger.get("bucket", ""),
        "events": trigger.get("events", []),
        "prefix": trigger.get("prefix", ""),
        "suffix": trigger.get("suffix", ""),
        "existingBucket": trigger.get("existingBucket", False),
    }


def _build_rule_row(trigger: Mapping[str, object]) -> dict[str, object]:
    return {"bus": trigger.get("bus", "default"), "pattern": trigger.get("pattern", {})}
