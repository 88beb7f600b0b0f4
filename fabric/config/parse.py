"""A filled and checked tree to the `Config` that the rest of fabric works on."""

from typing import NamedTuple

from msgspec.structs import replace

from fabric.config.build_settings import build_settings
from fabric.config.environment import Supply, function_env, secret_env_names, supply_of
from fabric.config.layers import layer_addresses, layers_of
from fabric.config.redact import resolved_json
from fabric.config.resolve.binding_scope import BindingScope
from fabric.config.resolve.stages import named_entries, overlays_of
from fabric.config.triggers import triggers_of
from fabric.config.values import (
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
from fabric.config.yaml.nodes import Mapping, Node, child
from fabric.model.back_ends import BackendKind, back_end_facts
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


def config_of(loaded: Loaded) -> Config:
    root = loaded.root
    build = build_settings(child(root, "build"))
    supply, overrides = supply_of(root, loaded.scope), _overrides(root)
    return Config(
        service=read.text(root, "service"),
        stage=loaded.scope.stage,
        file=loaded.file,
        provider=_provider(root, loaded.label),
        functions=_functions(root, supply, build),
        backend=_backend(child(root, "backend")),
        build=build,
        deploy=_deploy(child(root, "deploy")),
        resources=supply.resources,
        addons=supply.addons,
        workflows=_workflows(root),
        overrides=overrides,
        labels=(loaded.own, *(one.label for one in overrides)),
        targets=_targets(child(root, "fabric")),
        extensions=read.as_json(child(root, "extensions"), "{}"),
        resolved=resolved_json(root),
        secret_names=_secret_names(root) | supply.secret_names,
        bound_names=loaded.names | supply.bound_names,
        secret_values=Secret(loaded.secret_values | _paths_of_routes(loaded.secret_values)),
        warnings=loaded.warnings,
        is_protected=_is_protected(root, loaded.scope.stage),
    )


def _is_protected(root: Mapping, stage: str) -> bool:
    """Return whether the stage is protected. The most specific overlay wins."""
    said = [
        overlay for overlay in overlays_of(root, stage) if child(overlay, "protected") is not None
    ]
    return bool(said) and read.flag(said[-1], "protected")


def _provider(root: Mapping, label: str) -> Provider:
    provider = child(root, "provider")
    name = read.text(provider, "name")
    region = read.text(provider, "region") or read.text(child(root, "extensions", name), "region")
    return Provider(name, label, read.text(provider, "runtime"), region)


def _functions(root: Mapping, supply: Supply, build: BuildSettings) -> tuple[Function, ...]:
    service_env = read.pairs(root, "env")
    addresses = layer_addresses(root)
    runtime = read.text(child(root, "provider"), "runtime")
    return tuple(
        replace(
            _function(name, node, runtime, function_env(service_env, node, supply), addresses),
            build=build_settings(child(node, "build"), build),
        )
        for name, node in named_entries(child(root, "functions"))
    )


def _function(
    name: str, node: Mapping, runtime: str, env: Pairs, addresses: dict[str, str]
) -> Function:
    return Function(
        name=name,
        entry=read.text(node, "entry"),
        triggers=triggers_of(node),
        env=env,
        layers=layers_of(node, addresses),
        runtime=read.text(node, "runtime", runtime),
        memory=read.whole(node, "memory"),
        timeout=read.whole(node, "timeout"),
        architecture=read.text(node, "architecture"),
        tags=read.pairs(node, "tags"),
        include=read.texts(node, "include"),
        reserved_concurrency=read.optional_whole(node, "reservedConcurrency"),
        provisioned_concurrency=read.optional_whole(node, "provisionedConcurrency"),
    )


def _backend(node: Node | None) -> BackendConfig:
    kind = BackendKind(read.text(node, "kind", BackendKind.LOCAL))
    others = ((other, _settings_of(node, other)) for other in BackendKind if other is not kind)
    said = tuple((other, settings) for other, settings in others if settings)
    return BackendConfig(kind, _settings_of(node, kind), said)


def _settings_of(node: Node | None, kind: BackendKind) -> Pairs:
    facts = back_end_facts(kind)
    defaults = dict(facts.defaults)
    settings = ((key, read.text(node, key, defaults.get(key, ""))) for key in facts.settings)
    return tuple((key, value) for key, value in settings if value)


def _deploy(node: Node | None) -> DeploySettings:
    health = child(node, "healthCheck")
    return DeploySettings(
        rollback_on_failure=read.optional_flag(node, "rollbackOnFailure"),
        health_check_enabled=read.flag(health, "enabled"),
        health_check_url=read.text(health, "url"),
    )


def _targets(node: Node | None) -> Targets:
    health = child(node, "healthCheck")
    return Targets(
        labels=read.texts(node, "targets"),
        routing=read.text(node, "routing"),
        health_check_enabled=read.flag(health, "enabled"),
        health_check_url=read.text(health, "url"),
    )


def _overrides(root: Mapping) -> tuple[ProviderOverride, ...]:
    return tuple(
        ProviderOverride(
            label,
            read.text(node, "name"),
            read.text(node, "runtime"),
            read.text(node, "region"),
            child(node, "backend") is not None,
        )
        for label, node in named_entries(child(root, "providerOverrides"))
    )


def _workflows(root: Mapping) -> tuple[Workflow, ...]:
    return tuple(
        Workflow(name, read.as_json(child(node, "steps"), "[]"))
        for name, node in named_entries(child(root, "workflows"))
    )


def _secret_names(root: Mapping) -> frozenset[str]:
    functions = (node for _, node in named_entries(child(root, "functions")))
    return secret_env_names(root, *functions)


def _paths_of_routes(values: frozenset[str]) -> frozenset[str]:
    """List route paths. A whole route, `GET:/path`, can be secret; a trigger has only its path."""
    paths = (value.partition(":")[2] for value in values)
    return frozenset(path for path in paths if path.startswith("/") and path != "/")
