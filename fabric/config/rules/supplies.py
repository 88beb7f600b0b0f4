"""Values of resources and addons must exist, so that no variable disappears silently."""

from collections.abc import Iterator

from fabric.config.environment import (
    AddonSecret,
    connection_leaf,
    connection_of,
    managed,
    referred,
    secrets_of,
)
from fabric.config.resolve.binding_scope import BindingScope
from fabric.config.resolve.stages import named_entries
from fabric.config.schema.check import Finding
from fabric.config.yaml.nodes import Mapping, child, place_of
from fabric.config.yaml.syntax import shown
from fabric.model.problems import FabricError, Problem


def missing_supplies(root: Mapping, scope: BindingScope) -> Iterator[Finding]:
    for name, node in named_entries(child(root, "resources")):
        yield from _connection(name, node, scope)
    for name, node in named_entries(child(root, "addons")):
        for one in secrets_of(node):
            yield from _secret(name, one, scope)


def _connection(name: str, node: Mapping, scope: BindingScope) -> Iterator[Finding]:
    leaf = connection_leaf(node)
    if leaf is not None and leaf.text and connection_of(node, scope.env) is None:
        said, missing = shown(leaf.text), scope.missing(leaf.text)
        message = f"resource `{shown(name)}`: the variable `{said}` {missing} and has no default"
        hint = f"set {said}, or add a `default` to the resource"
        yield Finding(Problem("config/unset-variable", message, hint, place_of(leaf)))


def _secret(name: str, one: AddonSecret, scope: BindingScope) -> Iterator[Finding]:
    value, _ = referred(one, scope)
    if value is not None:
        return
    owner, said = f"addon `{shown(name)}`: `{shown(one.variable)}`", shown(one.key)
    if one.lies_elsewhere:
        yield _unread(owner, one, scope)
        return
    message = (
        f"{owner} requires the secret `{said}`, which {scope.missing(one.key)} and has no default"
    )
    hint = f"set the variable {said}, or add it to `secrets`"
    yield Finding(Problem("config/unset-variable", message, hint, place_of(one.ref)))


def _unread(owner: str, one: AddonSecret, scope: BindingScope) -> Finding:
    """Return the finding. Deploy commands can know a manager that is missing here; an installed one
    must respond."""
    error = managed(one, scope)
    if isinstance(error, FabricError) and error.first.code != "config/secret-plugin":
        found = error.first
        message = f"{owner}: {found.message}"
        return Finding(Problem(found.code, message, found.hint, place_of(one.ref)))
    message = f"{owner} is not passed to functions: {shown(one.key)} cannot be resolved here"
    hint = "add a `default` for functions (custom deploy commands receive the reference)"
    problem = Problem("config/secret-plugin", message, hint, place_of(one.ref))
    return Finding(problem, is_fatal=False)
