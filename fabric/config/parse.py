"""A filled and checked tree to the `Config` that the rest of fabric works on."""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from fabric.config.environment import (
    Supply,
    build_function_env,
    build_supply,
    list_secret_env_names,
)
from fabric.config.layers import list_function_layers, map_layer_addresses, parse_layers
from fabric.config.redact import encode_redacted_config
from fabric.config.resolve.binding_scope import BindingScope
from fabric.config.resolve.stages import is_protected, list_named_entries
from fabric.config.schema.bound_values import convert_bound_values
from fabric.config.schema.build import BUILD
from fabric.config.schema.config import CONFIG, DEPLOY, HEALTH_CHECK, OVERRIDE, TARGETS
from fabric.config.schema.entries import WORKFLOW
from fabric.config.schema.function import FUNCTION, PACKAGE
from fabric.config.schema.function_settings import FUNCTION_SETTINGS
from fabric.config.sections import Section, find_json
from fabric.config.stacks import parse_stacks
from fabric.config.steps import find_command, find_commands, parse_steps
from fabric.config.triggers import parse_function_triggers
from fabric.config.values import (
    DEFAULT_BUILD,
    NO_CUSTOM_BUILD,
    BackendConfig,
    BindingUse,
    BuildSettings,
    BundleSettings,
    Capacity,
    Check,
    Config,
    ConfigDocument,
    CustomBuild,
    DeploySettings,
    Function,
    HealthCheck,
    PackageSettings,
    Pairs,
    Provider,
    ProviderOverride,
    Supplies,
    Targets,
    Workflow,
)
from fabric.config.workflows import parse_machines
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, Scalar, find_child
from fabric.model.backends import BackendKind, back_end_facts
from fabric.model.builds.command_runtimes import can_build
from fabric.model.builds.python_target import OptionalDependencies
from fabric.model.lookups import NamedLookup
from fabric.model.problems import Problem
from fabric.model.secrets.secret import Secret

_HEALTH_CHECK = Section(HealthCheck, HEALTH_CHECK)
_HEALTH_READER = {"health_check": _HEALTH_CHECK.find_child}
_BUILD = Section(
    BuildSettings,
    BUILD,
    readers={"command": find_command},
    given=("bundle", "optional", "custom", "package"),
)
_CUSTOM = Section(CustomBuild, BUILD, readers={"tools": find_commands})
_BUNDLE = Section(BundleSettings, BUILD)
_OPTIONAL = Section(OptionalDependencies, BUILD)
_PACKAGE = Section(PackageSettings, PACKAGE, given=("existing",))
_PROVISIONED = "provisionedConcurrency"


def _find_provisioned(node: Node | None, key: str) -> int | None:
    """Find the number of instances, or the minimum of their scaling."""
    found = find_child(node, key)
    if isinstance(found, Mapping):
        return read.read_optional_integer(found, "min")
    return read.read_optional_integer(node, key)


_CAPACITY = Section(Capacity, FUNCTION, readers={"provisioned_concurrency": _find_provisioned})
_FUNCTION = Section(
    Function,
    FUNCTION,
    given=(
        "name",
        "triggers",
        "env",
        "layers",
        "runtime",
        "capacity",
        "build",
        "settings",
        "checks",
    ),
)
_DEPLOY = Section(DeploySettings, DEPLOY, readers=_HEALTH_READER, given=("is_protected",))
_TARGETS = Section(
    Targets,
    TARGETS,
    keys={"labels": "targets"},
    readers=_HEALTH_READER,
    given=("overrides", "choices"),
)
_OVERRIDE = Section(ProviderOverride, OVERRIDE, given=("label", "has_backend"))
_WORKFLOW = Section(Workflow, WORKFLOW, readers={"steps": find_json}, given=("name",))


class Loaded(NamedTuple):
    """A valid document with the facts collected while loading."""

    file: str
    root: Mapping
    label: str
    own: str
    scope: BindingScope
    names: frozenset[str]
    secret_values: frozenset[str]
    warnings: tuple[Problem, ...]
    references: tuple[NamedLookup, ...] = ()


def parse_config(loaded: Loaded) -> Config:
    root = convert_bound_values(CONFIG, loaded.root)
    build = _merge_build_settings(find_child(root, "build"), DEFAULT_BUILD)
    supply, overrides = build_supply(root, loaded.scope), _parse_overrides(root)
    return Config(
        service=read.read_text(root, "service"),
        stage=loaded.scope.stage,
        document=_describe_document(loaded, supply),
        provider=_parse_provider(root, loaded.label),
        functions=_parse_functions(root, supply, build),
        backend=_parse_backend(find_child(root, "backend")),
        build=build,
        deploy=_DEPLOY.read(
            find_child(root, "deploy"), is_protected=is_protected(root, loaded.scope.stage)
        ),
        supplies=Supplies(
            *(supply.resources, supply.addons, _parse_workflows(root)),
            *(parse_steps(root, build.ignore), parse_layers(root)),
            stacks=parse_stacks(root, loaded.scope),
            machines=parse_machines(root, loaded.scope),
        ),
        targets=_TARGETS.read(
            find_child(root, "fabric"),
            overrides=overrides,
            choices=(loaded.own, *(one.label for one in overrides)),
        ),
    )


def _describe_document(loaded: Loaded, supply: Supply) -> ConfigDocument:
    secret_values = loaded.secret_values | _list_route_paths(loaded.secret_values)
    return ConfigDocument(
        file=loaded.file,
        resolved=encode_redacted_config(loaded.root),
        bindings=BindingUse(names=loaded.names | supply.bound_names),
        secret_names=_list_secret_names(loaded.root) | supply.secret_names,
        secret_values=Secret(secret_values),
        warnings=loaded.warnings,
    )


def _parse_workflows(root: Mapping) -> tuple[Workflow, ...]:
    return tuple(
        _WORKFLOW.read(node, name=name)
        for name, node in list_named_entries(find_child(root, "workflows"))
    )


def _parse_provider(root: Mapping, label: str) -> Provider:
    provider = find_child(root, "provider")
    name = read.read_text(provider, "name")
    region = read.read_text(provider, "region") or read.read_text(
        find_child(root, "extensions", name), "region"
    )
    extensions = read.encode_node(find_child(root, "extensions"), "{}")
    return Provider(name, label, read.read_text(provider, "runtime"), region, extensions)


def _parse_functions(root: Mapping, supply: Supply, build: BuildSettings) -> tuple[Function, ...]:
    service_env = read.read_pairs(root, "env")
    addresses = map_layer_addresses(root)
    runtime = read.read_text(find_child(root, "provider"), "runtime")
    return tuple(
        _FUNCTION.read(
            node,
            name=name,
            triggers=parse_function_triggers(node),
            env=build_function_env(service_env, node, supply),
            layers=list_function_layers(node, addresses),
            runtime=read.read_text(node, "runtime", runtime),
            capacity=_CAPACITY.read(node),
            build=_parse_function_build(node, build, runtime),
            settings=tuple(_list_function_settings(node)),
            checks=_parse_checks(node),
        )
        for name, node in list_named_entries(find_child(root, "functions"))
    )


def _parse_checks(function: Mapping) -> tuple[Check, ...]:
    """Parse the checks. A plain event is the name of a file."""
    rows = list_named_entries(find_child(function, "checks"))
    return tuple(_parse_check(name, node) for name, node in rows)


def _parse_check(name: str, node: Mapping) -> Check:
    event, expect = find_child(node, "event"), read.encode_node(find_child(node, "expect"), "{}")
    if isinstance(event, Scalar) and isinstance(event.value, str):
        return Check(name=name, file=event.text, expect=expect)
    return Check(name=name, event=read.encode_node(event, "null"), expect=expect)


def _list_function_settings(function: Mapping) -> Iterator[tuple[str, str]]:
    """Yield the given settings. `false` is the same as no setting: it cancels a default."""
    for one in FUNCTION_SETTINGS:
        node = find_child(function, one.name)
        if one.name == _PROVISIONED and isinstance(node, Scalar):
            continue  # a count is part of the capacity
        plain = read.read_as(node) if isinstance(node, Scalar) else None
        text = plain if isinstance(plain, str) else read.encode_node(node)
        if text not in ("", "false", "null"):
            yield one.name, text


def _parse_backend(node: Node | None) -> BackendConfig:
    kind = BackendKind(read.read_text(node, "kind", BackendKind.LOCAL))
    others = ((other, _read_settings(node, other)) for other in BackendKind if other is not kind)
    said = tuple((other, settings) for other, settings in others if settings)
    return BackendConfig(kind, _read_settings(node, kind), said)


def _read_settings(node: Node | None, kind: BackendKind) -> Pairs:
    facts = back_end_facts(kind)
    defaults = dict(facts.defaults)
    settings = ((key, read.read_text(node, key, defaults.get(key, ""))) for key in facts.settings)
    return tuple((key, value) for key, value in settings if value)


def _parse_overrides(root: Mapping) -> tuple[ProviderOverride, ...]:
    return tuple(
        _OVERRIDE.read(node, label=label, has_backend=find_child(node, "backend") is not None)
        for label, node in list_named_entries(find_child(root, "providerOverrides"))
    )


def _list_secret_names(root: Mapping) -> frozenset[str]:
    functions = (node for _, node in list_named_entries(find_child(root, "functions")))
    return list_secret_env_names(root, *functions)


def _list_route_paths(values: frozenset[str]) -> frozenset[str]:
    """List route paths. A whole route, `GET:/path`, can be secret; a trigger has only its path."""
    paths = (value.partition(":")[2] for value in values)
    return frozenset(path for path in paths if path.startswith("/") and path != "/")


def _merge_build_settings(node: Node | None, under: BuildSettings) -> BuildSettings:
    """Merge a `build` section over `under`: maps are merged, other values replaced."""
    bundle = _BUNDLE.merge(under.bundle, node)
    define = _merge_pairs(under.bundle.define, bundle.define)
    loader = _merge_pairs(under.bundle.loader, bundle.loader)
    merged = replace(bundle, define=define, loader=loader)
    optional = _OPTIONAL.merge(under.optional, node)
    custom = _CUSTOM.merge(under.custom, node)
    custom = replace(custom, caches=_merge_pairs(under.custom.caches, custom.caches))
    return replace(_BUILD.merge(under, node), bundle=merged, optional=optional, custom=custom)


def _parse_function_build(node: Node, under: BuildSettings, runtime: str) -> BuildSettings:
    """Parse the build of a function. Its own preset replaces the command of the service, and a
    preset of the service counts only for runtimes that it can build."""
    build = find_child(node, "build")
    own, inherited = read.read_text(build, "preset"), under.custom.preset
    if own and own != inherited:
        under = replace(under, command=(), custom=NO_CUSTOM_BUILD)
    elif inherited and not can_build(inherited, read.read_text(node, "runtime", runtime)):
        under = replace(under, custom=NO_CUSTOM_BUILD)
    merged = _merge_build_settings(build, under)
    image = read.read_text(node, "image")
    if image:
        return replace(merged, package=PackageSettings("image", image, existing=True))
    return replace(merged, package=_PACKAGE.read(find_child(node, "package"), existing=False))


def _merge_pairs(under: Pairs, over: Pairs) -> Pairs:
    """Merge pairs and sort them, because the order in the file has no meaning."""
    return tuple(sorted({**dict(under), **dict(over)}.items()))
