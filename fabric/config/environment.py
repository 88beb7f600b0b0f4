"""The environment of functions: service, function, resources, addons. Later ones override."""

from collections.abc import Iterator
from collections.abc import Mapping as Env
from typing import NamedTuple

from fabric.config.resolve.binding_scope import BindingScope
from fabric.config.resolve.bindings import fill, is_reference
from fabric.config.resolve.stages import list_named_entries
from fabric.config.schema.entries import ADDON
from fabric.config.sections import Section
from fabric.config.values import Addon, Pairs, Resource
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, Scalar, find, find_child
from fabric.model.problems import FabricError

_ADDON = Section(Addon, ADDON, given=("name", "secrets"))


class Supply(NamedTuple):
    """Values from the service's resources and addons for its functions."""

    resources: tuple[Resource, ...]
    addons: tuple[Addon, ...]
    resource_values: dict[str, tuple[str, str]]
    addon_values: dict[str, Pairs]
    secret_names: frozenset[str]
    bound_names: frozenset[str]


def build_supply(root: Mapping, scope: BindingScope) -> Supply:
    """Read values of resources and addons. A missing value is a finding of a separate rule."""
    nodes = list_named_entries(find_child(root, "resources"))
    resources = tuple(_parse_resource(name, node) for name, node in nodes)
    values = {
        one.name: (one.env_var, value)
        for one, (_, node) in zip(resources, nodes, strict=True)
        if one.env_var and (value := find_connection(node, scope.env)) is not None
    }
    addon_nodes = list_named_entries(find_child(root, "addons"))
    addons = tuple(_parse_addon(name, node) for name, node in addon_nodes)
    found = {name: _read_addon_values(node, scope) for name, node in addon_nodes}
    connections = frozenset(one.connection_env for one in resources if one.connection_env)
    return Supply(
        resources=resources,
        addons=addons,
        resource_values=values,
        addon_values={name: pairs for name, (pairs, _) in found.items()},
        secret_names=connections
        | {one.env_var for one in resources if one.env_var}
        | {name for addon in addons for name, _ in addon.secrets},
        bound_names=connections.union(*(names for _, names in found.values())),
    )


def build_function_env(service_env: Pairs, function: Mapping, supply: Supply) -> Pairs:
    env = dict(service_env) | dict(read.read_pairs(function, "env"))
    for name in _select_names(function, "resources", tuple(supply.resource_values)):
        if name in supply.resource_values:
            key, value = supply.resource_values[name]
            env[key] = value
    for name in _select_names(function, "addons", tuple(supply.addon_values)):
        env.update(supply.addon_values.get(name, ()))
    return tuple(sorted(env.items()))


def list_secret_env_names(*maps: Node | None) -> frozenset[str]:
    """Variables in the `env` of these nodes that a secret was bound into."""
    return frozenset(
        name for node in maps for name, leaf in read.read_leaves(node, "env").items() if leaf.secret
    )


def _select_names(function: Mapping, key: str, everything: tuple[str, ...]) -> tuple[str, ...]:
    return everything if find(function, key) is None else read.read_texts(function, key)


def _parse_resource(name: str, node: Mapping) -> Resource:
    leaf = find_connection_leaf(node)
    connection = leaf.text if leaf else ""
    env_var = read.read_text(node, "envVar") or connection
    return Resource(name, read.read_text(node, "type"), env_var, connection)


def find_connection_leaf(resource: Mapping) -> Scalar | None:
    """Find the deploying machine's variable with the address of a resource."""
    found = find_child(resource, "connectionEnv") or find_child(resource, "connection-env")
    return found if isinstance(found, Scalar) else None


def find_connection(resource: Mapping, env: Env[str, str]) -> str | None:
    """Find the address from its first source; None if no source has it."""
    leaf = find_connection_leaf(resource)
    said = env.get(leaf.text) if leaf else None
    if said is not None:
        return said
    if said := read.read_text(resource, "connectionString"):
        return said
    default = find_child(resource, "default")
    return default.text if isinstance(default, Scalar) else None


def _parse_addon(name: str, node: Mapping) -> Addon:
    secrets = tuple(
        (one.variable, one.ref.written or one.ref.text) for one in list_addon_secrets(node)
    )
    return _ADDON.read(node, name=name, secrets=secrets)


class AddonSecret(NamedTuple):
    """A variable of an addon, its secret reference, and its fallback value."""

    variable: str
    ref: Scalar
    default: Scalar | None = None

    @property
    def key(self) -> str:
        return self.ref.text.removeprefix("secret://")

    @property
    def lies_elsewhere(self) -> bool:
        return not self.ref.bound and is_reference(self.key)


def list_addon_secrets(addon: Mapping) -> Iterator[AddonSecret]:
    table = find_child(addon, "secrets")
    for entry in table.entries if isinstance(table, Mapping) else ():
        ref = entry.value if isinstance(entry.value, Scalar) else find_child(entry.value, "ref")
        default = find_child(entry.value, "default") if isinstance(entry.value, Mapping) else None
        if isinstance(ref, Scalar):
            yield AddonSecret(entry.key, ref, default if isinstance(default, Scalar) else None)


def _read_addon_values(node: Mapping, scope: BindingScope) -> tuple[Pairs, frozenset[str]]:
    """Read an addon's secrets: variables, values, and the names of variables read."""
    values, names = [], frozenset[str]()
    for one in list_addon_secrets(node):
        value, looked_at = resolve_secret_reference(one, scope)
        names |= looked_at
        if value is not None:
            values.append((one.variable, value))
    return tuple(values), names


def read_managed_secret(one: AddonSecret, scope: BindingScope) -> str | FabricError:
    """Read a managed secret, or return the error of its manager."""
    scheme, _, reference = one.key.partition("://")
    try:
        return scope.read_secret(scheme, reference)
    except FabricError as error:
        return error


def resolve_secret_reference(
    one: AddonSecret, scope: BindingScope
) -> tuple[str | None, frozenset[str]]:
    """Resolve a secret reference; None if it cannot be resolved here."""
    if one.ref.bound:
        return one.ref.text, frozenset()
    default = one.default.text if one.default else None
    if one.lies_elsewhere:
        found = read_managed_secret(one, scope)
        return (found if isinstance(found, str) else default), frozenset()
    filled = fill(one.ref._replace(value=f"${{secret:{one.key}}}"), scope)
    if filled.problems or not isinstance(filled.node, Scalar):
        return default, filled.names
    return filled.node.text, filled.names
