"""Log groups and URLs of functions, which fabric creates with the settings of the source."""

from collections.abc import Mapping

from fabric.config.yaml.nodes import Scalar
from fabric.importing.aws_settings import put_url
from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.intrinsics import (
    Intrinsics,
    LogicalNames,
    NotCarriedError,
    OutputRequests,
    list_ids,
)
from fabric.importing.rules import (
    Rules,
    apply_rules,
    carry,
    copy_as,
    drop_because,
    is_true,
    lose_because,
    number_as,
)
from fabric.importing.source import At

_KIND, _PREFIX = "AWS::Logs::LogGroup", "/aws/lambda/"
_URL, _PERMISSION = "AWS::Lambda::Url", "AWS::Lambda::Permission"
_ARN = "arn:${aws:partition}:logs:${aws:region}:${aws:accountId}:log-group:"
_CLASSES = {"STANDARD": "standard", "INFREQUENT_ACCESS": "infrequentAccess"}
_KEPT = ("Retain", "RetainExceptOnCreate")


def find_function_resources(names: LogicalNames, given: Mapping[str, At], suffix: str = "") -> None:
    """Move the log groups and URLs of functions from the resources to texts with their names.

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
        elif at.get("Type").text == _URL and (name := _find_function(names, at)):
            names.add_url(key, name)
            del names.resources[key]


def _find_function(names: LogicalNames, at: At) -> str:
    """Find the function of a URL, or of a permission for one."""
    properties = at.get("Properties")
    target = properties.get("TargetFunctionArn").node or properties.get("FunctionName").node
    known = {**names.functions, **names.urls}
    found = {known[one] for one in list_ids(target) if one in known} if target else set[str]()
    return found.pop() if len(found) == 1 else ""


def _read_text(intrinsics: Intrinsics, at: At) -> str:
    try:
        found = at.node and intrinsics.convert(at.node)
    except NotCarriedError:
        return ""
    return found.text if isinstance(found, Scalar) else ""


def put_function_resources(context: Context, resources: list[At], config: Fields) -> list[At]:
    """Put the settings of log groups and URLs on their functions, and return other resources."""
    functions = {one.get("name"): one for one in config.list_fields("functions")}
    opened = {one.key: name for one in resources if (name := _find_opened(context, one))}
    owners = {**context.names.log_groups, **context.names.urls}
    others = []
    for at in resources:
        function = functions.get(owners.get(at.key))
        if at.key not in owners:
            others.append(at)
        elif function is None:
            context.ledger.lose(at, "the function of this resource is not carried")
        elif at.key in context.names.urls:
            _put_function_url(context, at, function, is_opened=owners[at.key] in opened.values())
        else:
            _put_log_group(context, at, function)
    open_urls = {name for name, one in functions.items() if _is_open(one)}
    context.ledger.carry(*(one for one in others if opened.get(one.key) in open_urls))
    return [one for one in others if opened.get(one.key) not in open_urls]


def _find_opened(context: Context, at: At) -> str:
    """Find the function whose URL a permission opens for everybody."""
    given = at.get("Properties")
    is_call = given.get("Action").text == "lambda:InvokeFunctionUrl"
    is_call |= is_true(given.get("InvokedViaFunctionUrl"))
    keys = {one.key for one in given.list_entries()}
    is_whole = keys <= _OPENING and at.get("Condition").is_missing
    is_for_all = given.get("Principal").text == "*"
    is_for_all &= given.get("FunctionUrlAuthType").text in ("", "NONE")
    is_opened = at.get("Type").text == _PERMISSION and is_call and is_whole and is_for_all
    return _find_function(context.names, at) if is_opened else ""


def _is_open(function: Fields) -> bool:
    """Return whether everybody can call the URL of a function."""
    url = function.get("url")
    return url is True or (isinstance(url, Fields) and url.get("authorizer") != "AWS_IAM")


def _put_function_url(context: Context, at: At, function: Fields, *, is_opened: bool) -> None:
    properties = at.get("Properties")
    if function.has("url"):
        context.ledger.lose(at, "a function has one URL")
        return
    apply_rules(context, at, _URL_RULES, function)
    put_url(context, properties, function)
    if _is_open(function) and not is_opened:
        function.child("url").put("authorizer", "AWS_IAM")
        reason = "no permission opens the URL for everybody"
        context.ledger.change(properties.get("AuthType"), reason, "AWS_IAM")


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


# The keys of a permission for everybody.
_OPENING = {
    *("Action", "FunctionName", "FunctionUrlAuthType", "InvokedViaFunctionUrl", "Principal"),
}
_URL_RULES: Rules = {
    "Type": carry,
    "Condition": lose_because("conditions of URLs are not supported"),
    **dict.fromkeys(
        ("DeletionPolicy", "UpdateReplacePolicy", "DependsOn", "Metadata"),
        drop_because("used only by CloudFormation"),
    ),
}
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
