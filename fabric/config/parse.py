"""A filled and checked tree to the `Config` that the rest of fabric works on."""

import shlex
from typing import NamedTuple

from msgspec.structs import replace

from fabric.config.environment import (
    Supply,
    build_function_env,
    build_supply,
    list_secret_env_names,
)
from fabric.config.layers import list_function_layers, map_layer_addresses
from fabric.config.redact import encode_redacted_config
from fabric.config.resolve.binding_scope import BindingScope
from fabric.config.resolve.stages import list_named_entries, list_overlays
from fabric.config.triggers import parse_function_triggers
from fabric.config.values import (
    DEFAULT_BUILD,
    BackendConfig,
    BuildSettings,
    Config,
    DeploySettings,
    Function,
    Pairs,
    Provider,
    ProviderOverride,
    Targets,
    Workflow,
)
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, Scalar, find_child
from fabric.model.backends import BackendKind, back_end_facts
from fabric.model.problems import Problem
from fabric.model.secret import Secret


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


def parse_config(loaded: Loaded) -> Config:
    root = loaded.root
    build = _build_settings(find_child(root, "build"))
    supply, overrides = build_supply(root, loaded.scope), _parse_overrides(root)
    return Config(
        service=read.read_text(root, "service"),
        stage=loaded.scope.stage,
        file=loaded.file,
        provider=_parse_provider(root, loaded.label),
        functions=_parse_functions(root, supply, build),
        backend=_parse_backend(find_child(root, "backend")),
        build=build,
        deploy=_deploy(find_child(root, "deploy")),
        resources=supply.resources,
        addons=supply.addons,
        workflows=_parse_workflows(root),
        overrides=overrides,
        labels=(loaded.own, *(one.label for one in overrides)),
        targets=_parse_targets(find_child(root, "fabric")),
        extensions=read.encode_node(find_child(root, "extensions"), "{}"),
        resolved=encode_redacted_config(root),
        secret_names=_list_secret_names(root) | supply.secret_names,
        bound_names=loaded.names | supply.bound_names,
        secret_values=Secret(loaded.secret_values | _list_route_paths(loaded.secret_values)),
        warnings=loaded.warnings,
        is_protected=_is_protected(root, loaded.scope.stage),
    )


def _is_protected(root: Mapping, stage: str) -> bool:
    """Return whether the stage is protected. The most specific overlay wins."""
    said = [
        overlay
        for overlay in list_overlays(root, stage)
        if find_child(overlay, "protected") is not None
    ]
    return bool(said) and read.read_flag(said[-1], "protected")


def _parse_provider(root: Mapping, label: str) -> Provider:
    provider = find_child(root, "provider")
    name = read.read_text(provider, "name")
    region = read.read_text(provider, "region") or read.read_text(
        find_child(root, "extensions", name), "region"
    )
    return Provider(name, label, read.read_text(provider, "runtime"), region)


def _parse_functions(root: Mapping, supply: Supply, build: BuildSettings) -> tuple[Function, ...]:
    service_env = read.read_pairs(root, "env")
    addresses = map_layer_addresses(root)
    runtime = read.read_text(find_child(root, "provider"), "runtime")
    return tuple(
        replace(
            _parse_function(
                name, node, runtime, build_function_env(service_env, node, supply), addresses
            ),
            build=_build_settings(find_child(node, "build"), build),
        )
        for name, node in list_named_entries(find_child(root, "functions"))
    )


def _parse_function(
    name: str, node: Mapping, runtime: str, env: Pairs, addresses: dict[str, str]
) -> Function:
    return Function(
        name=name,
        entry=read.read_text(node, "entry"),
        triggers=parse_function_triggers(node),
        env=env,
        layers=list_function_layers(node, addresses),
        runtime=read.read_text(node, "runtime", runtime),
        memory=read.read_integer(node, "memory"),
        timeout=read.read_integer(node, "timeout"),
        architecture=read.read_text(node, "architecture"),
        tags=read.read_pairs(node, "tags"),
        include=read.read_texts(node, "include"),
        reserved_concurrency=read.read_optional_integer(node, "reservedConcurrency"),
        provisioned_concurrency=read.read_optional_integer(node, "provisionedConcurrency"),
    )


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


def _deploy(node: Node | None) -> DeploySettings:
    health = find_child(node, "healthCheck")
    return DeploySettings(
        rollback_on_failure=read.read_optional_flag(node, "rollbackOnFailure"),
        health_check_enabled=read.read_flag(health, "enabled"),
        health_check_url=read.read_text(health, "url"),
    )


def _parse_targets(node: Node | None) -> Targets:
    health = find_child(node, "healthCheck")
    return Targets(
        labels=read.read_texts(node, "targets"),
        routing=read.read_text(node, "routing"),
        health_check_enabled=read.read_flag(health, "enabled"),
        health_check_url=read.read_text(health, "url"),
    )


def _parse_overrides(root: Mapping) -> tuple[ProviderOverride, ...]:
    return tuple(
        ProviderOverride(
            label,
            read.read_text(node, "name"),
            read.read_text(node, "runtime"),
            read.read_text(node, "region"),
            find_child(node, "backend") is not None,
        )
        for label, node in list_named_entries(find_child(root, "providerOverrides"))
    )


def _parse_workflows(root: Mapping) -> tuple[Workflow, ...]:
    return tuple(
        Workflow(name, read.encode_node(find_child(node, "steps"), "[]"))
        for name, node in list_named_entries(find_child(root, "workflows"))
    )


def _list_secret_names(root: Mapping) -> frozenset[str]:
    functions = (node for _, node in list_named_entries(find_child(root, "functions")))
    return list_secret_env_names(root, *functions)


def _list_route_paths(values: frozenset[str]) -> frozenset[str]:
    """List route paths. A whole route, `GET:/path`, can be secret; a trigger has only its path."""
    paths = (value.partition(":")[2] for value in values)
    return frozenset(path for path in paths if path.startswith("/") and path != "/")


def _build_settings(node: Node | None, under: BuildSettings = DEFAULT_BUILD) -> BuildSettings:
    """Merge a `build` section over `under`: maps are merged, other values replaced."""
    if node is None:
        return under
    return BuildSettings(
        command=_read_command(node) if find_child(node, "command") else under.command,
        portable=read.read_flag(node, "portable", default=under.portable),
        ignore=_read_texts(node, "ignore", under.ignore),
        minify=read.read_flag(node, "minify", default=under.minify),
        sourcemap=read.read_flag(node, "sourcemap", default=under.sourcemap),
        external=_read_texts(node, "external", under.external),
        format=read.read_text(node, "format", under.format),
        target=read.read_text(node, "target", under.target),
        define=_merge_pairs(node, "define", under.define),
        loader=_merge_pairs(node, "loader", under.loader),
        tsconfig=read.read_text(node, "tsconfig", under.tsconfig),
        keep_names=read.read_flag(node, "keepNames", default=under.keep_names),
        banner=read.read_text(node, "banner", under.banner),
    )


def _read_command(node: Node) -> tuple[str, ...]:
    line = find_child(node, "command")
    return (
        tuple(shlex.split(line.text))
        if isinstance(line, Scalar)
        else read.read_texts(node, "command")
    )


def _read_texts(node: Node, key: str, under: tuple[str, ...]) -> tuple[str, ...]:
    return read.read_texts(node, key) if find_child(node, key) else under


def _merge_pairs(node: Node, key: str, under: Pairs) -> Pairs:
    """Merge pairs and sort them, because the order in the file has no meaning."""
    return tuple(sorted({**dict(under), **dict(read.read_pairs(node, key))}.items()))
