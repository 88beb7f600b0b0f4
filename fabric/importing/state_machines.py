"""State machines of AWS SAM and of serverless-step-functions to workflows."""

import re

from fabric.config.yaml.nodes import Node, Scalar, Sequence
from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.event_target import EventTarget
from fabric.importing.policies import put_policies
from fabric.importing.rules import (
    Rules,
    apply_rules,
    change_because,
    copy_as,
    drop_because,
    inside,
    lose_because,
    lower_as,
    map_as,
    share,
)
from fabric.importing.source import At

_NAME = re.compile(r"\$\{([A-Za-z0-9_]+)\}")
_NAMED = change_because("fabric names workflows itself", "<service>-<stage>-<workflow>")


def _put_definition(context: Context, at: At, workflow: Fields) -> None:
    """Put a definition: the path of a file, or the definition itself."""
    if at.is_map and at.get("Bucket").node is not None:
        context.ledger.lose(at, "a definition in a bucket is not supported")
        return
    if at.is_map and at.get("Ref").node is None:
        _put_inline(context, at, workflow)
    else:
        path = context.read_text(at)
        context.put(at, workflow, "definition", context.surroundings.place(path))


def _put_inline(context: Context, at: At, workflow: Fields) -> None:
    """Put a definition in place of its file, with the values of its substitutions."""
    definition = context.read(at)
    if definition is not None:
        texts = workflow.child("substitutions").build()
        values = {one.key: one.value.text for one in texts.entries if isinstance(one.value, Scalar)}
        workflow.put("definition", _substitute(definition, values), at)
        workflow.remove("substitutions")
        context.ledger.carry(at)


def _substitute(node: Node, values: dict[str, str]) -> Node:
    if isinstance(node, Scalar):
        text = _NAME.sub(lambda found: values.get(found[1], found[0]), node.text)
        return node if text == node.text else node._replace(value=text, text=text)
    if isinstance(node, Sequence):
        return node._replace(items=tuple(_substitute(one, values) for one in node.items))
    entries = (one._replace(value=_substitute(one.value, values)) for one in node.entries)
    return node._replace(entries=tuple(entries))


def _put_log_destinations(context: Context, at: At, _: Fields) -> None:
    context.ledger.change(at, "fabric creates the log group")


def _put_role(context: Context, at: At, workflow: Fields) -> None:
    """Put a role. It cannot be an own address."""
    role = context.read_text(at)
    if "${function:" in role:
        reason = "the role of a workflow must be known before the deploy; fabric creates a role"
        context.ledger.lose(at, reason, "write the statements of the role into `permissions`")
    else:
        context.put(at, workflow, "role", role)


_LOGS: Rules = {
    **share(("Level", "level"), copy_as("level")),
    **share(("IncludeExecutionData", "includeExecutionData"), copy_as("includeExecutionData")),
    **share(("Destinations", "destinations"), _put_log_destinations),
}
_SUBSTITUTIONS: Rules = {"DefinitionSubstitutions": map_as("substitutions")}
_RULES: Rules = {
    **share(("definition", "Definition", "DefinitionUri"), _put_definition),
    **share(("type", "Type"), lower_as("type")),
    **share(("role", "Role"), _put_role),
    **share(("Policies", "iamRoleStatements"), put_policies),
    **share(("Logging", "loggingConfig"), inside("logs", _LOGS)),
    **share(("name", "Name"), _NAMED),
    **share(("id", "retain", "alarms", "notifications"), lose_because("no such key of workflows")),
    **share(("Tags", "tags"), lose_because("fabric sets only its own tags on workflows")),
    **share(
        ("AutoPublishAlias", "UseAliasAsEventTarget"),
        drop_because("fabric always publishes versions and the alias `live`"),
    ),
    "PropagateTags": drop_because("fabric tags everything that it creates for a workflow"),
    "DeploymentPreference": lose_because("gradual releases of workflows are not supported"),
    "PermissionsBoundary": lose_because(
        "a boundary applies to all roles", "set `iam.boundary` in extensions.cloud1-lambda"
    ),
    "RolePath": lose_because(
        "a path applies to all roles", "set `iam.path` in extensions.cloud1-lambda"
    ),
}


def convert_state_machine(
    context: Context, at: At, name: str, config: Fields, target: EventTarget
) -> None:
    """Convert one state machine. The events of the target become those of its workflow."""
    workflow = target.function = Fields(at)
    workflow.put("name", name)
    # Substitutions come first, because an inline definition contains their values.
    apply_rules(context, at, _SUBSTITUTIONS, workflow)
    apply_rules(context, at, _RULES, workflow)
    for key, inner in (("tracingConfig", "enabled"), ("Tracing", "Enabled")):
        flag = at.get(key, inner)
        if flag.is_map:
            reason = "the setting depends on a parameter"
            context.ledger.lose(flag, reason, "set `tracing` of the workflow")
        elif not flag.is_missing:
            if flag.text.lower() == "true":
                workflow.put("tracing", "active", flag)
            context.ledger.carry(at.get(key))
    if workflow.has("definition"):
        config.add("workflows", workflow)
