"""Rules about values: outputs of dependencies only where they can be filled in, none missing."""

from collections.abc import Iterator

from msgspec.structs import replace

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
from fabric.config.schema.config import NO_EFFECT
from fabric.config.schema.function_settings import FUNCTION_SETTINGS
from fabric.config.triggers import list_typed_triggers
from fabric.config.yaml import read
from fabric.config.yaml.nodes import EMPTY, Mapping, Node, Scalar, Sequence, find_child, place_of
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.catalog import FUNCTION_NAME, find_provider_facts
from fabric.model.late_values import (
    OWN_ADDRESSES,
    OWN_API,
    SERVICE_OUTPUT,
    STACK_OUTPUT,
    find_late_names,
    format_binding,
    late_value_problem,
)
from fabric.model.lookups import PINNED
from fabric.model.problems import FabricError, Problem
from fabric.model.text.spelling import suggest_spelling

_FREE = frozenset({"env", "params"})
# Of the entries of these, the keys that may; in a function nothing else may stand late.
_FREE_IN = {
    "functions": frozenset({"env"}),
    "resources": frozenset({"connectionString", "default"}),
    "addons": frozenset({"secrets"}),
    "workflows": frozenset({"definition", "permissions", "role", "substitutions"}),
}
# Further keys where the deployer fills late values: only deploys and releases read them.
_FILLED_IN = {
    "functions": frozenset({"triggers", "layers", "tags", *(one.name for one in FUNCTION_SETTINGS)})
    - {FUNCTION_NAME},
    "layers": frozenset({"arn"}),
    "workflows": frozenset({"triggers"}),
}
KNOWN_IN_TRIGGERS = frozenset(
    (
        *("type", "route", "method", "path", "schedule", "timezone", "events", "authorizer"),
        "startingPosition",
    )
)
# The keys of functions, workflows and layers that deploys fill with secrets at AWS.
_SECRETS_IN = frozenset({"env", "tags", "triggers"})
# Decided before anything runs, and written down.
_KNOWN_IN_EXTENSIONS = frozenset({"region"})
_KNOWN_IN_HTTP = frozenset({"defaultAuthorizer"})


def find_misplaced_late_values(root: Mapping) -> Iterator[Finding]:
    provider = find_provider_facts(read.read_text(find_child(root, "provider"), "name"))
    is_filled = provider is not None and provider.traits.deploys_stacks
    free = {
        key: _FREE_IN.get(key, frozenset())
        | (_FILLED_IN.get(key, frozenset()) if is_filled else frozenset())
        for key in (*_FREE_IN, "layers")
    }
    for entry in root.entries:
        if entry.key in free:
            yield from _check_entries(entry.key, entry.value, free[entry.key])
        elif entry.key == "defaults":
            yield from _check_item(entry.key, entry.value, free["functions"])
        elif entry.key == "extensions":
            yield from _check_extensions(entry.value, are_stacks_filled=is_filled)
        elif entry.key in NO_EFFECT:
            yield from _find_late_below(entry.key, entry.value, ignored=(PINNED,))
        elif entry.key not in _FREE:
            yield from _find_late_below(entry.key, entry.value)
    yield from _find_api_uses(root, is_filled=is_filled)


def _find_api_uses(root: Mapping, *, is_filled: bool) -> Iterator[Finding]:
    """Find uses of the own API where other late values can be: only stacks are deployed after the
    release."""
    for key in ("env", "defaults"):
        yield from _find_late_below(key, find_child(root, key) or EMPTY, (OWN_API,))
    for section, keys in _FREE_IN.items():
        for name, item in list_named_entries(find_child(root, section)):
            for key in sorted(keys | _FILLED_IN.get(section, frozenset())):
                path = f"{section}.{format_excerpt(name)}.{key}"
                yield from _find_late_below(path, find_child(item, key) or EMPTY, (OWN_API,))
    for name, extension in list_named_entries(find_child(root, "extensions")):
        for entry in extension.entries:
            if entry.key != "stack" or not is_filled:
                path = f"extensions.{name}.{entry.key}"
                yield from _find_late_below(path, entry.value, (OWN_API,))


def _check_entries(key: str, node: Node, free: frozenset[str]) -> Iterator[Finding]:
    for name, item in list_named_entries(node):
        owner = f"{key}.{format_excerpt(name)}" if name else f"{key}[]"
        yield from _check_item(owner, item, free)
        for entry in item.entries if key == "workflows" else ():
            if entry.key in free:
                yield from _refuse_other_outputs(f"{owner}.{entry.key}", entry.value)
            if entry.key == "role":
                yield from _find_late_below(f"{owner}.role", entry.value, OWN_ADDRESSES)
        for _, trigger in list_typed_triggers(item) if "triggers" in free else ():
            for entry in trigger.entries:
                if entry.key in KNOWN_IN_TRIGGERS:
                    yield from _find_late_below(f"{owner}.triggers[].{entry.key}", entry.value)


def _refuse_other_outputs(path: str, node: Node) -> Iterator[Finding]:
    """Refuse outputs of other services, which workflows do not wait for."""
    for leaf in _list_leaves(node):
        for name in find_late_names(leaf.text):
            if not name.startswith((STACK_OUTPUT, *OWN_ADDRESSES, OWN_API, PINNED)):
                message = f"`{path}` uses `{format_binding(name)}`, an output of another service"
                hint = "set it as a variable of a function, or use an output of the own stack"
                yield Finding(Problem("config/late-value", message, hint, place_of(leaf)))


def _check_item(path: str, item: Node, free: frozenset[str]) -> Iterator[Finding]:
    is_supply = path.startswith(("resources", "addons"))
    for entry in item.entries if isinstance(item, Mapping) else ():
        if entry.key not in free:
            yield from _find_late_below(f"{path}.{entry.key}", entry.value)
        elif entry.key not in _SECRETS_IN and not is_supply:
            yield from _find_late_below(f"{path}.{entry.key}", entry.value, (PINNED,))


def _check_extensions(node: Node, *, are_stacks_filled: bool) -> Iterator[Finding]:
    for name, extension in list_named_entries(node):
        for entry in extension.entries:
            path = f"extensions.{name}.{entry.key}"
            if entry.key in _KNOWN_IN_EXTENSIONS:
                yield from _find_late_below(path, entry.value)
            elif name == "router":
                yield from _find_late_below(path, entry.value, (*OWN_ADDRESSES, PINNED))
            elif entry.key != "stack":
                # At AWS, other extensions are settings that a plan compares.
                secrets = (PINNED,) if are_stacks_filled else ()
                yield from _find_late_below(path, entry.value, (*OWN_ADDRESSES, *secrets))
            http = entry.value.entries if isinstance(entry.value, Mapping) else ()
            for one in http if entry.key == "http" else ():
                if one.key in _KNOWN_IN_HTTP:
                    yield from _find_late_below(f"{path}.{one.key}", one.value)


def _find_late_below(
    path: str, node: Node, kinds: tuple[str, ...] = ("",), ignored: tuple[str, ...] = ()
) -> Iterator[Finding]:
    for leaf in _list_leaves(node):
        found = find_late_names(leaf.value) if isinstance(leaf.value, str) else ()
        names = [one for one in found if one.startswith(kinds) and not one.startswith(ignored)]
        if names:
            yield _late_value_finding(path, leaf, names[0])


def _list_leaves(node: Node) -> Iterator[Scalar]:
    match node:
        case Scalar():
            yield node
        case Sequence(items=items):
            for item in items:
                yield from _list_leaves(item)
        case Mapping(entries=entries):
            for entry in entries:
                yield from _list_leaves(entry.value)


def _late_value_finding(path: str, leaf: Scalar, name: str) -> Finding:
    return Finding(replace(late_value_problem(path, name), where=place_of(leaf)))


def find_unknown_services(root: Mapping, services: frozenset[str]) -> Iterator[Finding]:
    """Find outputs of services that the service does not depend on."""
    for leaf in _list_leaves(root):
        for late in find_late_names(leaf.text):
            name = late.removeprefix(SERVICE_OUTPUT).partition(".")[0].partition("@")[0]
            if late.startswith(SERVICE_OUTPUT) and name not in services:
                message = f"`{format_binding(late)}` is not an output of a dependency"
                hint = f"add `{name}` to `dependsOn` of this service in fabric.compose.yml"
                yield _unresolved_finding(message, suggest_spelling(name, services) or hint, leaf)


def _unresolved_finding(message: str, hint: str, leaf: Scalar) -> Finding:
    return Finding(Problem("config/unresolved-reference", message, hint, place_of(leaf)))


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
