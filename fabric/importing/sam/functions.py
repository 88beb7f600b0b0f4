"""Functions of AWS SAM to functions of fabric."""

import posixpath
import re
import shlex
from collections.abc import Callable

from msgspec import Struct

from fabric.config.yaml.nodes import KeyValue, Mapping, Scalar
from fabric.importing.aws_settings import (
    FUNCTION_SETTINGS,
    choose_runtime,
    put_architecture,
    put_file_system,
    put_function_name,
    put_url,
    put_vpc,
)
from fabric.importing.context import Context
from fabric.importing.credential_texts import has_code_credential
from fabric.importing.draft import Fields, NewFile
from fabric.importing.event_target import EventTarget
from fabric.importing.packaging import join_path, put_esbuild, put_file_entry
from fabric.importing.policies import put_policies
from fabric.importing.rules import (
    Rules,
    apply_rules,
    capitalize_keys,
    copy_as,
    drop_because,
    inside,
    is_function,
    lose_because,
    lower_as,
    number_as,
    share,
)
from fabric.importing.sam.events import convert_sam_events, put_async
from fabric.importing.source import At

_SUFFIXES = {"nodejs": "js", "python": "py", "ruby": "rb"}
_FAMILY = re.compile(r"[a-z]*")
_CONDITIONAL = "the variables depend on a condition without a known value"
_UNPACK = 'for one in {0}/*.jar; do python3 -m zipfile -e "$one" "$FABRIC_OUT_DIR"; done'


class _Code(Struct, frozen=True):
    """The code of a function: its directory, its handler and how it is built."""

    at: At
    handler: At
    text: str
    root: str
    runtime: str

    @property
    def properties(self) -> At:
        return self.at.get("Metadata", "BuildProperties")


def convert_function(context: Context, at: At, source: At, target: EventTarget) -> list[NewFile]:
    """Convert one function into the target, and return files for inline code."""
    function, properties = target.function, at.get("Properties")
    context.ledger.lose(at.get("Condition"), "conditions of functions are not supported")
    for key in ("DependsOn", "DeletionPolicy", "UpdateReplacePolicy"):
        context.ledger.drop(at.get(key), "fabric deploys functions after the stack")
    apply_rules(context, properties, FUNCTION_RULES, function)
    _add_shared_lists(context, source.get("Globals", "Function"), function)
    if function.has("role"):
        function.put_flag("permissions", value=False)
    files = _put_code(context, at, source.get("Globals", "Function"), function)
    put_async(context, properties.get("EventInvokeConfig"), function, target)
    convert_sam_events(context, properties.get("Events"), target)
    return files


def _add_shared_lists(context: Context, shared: At, function: Fields) -> None:
    """Add the lists of all functions to those of one, as SAM does."""
    fields = Fields()
    apply_rules(context, shared, {"Layers": _put_layers, "VpcConfig": put_vpc}, fields)
    _join_lists(fields, function, "layers")
    every, own = fields.get("vpc"), function.get("vpc")
    if isinstance(every, Fields) and isinstance(own, Fields):
        for key in ("subnetIds", "securityGroupIds"):
            _join_lists(every, own, key)


def _join_lists(first: Fields, target: Fields, key: str) -> None:
    shared, own = first.get(key), target.get(key)
    if isinstance(shared, list) and isinstance(own, list):
        target.put(key, [*shared, *(one for one in own if one not in shared)])


# `sam package` also accepts one file of code, or an archive.
_CODE_FILES = (".py", ".js", ".mjs", ".cjs", ".ts", ".zip")


def _put_code(context: Context, at: At, shared: At, function: Fields) -> list[NewFile]:
    def read(key: str) -> At:
        own = at.get("Properties", key)
        return shared.get(key) if own.is_missing else own

    code, inline, runtime = read("CodeUri"), at.get("Properties", "InlineCode"), read("Runtime")
    if read("PackageType").text == "Image" or not at.get("Properties", "ImageUri").is_missing:
        _put_image(context, at, read("PackageType"), function)
    elif not inline.is_missing:
        return _put_inline_code(context, inline, read("Handler"), runtime.text, function)
    elif "Fn::If" in (one.key for one in code.list_entries()):
        reason = "the directory depends on a condition without a known value"
        context.ledger.lose(code, reason, "set it in samconfig.toml, or write the directory")
    elif code.text.startswith("s3://") or (code.is_map and not _read_default(context, code)):
        context.ledger.lose(code, "code in a bucket", "put the source into the project")
    else:
        handler = read("Handler")
        root = _read_default(context, code) or context.read_text(code).rstrip("/") or "."
        if root.endswith(_CODE_FILES):
            root = posixpath.dirname(root) or "."
            context.ledger.change(code, "fabric packs the sources of the directory", root)
        text = _read_default(context, handler) or context.read_text(handler)
        context.ledger.carry(code)
        _put_entry(context, _Code(at, handler, text, root, runtime.text), function)
        for one in (code, handler):
            _bind_entry(context, one, function)
    return []


def _put_image(context: Context, at: At, package: At, function: Fields) -> None:
    """Put the address of an image. One of a repository in the stack is not known in time."""
    image = at.get("Properties", "ImageUri")
    text = context.read_text(image)
    if text and "${stack:" not in text:
        function.put("image", text, image)
        context.ledger.carry(image, package)
    else:
        hint = "use `package: {type: image}`, or push the image and set `image`"
        context.ledger.lose(at, "fabric does not run a Dockerfile", hint)


def _read_default(context: Context, at: At) -> str:
    """Read the default value of a parameter, by which files are found."""
    return context.names.defaults.get(at.get("Ref").text, "") if at.is_map else ""


def _bind_entry(context: Context, at: At, function: Fields) -> None:
    """Use a parameter in the entry, which has another value in other stages."""
    default = _read_default(context, at)
    if not default:
        return
    entry = str(function.get("entry"))
    own = default.removeprefix("./")
    if own != "." and own in entry:
        function.put("entry", entry.replace(own, context.read_text(at), 1), at)
    else:
        reason = "the build does not depend on the stage"
        context.ledger.change(at, f"{reason}; the value of the default stage is used", default)


def _put_inline_code(
    context: Context, at: At, handler: At, runtime: str, function: Fields
) -> list[NewFile]:
    family = _FAMILY.match(runtime)
    suffix = _SUFFIXES.get(family[0] if family else "")
    text = context.read_text(at)
    if suffix is None or not text:
        context.ledger.lose(at, f"inline code for the runtime `{runtime}` is not supported")
        return []
    if has_code_credential(text):
        hint = "read the value from a variable, and write the code into a file"
        context.ledger.lose(at, "the code contains a credential, which is not copied", hint)
        return []
    name = str(function.get("name"))
    export = context.read_text(handler).rpartition(".")[2] or "handler"
    function.put("entry", f"src/{name}.{export}", handler)
    context.ledger.change(at, "inline code is written to a file", f"src/{name}.{suffix}")
    context.ledger.carry(handler)
    return [NewFile(f"src/{name}.{suffix}", text.rstrip("\n") + "\n")]


def _put_entry(context: Context, code: _Code, function: Fields) -> None:
    metadata = code.at.get("Metadata")
    method = metadata.get("BuildMethod")
    put = _BUILDS.get(_choose_build(method.text, code.runtime), _put_plain)
    put(context, code, function)
    context.ledger.carry(method)
    for one in metadata.list_entries():
        if one.key not in ("BuildMethod", "BuildProperties"):
            context.ledger.drop(one, "used only by CloudFormation and `sam build`")


def _choose_build(method: str, runtime: str) -> str:
    for prefix in ("makefile", "esbuild", "dotnet", "rust", "go"):
        if method.startswith(prefix):
            return prefix
    if runtime.startswith("provided"):
        return "go"
    return next((one for one in ("go", "java", "dotnet", "ruby") if runtime.startswith(one)), "")


def _put_plain(context: Context, code: _Code, function: Fields) -> None:
    if code.text:
        put_file_entry(context, code.handler, code.text, function, code.root)
    else:
        context.ledger.lose(code.at, "the function has no handler")


def _put_makefile(context: Context, code: _Code, function: Fields) -> None:
    target = f'build-{code.at.key} ARTIFACTS_DIR="$FABRIC_OUT_DIR"'
    root = context.surroundings.place(code.root)
    command = f"make -C {shlex.quote(root)} {target}"
    if code.runtime.startswith(tuple(_FORWARDS)) and code.text:
        put_file_entry(context, code.handler, code.text, function, code.root)
        command += _forward_handler(code, str(function.get("entry")))
    else:
        function.put("entry", code.text or code.at.key, code.handler)
        context.ledger.carry(code.handler)
    function.child("build").put("command", ["sh", "-c", command])


def _forward_handler(code: _Code, entry: str) -> str:
    """Write a file with the path of the entry, because the Makefile omits the directory."""
    module, _, export = code.text.rpartition(".")
    place = entry.rpartition(".")[0]
    if place == module:
        return ""
    family, text = next(one for one in _FORWARDS.items() if code.runtime.startswith(one[0]))
    up = "../" * place.count("/")
    line = text.format(module=module.replace("/", "."), path=f"{up}{module}", export=export)
    file = shlex.quote(f"{place}.{_SUFFIXES[family]}")
    folder = shlex.quote(place.rpartition("/")[0])
    return (
        f' && mkdir -p "$FABRIC_OUT_DIR"/{folder}'
        f' && echo {shlex.quote(line)} > "$FABRIC_OUT_DIR"/{file}'
    )


# Modules that only contain the handler of another one.
_FORWARDS = {
    "python": "from {module} import {export}",
    "nodejs": 'exports.{export} = require("{path}").{export};',
}


# The extension of bundles in the format of ES modules.
_MODULES = ".js=.mjs"


def _put_esbuild(context: Context, code: _Code, function: Fields) -> None:
    put_file_entry(context, code.handler, code.text, function, code.root)
    entries = []
    is_module = code.properties.get("Format").text == "esm"
    for one in code.properties.list_entries():
        key = one.key[:1].lower() + one.key[1:]
        if key == "entryPoints":
            context.ledger.drop(one, "the entry is the handler")
        elif key == "outExtension" and is_module and context.read_texts(one) == [_MODULES]:
            context.ledger.drop(one, "bundles with the format `esm` have this extension")
        elif key in ("loader", "mainFields", "outExtension", "banner", "footer"):
            reason = f"the option `{one.key}` of esbuild is not converted"
            context.ledger.lose(one, reason, "set it in `build`")
        else:
            context.ledger.carry(one)
            entries.append(KeyValue(key, one.line, one.column, one.node or _NOTHING))
    options = code.properties._replace(node=Mapping(tuple(entries), 0, 0))
    put_esbuild(context, options, function.child("build"))


_NOTHING = Scalar(None, "", 0, 0)


def _put_program(preset: str) -> "PutCode":
    """Put the directory or the name of a program, which a preset compiles."""

    def put(context: Context, code: _Code, function: Fields) -> None:
        function.child("build").put("preset", preset)
        binary = context.read_text(code.properties.get("Binary"))
        root = context.surroundings.place(code.root)
        function.put("entry", binary or root, code.handler)
        if not choose_runtime(code.runtime):
            function.put("runtime", "provided.al2023")
        context.ledger.carry(code.properties)
        context.ledger.change(code.handler, "the handler of a program is `bootstrap`")

    return put


def _put_managed(preset: str) -> "PutCode":
    def put(context: Context, code: _Code, function: Fields) -> None:
        function.child("build").put("preset", preset)
        function.put("entry", code.text, code.handler)
        context.ledger.carry(code.handler, code.properties)

    return put


def _put_ruby(context: Context, code: _Code, function: Fields) -> None:
    function.child("build").put("preset", "ruby")
    put_file_entry(context, code.handler, code.text, function, code.root)


def _put_java(context: Context, code: _Code, function: Fields) -> None:
    """Build with the tool of the project, as `sam build` does."""
    tools = {
        "pom.xml": ("mvn -q -B package -DskipTests", "target"),
        "build.gradle": ("gradle -q build -x test", "build/libs"),
        "build.gradle.kts": ("gradle -q build -x test", "build/libs"),
    }
    for name, (command, folder) in tools.items():
        if context.surroundings.is_file(join_path(code.root, name)):
            root = context.surroundings.place(code.root)
            text = f"cd {shlex.quote(root)} && {command} && {_UNPACK.format(folder)}"
            function.put("entry", code.text, code.handler)
            function.child("build").put("command", ["sh", "-c", text])
            context.ledger.change(code.handler, "the classes are built by a command", text)
            return
    _put_managed("java")(context, code, function)


PutCode = Callable[[Context, _Code, Fields], None]
_BUILDS: dict[str, PutCode] = {
    "makefile": _put_makefile,
    "esbuild": _put_esbuild,
    "rust": _put_program("rust"),
    "go": _put_program("go"),
    "java": _put_java,
    "dotnet": _put_managed("dotnet"),
    "ruby": _put_ruby,
}


def _put_environment(context: Context, at: At, fields: Fields) -> None:
    if is_function(at) or is_function(at.get("Variables")):
        context.ledger.lose(at, _CONDITIONAL, "set `env` with `stages` in fabric.yml")
        return
    context.copy_environment(at.get("Variables"), fields, "env")
    context.ledger.carry(at)


def _put_layers(context: Context, at: At, fields: Fields) -> None:
    texts = [one.removeprefix("layer:") for one in context.read_texts(at)]
    context.put(at, fields, "layers", texts)


def _put_dead_letter(context: Context, at: At, fields: Fields) -> None:
    context.copy(at.get("TargetArn"), fields, "deadLetter")
    context.ledger.carry(at.get("Type"))


def _put_number_below(inner: str, key: str) -> Callable[[Context, At, Fields], None]:
    return lambda context, at, fields: context.copy_number(at.get(inner), fields, key)


FUNCTION_RULES: Rules = {
    **capitalize_keys(FUNCTION_SETTINGS),
    "Architectures": put_architecture,
    "Environment": _put_environment,
    "Layers": _put_layers,
    "ReservedConcurrentExecutions": number_as("reservedConcurrency"),
    "ProvisionedConcurrencyConfig": _put_number_below(
        "ProvisionedConcurrentExecutions", "provisionedConcurrency"
    ),
    "EphemeralStorage": _put_number_below("Size", "ephemeralStorage"),
    "VpcConfig": put_vpc,
    "DeadLetterQueue": _put_dead_letter,
    "FileSystemConfigs": put_file_system,
    "LoggingConfig": inside(
        "logs",
        {
            "LogFormat": lower_as("format"),
            "ApplicationLogLevel": copy_as("level"),
            "SystemLogLevel": copy_as("systemLevel"),
            "LogGroup": copy_as("group"),
        },
    ),
    "FunctionUrlConfig": put_url,
    "Policies": put_policies,
    "Role": copy_as("role"),
    **share(
        (
            *("AutoPublishAlias", "AutoPublishCodeSha256", "AutoPublishAliasAllProperties"),
            *("VersionDescription", "VersionDeletionPolicy", "PublishToLatestPublished"),
        ),
        drop_because("fabric always publishes versions and the alias `live`"),
    ),
    "PackageType": drop_because("default of fabric"),
    "PropagateTags": drop_because("fabric tags everything that it creates for a function"),
    "FunctionName": put_function_name,
    "DeploymentPreference": lose_because("gradual releases of one function are not supported"),
    "CodeSigningConfigArn": lose_because("signed code is not supported"),
    "AssumeRolePolicyDocument": lose_because("fabric sets the trust policy of its roles"),
    "PermissionsBoundary": lose_because(
        "a boundary applies to all functions", "set `iam.boundary` in extensions.cloud1-lambda"
    ),
    "RolePath": lose_because(
        "a path applies to all functions", "set `iam.path` in extensions.cloud1-lambda"
    ),
    "RuntimeManagementConfig": lose_because("AWS updates runtimes itself"),
    "SourceKMSKeyArn": lose_because("archives are encrypted with the key of AWS"),
    "TenancyConfig": lose_because("tenant isolation is not supported"),
    "CapacityProviderConfig": lose_because("capacity providers are not supported"),
    "ImageConfig": lose_because("settings of images are not supported"),
}
