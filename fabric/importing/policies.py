"""Permissions of a source: statements, names of policies, and policy templates of AWS SAM."""

from fabric.config.yaml.nodes import EMPTY
from fabric.importing.context import Context
from fabric.importing.draft import Fields, Value
from fabric.importing.rules import is_function
from fabric.importing.source import At
from fabric.model.policy_templates import POLICY_TEMPLATES, list_template_parameters

_STATEMENT_KEYS = {
    "Sid": "sid",
    "Effect": "effect",
    "Principal": "principal",
    "Action": "actions",
    "NotAction": "notActions",
    "Resource": "resources",
    "NotResource": "notResources",
    "Condition": "condition",
}


def put_resource_policy(context: Context, at: At, http: Fields) -> None:
    """Convert the policy of an API: a list of statements, or a document."""
    statements = at.get("Statement") if not at.get("Statement").is_missing else at
    read = (_read_statement(context, one) for one in statements.list_items())
    context.put(at, http, "resourcePolicy", [one for one in read if one is not None])
    context.ledger.carry(at)


def put_policies(context: Context, at: At, fields: Fields) -> None:
    """Put all permissions of a function. Without any, its role only allows logs."""
    fields.put("permissions", read_policies(context, at), at)


def read_policies(context: Context, at: At) -> list[Value]:
    return [found for one in at.list_items() for found in _read_policy(context, one)]


def _read_policy(context: Context, at: At) -> list[Value]:
    if not at.is_map or is_function(at):
        text = context.read_text(at)
        context.ledger.carry(at)
        return [text] if text else []
    statements = at.get("Statement")
    if not statements.is_missing:
        for key in ("Version", "Id"):
            context.ledger.drop(at.get(key), "default of fabric")
        return [
            found for one in statements.list_items() if (found := _read_statement(context, one))
        ]
    if any(not at.get(key).is_missing for key in ("Action", "NotAction")):
        statement = _read_statement(context, at)
        return [statement] if statement else []
    return [made for one in at.list_entries() if (made := _read_template(context, one))]


def _read_statement(context: Context, at: At) -> Fields | None:
    """Convert one IAM statement, with the keys of fabric."""
    fields = Fields(at)
    for name, key in _STATEMENT_KEYS.items():
        one = at.get(name)
        value = None if one.is_missing else _read_part(context, one)
        if not one.is_missing and not value:
            return None
        context.ledger.carry(one)
        if value and value != "Allow":
            fields.put(key, value, one)
    return fields


def _read_part(context: Context, at: At) -> Value:
    if at.key in ("Effect", "Sid"):
        return context.read_text(at)
    return context.read(at) if at.key in ("Condition", "Principal") else context.read_texts(at)


def _read_template(context: Context, at: At) -> Fields | None:
    if at.key not in POLICY_TEMPLATES:
        reason = f"the policy template `{at.key}` is not supported"
        context.ledger.lose(at, reason, "write its statements")
        return None
    fields = Fields(at)
    parameters = list_template_parameters(at.key)
    if not parameters:
        fields.put(at.key, EMPTY, at)
        context.ledger.carry(at)
        return fields
    context.copy_map(at, fields, at.key)
    values = fields.get(at.key)
    if not isinstance(values, Fields) or not all(values.has(one) for one in parameters):
        context.ledger.lose(at, "a parameter of the policy template is not set")
        return None
    return fields
