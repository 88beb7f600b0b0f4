"""Settings forbidden in a received config, because they would run, read or call the server's
resources."""

import re
from collections.abc import Iterator

from fabric.config.layers import list_layer_nodes
from fabric.config.resolve.stages import list_named_entries
from fabric.config.schema.check import Finding
from fabric.config.steps import list_step_nodes
from fabric.config.yaml.nodes import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    convert_to_plain,
    find,
    find_child,
    place_of,
)
from fabric.config.yaml.read import encode_canonical, read_text
from fabric.model.backends import BackendKind
from fabric.model.problems import Problem
from fabric.model.secrets.secrecy import PRIVATE_NAMES

CODE = "config/not-trusted"
HINT = "start the server with --trust-bodies to allow this"
_BELOW = re.compile(r"/(?![/\\])")
_OWN = frozenset((".fabric", ".git", ".hg", ".svn", *PRIVATE_NAMES))
_PATHS = ("entry", "include", "layers")


def check_untrusted_config(root: Mapping, own_backend: str = "") -> Iterator[Finding]:
    """Find forbidden settings. `own_backend` is the server's backend section as canonical JSON."""
    functions = [node for _, node in list_named_entries(find_child(root, "functions"))]
    yield from _check_steps(root)
    yield from _check_layers(root)
    for node in (root, *functions):
        yield from _check_commands(find_child(node, "build"))
        for leaf in _list_leaves(find_child(node, "build", "tsconfig")):
            yield from _check_path(leaf)
    for function in functions:
        yield from _check_function(function)
    overrides = (node for _, node in list_named_entries(find_child(root, "providerOverrides")))
    for node in (root, *overrides):
        yield from _check_backend(find_child(node, "backend"), own_backend)
    for section in ("deploy", "fabric"):
        yield from _check_health_url(find_child(root, section, "healthCheck", "url"))

    yield from _name(find_child(root, "extensions", "router", "autoApply"))


def _check_function(function: Node) -> Iterator[Finding]:
    checks = find(function, "checks")
    if checks is not None:
        message = "`checks` is not allowed in requests: checks would run on the server"
        yield _forbidden_setting_finding(message, checks.value)
    for key in _PATHS:
        for leaf in _list_leaves(find_child(function, key)):
            yield from _check_path(leaf)


def is_path_outside(path: str) -> bool:
    """Return whether a path leaves the directory by its text. Links are checked elsewhere."""
    depth = 0
    for part in path.replace("\\", "/").split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return True
    return path.startswith(("/", "\\"))


def _check_commands(build: Node | None, shown: str = "build") -> Iterator[Finding]:
    for key in ("command", "preset", "tools", "caches"):
        entry = find(build, key)
        if entry is not None:
            yield _forbidden_setting_finding(
                f"`{shown}.{key}` is not allowed in requests: it would run on the server",
                entry.value,
            )


def _check_steps(root: Mapping) -> Iterator[Finding]:
    for one in list_step_nodes(root):
        message = f"the step `{one.name}` is not allowed in requests: it would run on the server"
        yield _forbidden_setting_finding(message, one.node)


def _check_layers(root: Mapping) -> Iterator[Finding]:
    for _, layer in list_layer_nodes(root):
        yield from _check_commands(find_child(layer, "build"), "layers.build")
        for leaf in _list_leaves(find_child(layer, "path")):
            yield from _check_path(leaf)


def _check_path(leaf: Scalar) -> Iterator[Finding]:
    if not leaf.text.isprintable():
        yield _forbidden_setting_finding("a path contains invalid characters", leaf)
    elif is_path_outside(leaf.text):
        yield _forbidden_setting_finding(f"the path `{leaf.text}` is outside the workspace", leaf)
    elif _OWN & set(leaf.text.split("/")) or ".env" in leaf.text:
        yield _forbidden_setting_finding(f"the path `{leaf.text}` belongs to the server", leaf)


def _check_backend(backend: Node | None, own: str) -> Iterator[Finding]:
    """Reject other stores, because they would be called with the server's credentials."""
    if backend is None or read_text(backend, "kind", BackendKind.LOCAL) == BackendKind.LOCAL:
        return
    if encode_canonical(convert_to_plain(backend)) != own:
        yield _forbidden_setting_finding(
            "`backend` differs from the backend of the server config", backend
        )


def _check_health_url(url: Node | None) -> Iterator[Finding]:
    if isinstance(url, Scalar) and url.text and not _BELOW.match(url.text):
        yield _forbidden_setting_finding(
            "the URL of a health check in a request must be a path that begins with /", url
        )


def _name(applies: Node | None) -> Iterator[Finding]:
    if isinstance(applies, Scalar) and applies.text.lower() != "false":
        message = (
            "`extensions.router.autoApply` would change DNS with the credentials of the server"
        )
        yield _forbidden_setting_finding(message, applies)


def _list_leaves(node: Node | None) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        yield from (item for item in node.items if isinstance(item, Scalar))


def _forbidden_setting_finding(message: str, node: Node) -> Finding:
    return Finding(Problem(CODE, message, HINT, place_of(node)))
