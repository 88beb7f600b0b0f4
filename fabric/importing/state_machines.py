"""State machines of AWS SAM and of serverless-step-functions to workflows."""

from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.policies import put_policies
from fabric.importing.rules import (
    Rules,
    apply_rules,
    copy_as,
    drop_because,
    inside,
    lose_because,
    lower_as,
    map_as,
    share,
)
from fabric.importing.serverless_functions import shorten
from fabric.importing.source import At

_TRIGGERS = lose_because(
    "events of state machines are not converted",
    "add `triggers` of the types cron and eventbus to the workflow",
)
_NAMED = lose_because("fabric names workflows `<service>-<stage>-<workflow>`")


def _put_definition(context: Context, at: At, workflow: Fields) -> None:
    """Put a definition: the path of a file, or the definition itself."""
    if at.is_map and at.get("Bucket").node is not None:
        context.ledger.lose(at, "a definition in a bucket is not supported")
        return
    if at.is_map:
        context.copy(at, workflow, "definition")
    else:
        path = context.read_text(at)
        context.put(at, workflow, "definition", context.surroundings.place(path))


def _put_log_destinations(context: Context, at: At, _: Fields) -> None:
    context.ledger.change(at, "fabric creates the log group")


def _put_role(context: Context, at: At, workflow: Fields) -> None:
    """Put a role. One of the same template is known only after a deploy."""
    role = context.read_text(at)
    if "${stack:" in role or "${function:" in role:
        reason = "the role of a workflow must be known before the deploy; fabric creates a role"
        context.ledger.lose(at, reason, "write the statements of the role into `permissions`")
    else:
        context.put(at, workflow, "role", role)


_LOGS: Rules = {
    **share(("Level", "level"), copy_as("level")),
    **share(("IncludeExecutionData", "includeExecutionData"), copy_as("includeExecutionData")),
    **share(("Destinations", "destinations"), _put_log_destinations),
}
_RULES: Rules = {
    **share(("definition", "Definition", "DefinitionUri"), _put_definition),
    **share(("type", "Type"), lower_as("type")),
    **share(("role", "Role"), _put_role),
    **share(("Policies", "iamRoleStatements"), put_policies),
    "DefinitionSubstitutions": map_as("substitutions"),
    **share(("Logging", "loggingConfig"), inside("logs", _LOGS)),
    **share(("events", "Events"), _TRIGGERS),
    **share(("name", "Name"), _NAMED),
    **share(("id", "retain", "alarms", "notifications"), lose_because("no such key of workflows")),
    **share(("Tags", "tags"), drop_because("fabric tags workflows itself")),
}


def convert_state_machine(context: Context, at: At, name: str, config: Fields) -> None:
    """Convert one state machine."""
    workflow = Fields(at)
    workflow.put("name", name)
    apply_rules(context, at, _RULES, workflow)
    for key, inner in (("tracingConfig", "enabled"), ("Tracing", "Enabled")):
        flag = at.get(key, inner)
        if not flag.is_missing:
            if flag.text.lower() == "true":
                workflow.put("tracing", "active", flag)
            context.ledger.carry(at.get(key))
    if workflow.has("definition"):
        config.add("workflows", workflow)


def convert_state_machines(context: Context, source: At, config: Fields) -> None:
    """Convert the section of serverless-step-functions."""
    section = source.get("stepFunctions")
    context.ledger.drop(section.get("validate"), "fabric always checks definitions")
    names = context.names
    known = dict(names.functions)
    # The plugin also accepts the keys of functions as logical ids.
    keys = (one.key for one in source.get("functions").list_entries())
    names.functions.update((key, shorten(names.service, key)) for key in keys)
    for at in section.get("stateMachines").list_entries():
        convert_state_machine(context, at, at.key, config)
    names.functions.clear()
    names.functions.update(known)
