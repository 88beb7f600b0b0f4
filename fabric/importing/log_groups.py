"""Log groups of functions, which fabric creates itself, with the settings of the source."""

from collections.abc import Mapping

from fabric.config.yaml.nodes import Scalar
from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.intrinsics import Intrinsics, LogicalNames, NotCarriedError, OutputRequests
from fabric.importing.rules import Rules, apply_rules, carry, copy_as, lose_because, number_as
from fabric.importing.source import At

_KIND, _PREFIX = "AWS::Logs::LogGroup", "/aws/lambda/"
_ARN = "arn:${aws:partition}:logs:${aws:region}:${aws:accountId}:log-group:"
_CLASSES = {"STANDARD": "standard", "INFREQUENT_ACCESS": "infrequentAccess"}
_KEPT = ("Retain", "RetainExceptOnCreate")


def find_log_groups(names: LogicalNames, given: Mapping[str, At], suffix: str = "") -> None:
    """Move the log groups of functions from the resources to texts with their names.

    `given` contains the name that the source gives to a function at AWS, by its logical id.
    The ids of functions and of generated groups differ in their ends.
    """
    intrinsics = Intrinsics(names, OutputRequests())
    called = {
        logical: _read_text(intrinsics, given.get(logical, At(None)))
        or f"{names.service}-${{stage}}-{name}"
        for logical, name in names.functions.items()
    }
    owners = {f"{_PREFIX}{text}": logical for logical, text in called.items()}
    owners |= {
        f"{_PREFIX}${{function:{name}.name}}": logical for logical, name in names.functions.items()
    }
    generated = {f"{one.removesuffix(suffix)}LogGroup": one for one in called} if suffix else {}
    for key, node in list(names.resources.items()):
        at = At(node)
        name = _read_text(intrinsics, at.get("Properties", "LogGroupName"))
        is_group = at.get("Type").text == _KIND
        owner = generated.get(key) or (owners.get(name) if is_group else None)
        if owner is not None:
            group = f"{_PREFIX}{called[owner]}"
            names.log_groups[key] = names.functions[owner]
            names.texts.update({key: group, f"{key}.Arn": f"{_ARN}{group}:*"})
            del names.resources[key]


def _read_text(intrinsics: Intrinsics, at: At) -> str:
    try:
        found = at.node and intrinsics.convert(at.node)
    except NotCarriedError:
        return ""
    return found.text if isinstance(found, Scalar) else ""


def put_log_groups(context: Context, resources: list[At], config: Fields) -> list[At]:
    """Put the settings of log groups on their functions, and return all other resources."""
    functions = {one.get("name"): one for one in config.list_fields("functions")}
    others = []
    for at in resources:
        function = functions.get(context.names.log_groups.get(at.key))
        if at.key not in context.names.log_groups:
            others.append(at)
        elif function is None:
            context.ledger.lose(at, "the function of this log group is not carried")
        else:
            _put_log_group(context, at, function)
    return others


def _put_log_group(context: Context, at: At, function: Fields) -> None:
    logs = function.child("logs", at)
    if logs.has("group") and _read_group(logs) != context.names.texts[at.key]:
        context.ledger.lose(at, "the function writes to another log group")
        return
    apply_rules(context, at, _RESOURCE_RULES, logs)
    apply_rules(context, at.get("Properties"), _RULES, logs)
    if not any(logs.has(key) for key in ("retentionDays", "kmsKey", "class")):
        logs.put("class", "standard")  # fabric creates only log groups with a setting


def _read_group(logs: Fields) -> str:
    group = logs.get("group")
    return group.text if isinstance(group, Scalar) else ""


def _put_class(context: Context, at: At, logs: Fields) -> None:
    context.put(at, logs, "class", _CLASSES.get(at.text, ""))
    if at.text not in _CLASSES:
        context.ledger.lose(at, f"the class `{at.text}` of log groups is not supported")


def _note_policy(context: Context, at: At, _logs: Fields) -> None:
    if at.text in _KEPT:
        context.ledger.carry(at)
    else:
        context.ledger.lose(at, "fabric keeps the log groups of deleted functions")


_RESOURCE_RULES: Rules = {
    "Type": carry,
    "DeletionPolicy": _note_policy,
    "UpdateReplacePolicy": _note_policy,
    "Condition": lose_because("conditions of log groups are not supported"),
    "DependsOn": carry,
    "Metadata": carry,
}
_RULES: Rules = {
    "LogGroupName": carry,
    "RetentionInDays": number_as("retentionDays"),
    "LogGroupClass": _put_class,
    "KmsKeyId": copy_as("kmsKey"),
    "Tags": lose_because("fabric does not tag log groups"),
    "DataProtectionPolicy": lose_because("data protection of log groups is not supported"),
}
