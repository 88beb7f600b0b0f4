"""The environment of functions: service, function, resources, addons; what comes later wins."""

from collections.abc import Mapping as Env
from typing import NamedTuple

from fabric.config.resolve.bindings import BindingScope, fill, is_reference
from fabric.config.resolve.stages import named_entries
from fabric.config.values import Addon, Pairs, Resource
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, Scalar, child, find


class Supply(NamedTuple):
    """What the service's resources and addons give to its functions."""

    resources: tuple[Resource, ...]
    addons: tuple[Addon, ...]
    resource_values: dict[str, tuple[str, str]]
    addon_values: dict[str, Pairs]
    secret_names: frozenset[str]
    bound_names: frozenset[str]


def supply_of(root: Mapping, scope: BindingScope) -> Supply:
    """Values of resources and addons; one that cannot be had is left out."""
    nodes = named_entries(child(root, "resources"))
    resources = tuple(_resource(name, node) for name, node in nodes)
    values = {
        one.name: (one.env_var, value)
        for one, (_, node) in zip(resources, nodes, strict=True)
        if (value := _connection(one, read.text(node, "connectionString"), scope.env)) is not None
    }
    addon_nodes = named_entries(child(root, "addons"))
    addons = tuple(_addon(name, node) for name, node in addon_nodes)
    found = {name: _addon_values(node, scope) for name, node in addon_nodes}
    connections = frozenset(one.connection_env for one in resources if one.connection_env)
    return Supply(
        resources,
        addons,
        values,
        {name: pairs for name, (pairs, _) in found.items()},
        connections
        | {one.env_var for one in resources if one.env_var}
        | {name for addon in addons for name, _ in addon.secrets},
        connections.union(*(names for _, names in found.values())),
    )


def function_env(service_env: Pairs, function: Mapping, supply: Supply) -> Pairs:
    env = dict(service_env) | dict(read.pairs(function, "env"))
    for name in _chosen(function, "resources", tuple(supply.resource_values)):
        if name in supply.resource_values:
            key, value = supply.resource_values[name]
            env[key] = value
    for name in _chosen(function, "addons", tuple(supply.addon_values)):
        env.update(supply.addon_values.get(name, ()))
    return tuple(sorted(env.items()))


def secret_env_names(*maps: Node | None) -> frozenset[str]:
    """Variables in the `env` of these nodes that a secret was bound into."""
    return frozenset(
        name for node in maps for name, leaf in read.leaves(node, "env").items() if leaf.secret
    )


def _chosen(function: Mapping, key: str, everything: tuple[str, ...]) -> tuple[str, ...]:
    return everything if find(function, key) is None else read.texts(function, key)


def _resource(name: str, node: Mapping) -> Resource:
    connection = read.text(node, "connectionEnv") or read.text(node, "connection-env")
    env_var = read.text(node, "envVar") or connection
    return Resource(name, read.text(node, "type"), env_var, connection)


def _connection(resource: Resource, literal: str, env: Env[str, str]) -> str | None:
    if not resource.env_var:
        return None
    return env.get(resource.connection_env, literal or None)


def _addon(name: str, node: Mapping) -> Addon:
    options = read.as_json(child(node, "options"), "{}")
    secrets = tuple(
        (variable, leaf.written or leaf.text)
        for variable, leaf in read.leaves(node, "secrets").items()
    )
    return Addon(name, read.text(node, "version"), options, secrets)


def _addon_values(node: Mapping, scope: BindingScope) -> tuple[Pairs, frozenset[str]]:
    """Variables and values of an addon's secrets, and the deployer's variables looked at."""
    values, names = [], frozenset[str]()
    for variable, leaf in read.leaves(node, "secrets").items():
        value, looked_at = _referred(leaf, scope)
        names |= looked_at
        if value is not None:
            values.append((variable, value))
    return tuple(values), names


def _referred(leaf: Scalar, scope: BindingScope) -> tuple[str | None, frozenset[str]]:
    """What a reference stands for; None when that lies with a plug-in or is not set."""
    if leaf.bound:
        return leaf.text, frozenset()
    key = leaf.text.removeprefix("secret://")
    if is_reference(key):
        return None, frozenset()
    filled = fill(leaf._replace(value=f"${{secret:{key}}}"), scope)
    has_value = not filled.problems and isinstance(filled.node, Scalar)
    return (
        filled.node.text if has_value and isinstance(filled.node, Scalar) else None
    ), filled.names
