"""Values of resources and addons must exist, so that no variable disappears silently."""

from collections.abc import Iterator

from fabric.config.environment import (
    AddonSecret,
    find_connection,
    find_connection_leaf,
    list_addon_secrets,
    read_managed_secret,
    resolve_secret_reference,
)
from fabric.config.resolve.binding_scope import BindingScope
from fabric.config.resolve.stages import list_named_entries
from fabric.config.schema.check import Finding
from fabric.config.yaml.nodes import Mapping, find_child, place_of
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.problems import FabricError, Problem


def find_missing_supplies(root: Mapping, scope: BindingScope) -> Iterator[Finding]:
    for name, node in list_named_entries(find_child(root, "resources")):
        yield from _check_connection(name, node, scope)
    for name, node in list_named_entries(find_child(root, "addons")):
        for one in list_addon_secrets(node):
            yield from _check_secret(name, one, scope)


def _check_connection(name: str, node: Mapping, scope: BindingScope) -> Iterator[Finding]:
    leaf = find_connection_leaf(node)
    if leaf is not None and leaf.text and find_connection(node, scope.env) is None:
        said, missing = format_excerpt(leaf.text), scope.missing(leaf.text)
        message = (
            f"resource `{format_excerpt(name)}`: the variable `{said}` {missing} and has no default"
        )
        hint = f"set {said}, or add a `default` to the resource"
        yield Finding(Problem("config/unset-variable", message, hint, place_of(leaf)))


def _check_secret(name: str, one: AddonSecret, scope: BindingScope) -> Iterator[Finding]:
    value, _ = resolve_secret_reference(one, scope)
    if value is not None:
        return
    owner, said = (
        f"addon `{format_excerpt(name)}`: `{format_excerpt(one.variable)}`",
        format_excerpt(one.key),
    )
    if one.lies_elsewhere:
        yield _unread_secret_finding(owner, one, scope)
        return
    message = (
        f"{owner} requires the secret `{said}`, which {scope.missing(one.key)} and has no default"
    )
    hint = f"set the variable {said}, or add it to `secrets`"
    yield Finding(Problem("config/unset-variable", message, hint, place_of(one.ref)))


def _unread_secret_finding(owner: str, one: AddonSecret, scope: BindingScope) -> Finding:
    """Return the finding. Deploy commands can know a manager that is missing here; an installed one
    must respond."""
    error = read_managed_secret(one, scope)
    if isinstance(error, FabricError) and error.first.code != "config/secret-plugin":
        found = error.first
        message = f"{owner}: {found.message}"
        return Finding(Problem(found.code, message, found.hint, place_of(one.ref)))
    message = (
        f"{owner} is not passed to functions: {format_excerpt(one.key)} cannot be resolved here"
    )
    hint = "add a `default` for functions (custom deploy commands receive the reference)"
    problem = Problem("config/secret-plugin", message, hint, place_of(one.ref))
    return Finding(problem, is_fatal=False)
