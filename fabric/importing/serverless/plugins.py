"""Plugins of the Serverless Framework and their settings in `custom`."""

from collections.abc import Callable

from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.event_target import EventTarget
from fabric.importing.packaging import put_build_step, put_esbuild
from fabric.importing.rules import Rules, apply_rules, copy_as, drop_because, lose_because, share
from fabric.importing.serverless.events import convert_workflow_events
from fabric.importing.serverless.functions import shorten
from fabric.importing.serverless.variables import Variables
from fabric.importing.serverless.wsgi import note_wsgi_settings
from fabric.importing.source import At
from fabric.importing.state_machines import convert_state_machine

# Plugins without a counterpart, because fabric does not need one.
_LOCAL = """
serverless-offline serverless-dynamodb-local serverless-s3-local serverless-localstack
serverless-offline-dynamodb-streams serverless-offline-kinesis serverless-offline-scheduler
serverless-offline-sns serverless-offline-sqs serverless-offline-ssm
serverless-dynamodb-seed serverless-jest-plugin serverless-mocha-plugin serverless-plugin-simulate
"""
_NOT_NEEDED = """
serverless-cf-vars serverless-deployment-bucket serverless-dotenv serverless-export-env
serverless-latest-layer-version serverless-plugin-common-excludes
serverless-plugin-include-dependencies serverless-plugin-split-stacks serverless-prune-plugin
serverless-stack-output
"""
_OTHER_PROVIDERS = """
serverless-aliyun-function-compute serverless-azure-functions serverless-cloudflare-workers
serverless-google-cloudfunctions serverless-openwhisk
"""
_BUNDLERS = """
serverless-babel-plugin serverless-bundle serverless-nestjs serverless-parcel
serverless-plugin-optimize serverless-plugin-parcel serverless-plugin-typescript
serverless-plugin-webpack serverless-rollup serverless-webpack
@hewmen/serverless-plugin-typescript
""".split()
_DROPPED = {
    **dict.fromkeys(_LOCAL.split(), "for local runs only; run: fabric invoke local --serve"),
    **dict.fromkeys(_NOT_NEEDED.split(), "fabric does not need it"),
    **dict.fromkeys(_OTHER_PROVIDERS.split(), "fabric deploys to this provider itself"),
    "serverless-alexa-skills": "only its own commands use it; manage skills with the ASK CLI",
    "serverless-apigw-binary": "converted to `http.binaryMediaTypes`",
    "serverless-dotenv-plugin": "fabric reads .env itself",
    "serverless-esbuild": "fabric bundles with esbuild",
    "serverless-hooks-plugin": "converted to `hooks` and `build.before`",
    "serverless-iam-roles-per-function": "fabric creates a role for each function",
    "serverless-lift": "its constructs are converted to resources",
    "serverless-pseudo-parameters": "fabric has ${aws:accountId} and ${aws:region}",
    "serverless-python-requirements": "fabric installs the packages of Python functions",
    "serverless-ruby-layer": "fabric packs the gems of Ruby functions",
    "serverless-rust": "fabric compiles Rust programs itself",
    "serverless-secrets-plugin": "fabric reads secrets from the environment or a secret manager",
    "serverless-step-functions": "converted to `workflows`",
    "serverless-wsgi": "the handler of the application is written to a file",
}
_BUNDLER_KEYS = ("webpack", "bundle", "optimize", "typescript", "babel", "rollup", "parcel")
_CUSTOM_OF = {
    "serverless-offline": "serverless-offline",
    "serverless-dynamodb-local": "dynamodb",
    "serverless-s3-local": "s3",
    "serverless-offline-sqs": "serverless-offline-sqs",
    "serverless-prune-plugin": "prune",
    "serverless-dotenv-plugin": "dotenv",
    "serverless-iam-roles-per-function": "serverless-iam-roles-per-function",
    "serverless-export-env": "export-env",
    "serverless-localstack": "localstack",
    "serverless-rust": "rust",
}


def convert_plugins(
    context: Context, source: At, variables: Variables, config: Fields, extension: Fields
) -> None:
    """Convert each plugin, and the settings of known ones."""
    plugins = source.get("plugins")
    modules = plugins.get("modules") if plugins.is_map else plugins
    if not plugins.get("localPath").is_missing:
        context.ledger.lose(plugins.get("localPath"), "plugins of the project are not read")
    found = {one.text: one for one in modules.list_items() if one.text}
    custom = source.get("custom")
    for name, at in found.items():
        _note_plugin(context, name, at)
    for name, key in _CUSTOM_OF.items():
        at = custom.get(key)
        if name in found and at.node is not None:
            context.ledger.drop(at, f"settings of {name}")
    for key, convert in _SETTINGS.items():
        at = custom.get(key)
        if at.node is not None:
            convert(context, variables.resolve(at), config, extension)
    context.ledger.drop_unused(custom, "no variable and no known plugin reads it")


def _note_plugin(context: Context, name: str, at: At) -> None:
    if name in _DROPPED:
        context.ledger.drop(at, _DROPPED[name])
    elif name in _BUNDLERS:
        context.ledger.change(
            at, "fabric bundles with esbuild and does not read the config of the plugin", "build"
        )
    elif name == "serverless-domain-manager":
        context.ledger.carry(at)
    else:
        hint = "add its effect to fabric.yml by hand, if fabric has no equivalent in `hooks`"
        context.ledger.lose(at, f"the plugin `{name}` is not known", hint)


_Setting = Callable[[Context, At, Fields, Fields], None]


def _convert_esbuild(context: Context, at: At, config: Fields, _: Fields) -> None:
    put_esbuild(context, at, config.child("build", at))


def _convert_bundler(context: Context, at: At, _config: Fields, _: Fields) -> None:
    context.ledger.change(
        at, "fabric bundles with esbuild and does not read these settings", "build"
    )


def _convert_domain(context: Context, at: At, _: Fields, extension: Fields) -> None:
    """Convert the domain of serverless-domain-manager."""
    for key in ("rest", "http"):
        at = at.get(key) if at.get(key).is_map else at
    first, *rest = at.list_items()
    for one in rest:
        context.ledger.lose(one, "a service has one domain in fabric")
    domain = extension.child("http").child("domain", first)
    apply_rules(context, first, _DOMAIN_RULES, domain)


def _put_base_path(context: Context, at: At, domain: Fields) -> None:
    text = context.read_text(at).strip("/")
    context.put(at, domain, "basePath", "" if text == "(none)" else text)
    context.ledger.carry(at)


_DOMAIN_RULES: Rules = {
    "domainName": copy_as("name"),
    "certificateArn": copy_as("certificate"),
    "hostedZoneId": copy_as("zone"),
    "basePath": _put_base_path,
    "createRoute53Record": copy_as("createRecord"),
    "certificateName": lose_because(
        "fabric needs the ARN of the certificate", "set http.domain.certificate"
    ),
    **share(
        (
            *("stage", "enabled", "autoDomain", "autoDomainWaitFor", "allowPathMatching"),
            *("endpointType", "apiType", "preserveExternalPathMappings"),
        ),
        drop_because("fabric manages the domain with the API"),
    ),
    **share(
        ("securityPolicy", "tlsTruststoreUri", "hostedZonePrivate", "route53Params"),
        lose_because("fabric has no such setting of domains"),
    ),
}


def _convert_python(context: Context, at: At, _config: Fields, _: Fields) -> None:
    apply_rules(context, at, _PYTHON_RULES, Fields(at))
    for one in at.list_entries():
        if one.key not in _PYTHON_RULES:
            context.ledger.drop(one, "default of fabric")


def _put_file_name(context: Context, at: At, _: Fields) -> None:
    if at.text == "requirements.txt":
        context.ledger.carry(at)
    else:
        context.ledger.change(at, "fabric reads requirements.txt", f"rename {at.text}")


_PYTHON_RULES: Rules = {
    "fileName": _put_file_name,
    "layer": lose_because("a layer of all packages is not created", "add a layer with `packages`"),
    "noDeploy": lose_because("packages cannot be excluded", "remove them from requirements.txt"),
    "zip": lose_because(
        "archives in archives are not supported", "remove `import unzip_requirements`"
    ),
}


def _convert_binary_types(context: Context, at: At, _: Fields, extension: Fields) -> None:
    types = at.get("types")
    context.put(types, extension.child("http"), "binaryMediaTypes", context.read_texts(types))


def _convert_hooks(context: Context, at: At, config: Fields, _: Fields) -> None:
    """Convert the commands of serverless-hooks-plugin by their events."""
    for event in at.list_entries():
        hook = _HOOKS.get(event.key)
        for one in event.list_items():
            command = context.read_text(one)
            if event.key in _BUILD_EVENTS:
                put_build_step(context, one, command, config)
            elif hook is None:
                context.ledger.lose(one, f"fabric has no hook for the event `{event.key}`")
            else:
                step = Fields(one)
                step.put("command", ["sh", "-c", command], one)
                config.child("hooks", at).add(hook, step)
                context.ledger.change(one, "hooks of fabric", f"hooks.{hook}")


_BUILD_EVENTS = (
    *("package:initialize", "before:package:initialize", "after:package:initialize"),
    *("before:package:createDeploymentArtifacts", "before:package:package"),
)
_HOOKS = {
    **dict.fromkeys(("before:deploy:deploy", "deploy:deploy"), "before-deploy"),
    **dict.fromkeys(("after:deploy:deploy", "deploy:finalize"), "after-deploy"),
    "after:deploy:finalize": "after-deploy",
}
_SETTINGS: dict[str, _Setting] = {
    "apigwBinary": _convert_binary_types,
    "hooks": _convert_hooks,
    "esbuild": _convert_esbuild,
    **dict.fromkeys(_BUNDLER_KEYS, _convert_bundler),
    "customDomain": _convert_domain,
    "customDomains": _convert_domain,
    "pythonRequirements": _convert_python,
    "wsgi": note_wsgi_settings,
}


def convert_state_machines(
    context: Context, source: At, config: Fields, target: EventTarget
) -> None:
    """Convert the section of serverless-step-functions."""
    section = source.get("stepFunctions")
    context.ledger.drop(section.get("validate"), "fabric always checks definitions")
    names = context.names
    known = dict(names.functions)
    # The plugin also accepts the keys of functions as logical ids.
    keys = (one.key for one in source.get("functions").list_entries())
    names.functions.update((key, shorten(names.service, key)) for key in keys)
    for at in section.get("stateMachines").list_entries():
        convert_state_machine(context, at, at.key, config, target)
        convert_workflow_events(context, at.get("events"), target)
    names.functions.clear()
    names.functions.update(known)
