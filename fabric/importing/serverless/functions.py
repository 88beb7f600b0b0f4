"""Functions and layers of the Serverless Framework."""

import re

from fabric.importing.aws_settings import (
    FUNCTION_SETTINGS,
    choose_runtime,
    put_architecture,
    put_file_system,
    put_function_name,
    put_tracing,
    put_url,
    put_vpc,
)
from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.packaging import check_layer_path, put_package
from fabric.importing.policies import put_policies, read_policies
from fabric.importing.rules import (
    Rule,
    Rules,
    apply_rules,
    below,
    carry,
    copy_as,
    drop_because,
    inside,
    is_function,
    lose_because,
    lower_as,
    map_as,
    number_as,
    pass_over,
    share,
    texts_as,
)
from fabric.importing.source import At

_LONGEST_NAME = 64
_LAYER_SUFFIX = "LambdaLayer"


def shorten(service: str, name: str) -> str:
    """Return a name that fits into `<service>-<stage>-<name>` with a stage such as `prod`."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", name)
    left = max(_LONGEST_NAME - len(service) - len("-prod-"), 8)
    return plain[:left].rstrip("-_") or "function"


def _put_layers(context: Context, at: At, fields: Fields) -> None:
    """Put layers: those of the service by name, others by ARN."""
    found = []
    for one in at.list_items():
        own = one.get("Ref").text.removesuffix(_LAYER_SUFFIX)
        is_own = one.get("Ref").text.endswith(_LAYER_SUFFIX)
        if own == "PythonRequirements":
            context.ledger.drop(one, "required packages are in the archive of the function")
            continue
        text = own[:1].lower() + own[1:] if is_own else context.read_text(one)
        if text:
            found.append(text)
            context.ledger.carry(one)
    context.put(at, fields, "layers", found)


def put_role(key: str) -> Rule:
    """Put a role: an ARN, or a resource of the service by its logical id."""

    def rule(context: Context, at: At, fields: Fields) -> None:
        if at.text in context.names.resources:
            context.put(at, fields, key, context.intrinsics.refer(at.text, "Arn"))
        else:
            context.copy(at, fields, key)

    return rule


def _put_destination(context: Context, at: At, fields: Fields) -> None:
    """Put a destination: an ARN, or a function of the service by name."""
    value = at.get("arn") if at.is_map and not is_function(at) else at
    text = context.read_text(value)
    if text and not text.startswith(("arn:", "${")):
        text = f"${{function:{text}.arn}}"
    context.put(value, fields, at.key, text)
    context.ledger.carry(at)


def _put_own_package(context: Context, at: At, fields: Fields) -> None:
    put_package(context, at, fields)


_SHARED: Rules = {
    "memorySize": number_as("memory"),
    "timeout": number_as("timeout"),
    "architecture": put_architecture,
    "tags": map_as("tags"),
    "layers": _put_layers,
    "vpc": put_vpc,
    "logRetentionInDays": below("logs", number_as("retentionDays")),
    **share(("kmsKeyArn", "awsKmsKeyArn"), copy_as("kmsKey")),
    "reservedConcurrency": number_as("reservedConcurrency"),
    "ephemeralStorageSize": number_as("ephemeralStorage"),
    "recursiveLoop": lower_as("recursiveLoop"),
    "runtimeManagement": lose_because("AWS updates runtimes itself"),
}
_ECR_RULES: Rules = {
    # Functions read the images that they name.
    "images": drop_because("no function uses it"),
    "scanOnPush": lose_because("repositories are created without scans of images"),
}
PROVIDER_RULES: Rules = {
    **_SHARED,
    "tracing": lambda context, at, fields: (
        None if at.get("lambda").is_missing else put_tracing(context, at.get("lambda"), fields)
    ),
    "alb": lose_because("load balancers are not supported"),
    "ecr": lambda context, at, fields: apply_rules(context, at, _ECR_RULES, fields),
    "s3": pass_over,
    "websocketsApiRouteSelectionExpression": lose_because("WebSocket APIs are not supported"),
}
_FUNCTION_RULES: Rules = {
    **FUNCTION_SETTINGS,
    **_SHARED,
    "environment": lambda context, at, fields: context.copy_environment(at, fields, "env"),
    "provisionedConcurrency": number_as("provisionedConcurrency"),
    "onError": copy_as("deadLetter"),
    "destinations": inside("async", share(("onSuccess", "onFailure"), _put_destination)),
    "maximumRetryAttempts": below("async", number_as("maximumRetryAttempts")),
    "maximumEventAge": below("async", number_as("maximumEventAge")),
    "fileSystemConfig": put_file_system,
    "url": put_url,
    "package": _put_own_package,
    "iamRoleStatements": put_policies,
    "iamRoleStatementsInherit": carry,
    # They note their own keys, so that unknown ones are reported.
    **share(("events", "image"), pass_over),
    "iamRoleStatementsName": lose_because("fabric names its roles itself"),
    "role": put_role("role"),
    "versionFunction": drop_because("fabric publishes a version of each change"),
    "name": put_function_name,
    "condition": lose_because("conditions of functions are not supported"),
    "dependsOn": lose_because(
        "functions cannot depend on resources", "use an output of the resource in `env`"
    ),
    "cors": drop_because("the Serverless Framework reads it only in events"),
    "disableLogs": lose_because("logs cannot be disabled"),
    "logDataProtectionPolicy": lose_because("policies of log groups are not supported"),
}


def convert_function(
    context: Context, at: At, function: Fields, shared: Fields, *, inherits: bool
) -> None:
    """Convert the settings of a function. `shared` are those of all functions."""
    apply_rules(context, at, _FUNCTION_RULES, function)
    _allow_file_system(context, at.get("fileSystemConfig"), function, shared)
    if function.has("role") and shared.has("permissions"):
        function.put_flag("permissions", value=False)
    own, every = function.get("permissions"), shared.get("permissions")
    given = at.get("iamRoleStatementsInherit").text
    is_inherited = given == "true" or (inherits and given != "false")
    if is_inherited and isinstance(own, list) and isinstance(every, list):
        function.put("permissions", [*every, *own])


def note_ignored_statements(context: Context, at: At, plugins: At) -> None:
    """Note permissions of a function that only a plugin reads, which the source does not have."""
    statements, plugin = at.get("iamRoleStatements"), "serverless-iam-roles-per-function"
    if statements.node is not None and all(one.text != plugin for one in plugins.list_items()):
        reason = f"the Serverless Framework ignores it without {plugin}"
        context.ledger.change(statements, reason, "permissions")


def _allow_file_system(context: Context, at: At, function: Fields, shared: Fields) -> None:
    """Allow the role to mount a file system, as the Serverless Framework does."""
    if at.is_missing or function.has("role"):
        return
    own, every = function.get("permissions"), shared.get("permissions")
    known = own if isinstance(own, list) else every if isinstance(every, list) else []
    statement = Fields(at)
    statement.put("actions", [f"elasticfilesystem:Client{one}" for one in ("Mount", "Write")])
    statement.put("resources", ["*"])
    condition = {
        "StringEquals": {"elasticfilesystem:AccessPointArn": context.read_text(at.get("arn"))}
    }
    statement.put("condition", condition)
    function.put("permissions", [*known, statement])


def convert_permissions(context: Context, provider: At, defaults: Fields) -> None:
    """Convert the permissions of all functions. Each function gets its own role."""
    iam = provider.get("iam", "role")
    found = [
        *read_policies(context, provider.get("iamRoleStatements")),
        *read_policies(context, iam.get("statements")),
        *read_policies(context, iam.get("managedPolicies")),
        *read_policies(context, provider.get("iamManagedPolicies")),
    ]
    defaults.put("permissions", found, provider.get("iamRoleStatements"))


def _put_runtimes(context: Context, at: At, layer: Fields) -> None:
    found = (choose_runtime(text) for text in context.read_texts(at))
    context.put(at, layer, "runtimes", list(dict.fromkeys(one for one in found if one)))


def _put_layer_path(context: Context, at: At, layer: Fields) -> None:
    path = context.surroundings.place(context.read_text(at))
    context.put(at, layer, "path", path)
    check_layer_path(context, at, path)


LAYER_RULES: Rules = {
    "path": _put_layer_path,
    **share(("description", "Description"), copy_as("description")),
    **share(("licenseInfo", "LicenseInfo"), copy_as("license")),
    **share(("compatibleRuntimes", "CompatibleRuntimes"), _put_runtimes),
    **share(("compatibleArchitectures", "CompatibleArchitectures"), texts_as("architectures")),
    "retain": copy_as("retain"),
    **share(("name", "LayerName"), lose_because("fabric names layers itself")),
    "allowedAccounts": lose_because("permissions of layers are not supported"),
    "package": lose_because("fabric packs the directory of a layer itself"),
}


def convert_layers(context: Context, layers: At, config: Fields) -> None:
    for at in layers.list_entries():
        layer = Fields(at)
        layer.put("name", re.sub(r"[^A-Za-z0-9_-]", "-", at.key)[:_LONGEST_NAME])
        apply_rules(context, at, LAYER_RULES, layer)
        if layer.has("path"):
            config.add("layers", layer)
