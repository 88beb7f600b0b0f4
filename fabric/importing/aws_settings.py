"""Settings of AWS Lambda functions that several tools have, in the keys of fabric."""

import re

from fabric.config.schema.function import RUNTIME
from fabric.config.yaml.nodes import Scalar
from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.rules import (
    PARAMETER,
    Rules,
    copy_as,
    in_both_cases,
    inside,
    is_false,
    is_true,
    lower_as,
    map_as,
    number_as,
)
from fabric.importing.source import At
from fabric.model.catalog import FUNCTION_NAME
from fabric.model.late_values import has_late_bindings

_NODE = re.compile(r"nodejs[0-9.]*(?:x|-edge)?")
# Versions that AWS Lambda no longer accepts for new functions.
_OLD_PYTHON = ("python2.7", "python3.6", "python3.7", "python3.8")
# Names of Google and OpenWhisk.
_OTHER_PYTHON = re.compile(r"python3[0-9]{1,2}|python:[23]?(?:\.[0-9]+)?")
NEW_NODE, NEW_PYTHON, NEW_RUBY = "nodejs22.x", "python3.12", "ruby3.3"
_REPLACED = {
    "go1.x": "provided.al2023",
    "rust": "provided.al2023",
    "provided": "provided.al2023",
    "provided.al2": "provided.al2023",
    "java8": "java17",
    "java8.al2": "java17",
    "java11": "java17",
    "dotnetcore2.1": "dotnet8",
    "dotnetcore3.1": "dotnet8",
    "dotnet6": "dotnet8",
}
# Runtimes of other providers, such as `nodejs20`.
_WITHOUT_DOT = re.compile(r"(?:nodejs|python)[0-9]+")
_OPENWHISK = re.compile(r"(nodejs|python):(default|[0-9]+(?:\.[0-9]+)?)")
_LONGEST_DESCRIPTION = 200


def choose_runtime(text: str) -> str:
    """Return the runtime of fabric for one of AWS, or "" if there is none."""
    kind = _read_openwhisk_kind(text)
    if kind != text and RUNTIME.fits(kind):
        return kind
    if text in _OLD_PYTHON or _OTHER_PYTHON.fullmatch(text):
        return NEW_PYTHON
    if text.startswith("${") or RUNTIME.fits(text):
        return text
    if _NODE.fullmatch(kind):
        return NEW_NODE
    return NEW_RUBY if text.startswith("ruby") else _REPLACED.get(text, "")


def _read_openwhisk_kind(text: str) -> str:
    """Write a runtime of OpenWhisk, such as `nodejs:20`, as one of fabric. Without a version, the
    provider chooses one."""
    found = _OPENWHISK.fullmatch(text)
    if found is None:
        return text
    version = found[2] if found[2] not in ("default", "3") else ""
    return f"{found[1]}{version}{'.x' if version and found[1] == 'nodejs' else ''}"


def put_runtime(context: Context, at: At, fields: Fields) -> None:
    text = context.read_text(at)
    new = choose_runtime(text)
    if new:
        fields.put("runtime", new, at)
    if not new:
        context.ledger.lose(at, f"fabric does not support the runtime `{text}`")
    elif new == _read_openwhisk_kind(text):
        context.ledger.carry(at)
    elif ":" in text or _OTHER_PYTHON.fullmatch(text) or _WITHOUT_DOT.fullmatch(text):
        context.ledger.change(at, f"fabric does not support the version of `{text}`", new)
    else:
        context.ledger.change(at, f"AWS does not accept new functions with `{text}`", new)


def put_description(context: Context, at: At, fields: Fields) -> None:
    """Put a description. fabric has one line of at most 200 characters."""
    text = context.read_text(at)
    short = " ".join(text.split())[:_LONGEST_DESCRIPTION]
    context.put(at, fields, "description", short)
    if short != text:
        reason = f"a description is one line of at most {_LONGEST_DESCRIPTION} characters"
        context.ledger.change(at, reason, short)


def _put_ids(context: Context, at: At, fields: Fields) -> None:
    """Put ids of a VPC."""
    key = at.key[:1].lower() + at.key[1:]
    context.put(at, fields, key, context.read_texts(at))


_VPC = inside(
    "vpc",
    {
        **dict.fromkeys(
            ("SubnetIds", "subnetIds", "SecurityGroupIds", "securityGroupIds"), _put_ids
        ),
        **dict.fromkeys(("Ipv6AllowedForDualStack", "ipv6AllowedForDualStack"), copy_as("ipv6")),
    },
)


def put_vpc(context: Context, at: At, fields: Fields) -> None:
    if is_false(at):
        context.copy(at, fields, "vpc")
    else:
        _VPC(context, at, fields)


_FILE_SYSTEM = inside(
    "fileSystem",
    {
        **dict.fromkeys(("Arn", "arn"), copy_as("arn")),
        **dict.fromkeys(("LocalMountPath", "localMountPath"), copy_as("path")),
    },
)


def put_file_system(context: Context, at: At, fields: Fields) -> None:
    first = next(iter(at.list_items()), at) if at.is_list else at
    _FILE_SYSTEM(context, first, fields)


def put_tracing(context: Context, at: At, fields: Fields) -> None:
    """Convert `Active`, `PassThrough`, `true` and `false`."""
    words = {"active": "active", "true": "active", "passthrough": "passThrough"}
    text = at.text.lower()
    if text in words:
        fields.put("tracing", words[text], at)
    if text in (*words, "false", "disabled"):
        context.ledger.carry(at)
    else:
        reason = f"unknown tracing mode `{at.text}`"
        reason = "the tracing mode depends on a value of CloudFormation" if at.is_map else reason
        context.ledger.lose(at, reason, "set `tracing` with `stages` in fabric.yml")


def put_architecture(context: Context, at: At, fields: Fields) -> None:
    context.put(at, fields, "architecture", next(iter(context.read_texts(at)), ""))


def put_snap_start(context: Context, at: At, fields: Fields) -> None:
    if is_true(at) or at.get("ApplyOn").text == "PublishedVersions":
        fields.put_flag("snapStart", at, value=True)
    context.ledger.carry(at)


def put_url(context: Context, at: At, fields: Fields) -> None:
    """Convert the URL of a function. Keys of tools differ only in case."""
    inner = Fields(at)
    for one in at.list_entries():
        key = one.key.lower()
        if key in ("authorizer", "authtype"):
            _put_url_authorizer(context, one, inner)
        elif key == "targetfunctionarn":
            context.ledger.carry(one)
        elif key == "qualifier":
            context.ledger.change(one, "the URL is that of the alias `live`")
        elif key == "invokemode":
            inner.put_flag("stream", one, value=one.text.upper() == "RESPONSE_STREAM")
            context.ledger.carry(one)
        elif key == "cors":
            put_cors(context, one, inner)
        else:
            context.ledger.lose(one, f"the key `{one.key}` of a URL is not supported")
    if not is_false(at):
        fields.put("url", inner.or_true(), at)
    context.ledger.carry(at)


def _put_url_authorizer(context: Context, at: At, url: Fields) -> None:
    text = context.read_text(at)
    is_known = text.upper() in ("AWS_IAM", "NONE")
    if PARAMETER.fullmatch(text):  # its values have the words of fabric
        context.put(at, url, "authorizer", text)
        return
    context.put(at, url, "authorizer", text.upper() if is_known else "AWS_IAM")
    if not is_known:
        reason = "the authorizer depends on a value of the stage; the URL requires `AWS_IAM`"
        context.ledger.lose(at, reason, "set `url` with `stages` in fabric.yml")


# Names in the Serverless Framework, in SAM and in URLs of functions, in lowercase.
_CORS_KEYS = {
    **dict.fromkeys(
        ("origin", "origins", "alloworigin", "alloworigins", "allowedorigins"), "allowOrigins"
    ),
    **dict.fromkeys(("headers", "allowheaders", "allowedheaders"), "allowHeaders"),
    **dict.fromkeys(("methods", "allowmethods", "allowedmethods"), "allowMethods"),
    **dict.fromkeys(("exposeheaders", "exposedresponseheaders"), "exposeHeaders"),
    "allowcredentials": "allowCredentials",
    "maxage": "maxAge",
}


def read_cors(context: Context, at: At) -> Fields:
    """Read settings of CORS. SAM quotes its texts twice, and separates them with commas."""
    inner = Fields(at)
    for one in at.list_entries():
        name = _CORS_KEYS.get(one.key.lower(), "")
        if name in ("allowCredentials", "maxAge"):
            text = context.read_text(one).strip("'")
            context.put(one, inner, name, int(text) if text.isdigit() else text.lower() == "true")
        elif name:
            words = ",".join(text.strip("'") for text in context.read_texts(one)).split(",")
            context.put(one, inner, name, [word.strip() for word in words if word.strip()])
        elif at.is_map:
            context.ledger.lose(one, f"the key `{one.key}` of CORS is not supported")
    return inner


def put_cors(context: Context, at: At, fields: Fields) -> None:
    inner = read_cors(context, at)
    origin = "" if at.is_map else at.text.strip("'")
    if origin.lower() not in ("", "true", "false", "*"):
        inner.put("allowOrigins", [origin], at)
    if not is_false(at):
        fields.put("cors", inner.or_true(), at)
    context.ledger.carry(at)


def put_function_name(context: Context, at: At, fields: Fields) -> None:
    """Put the name of a function at AWS, unless only a deploy would know it."""
    found = context.read(at)
    if isinstance(found, Scalar) and not has_late_bindings(found.text.encode()):
        fields.put(FUNCTION_NAME, found, at)
        context.ledger.carry(at)
    elif found is not None:
        context.ledger.lose(at, "the name of a function must be known before the deploy")


# In the case of the Serverless Framework. AWS SAM has the same keys with capital letters.
FUNCTION_SETTINGS: Rules = {
    "runtime": put_runtime,
    "memorySize": number_as("memory"),
    "timeout": number_as("timeout"),
    "description": put_description,
    "tags": map_as("tags"),
    "tracing": put_tracing,
    "kmsKeyArn": copy_as("kmsKey"),
    "snapStart": put_snap_start,
    "recursiveLoop": lower_as("recursiveLoop"),
    "durableConfig": inside(
        "durable",
        in_both_cases(
            {
                "executionTimeout": number_as("executionTimeout"),
                "retentionPeriodInDays": number_as("retentionDays"),
            }
        ),
    ),
}
