"""Settings forbidden in a received config, because they would run, read or call the server's
resources."""

import re
from collections.abc import Iterator

from fabric.config.resolve.stages import named_entries
from fabric.config.schema.check import Finding
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, child, find, place_of, plain
from fabric.config.yaml.read import canonical, text
from fabric.model.back_ends import BackendKind
from fabric.model.problems import Problem
from fabric.model.secrecy import PRIVATE_NAMES

CODE = "config/not-trusted"
HINT = "start the server with --trust-bodies to allow this"
_BELOW = re.compile(r"/(?![/\\])")
_OWN = frozenset((".fabric", ".git", ".hg", ".svn", *PRIVATE_NAMES))
_PATHS = ("entry", "include", "layers")


def strangers_findings(root: Mapping, own_backend: str = "") -> Iterator[Finding]:
    """Find forbidden settings. `own_backend` is the server's backend section as canonical JSON."""
    functions = [node for _, node in named_entries(child(root, "functions"))]
    for node in (root, *functions):
        yield from _commands(child(node, "build"))
        for leaf in _leaves(child(node, "build", "tsconfig")):
            yield from _path(leaf)
    for function in functions:
        for key in _PATHS:
            for leaf in _leaves(child(function, key)):
                yield from _path(leaf)
    overrides = (node for _, node in named_entries(child(root, "providerOverrides")))
    for node in (root, *overrides):
        yield from _backend(child(node, "backend"), own_backend)
    for section in ("deploy", "fabric"):
        yield from _health(child(root, section, "healthCheck", "url"))

    yield from _name(child(root, "extensions", "router", "autoApply"))


def leads_out(path: str) -> bool:
    """Return whether a path leaves the directory by its text. Links are checked elsewhere."""
    depth = 0
    for part in path.replace("\\", "/").split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return True
    return path.startswith(("/", "\\"))


def _commands(build: Node | None) -> Iterator[Finding]:
    entry = find(build, "command")
    if entry is not None:
        yield _refused(
            "`build.command` is not allowed in requests: it would run on the server", entry.value
        )


def _path(leaf: Scalar) -> Iterator[Finding]:
    if not leaf.text.isprintable():
        yield _refused("a path contains invalid characters", leaf)
    elif leads_out(leaf.text):
        yield _refused(f"the path `{leaf.text}` is outside the workspace", leaf)
    elif _OWN & set(leaf.text.split("/")) or ".env" in leaf.text:
        yield _refused(f"the path `{leaf.text}` belongs to the server", leaf)


def _backend(backend: Node | None, own: str) -> Iterator[Finding]:
    """Reject other stores, because they would be called with the server's credentials."""
    if backend is None or text(backend, "kind", BackendKind.LOCAL) == BackendKind.LOCAL:
        return
    if canonical(plain(backend)) != own:
        yield _refused("`backend` differs from the backend of the server config", backend)


def _health(url: Node | None) -> Iterator[Finding]:
    if isinstance(url, Scalar) and url.text and not _BELOW.match(url.text):
        yield _refused(
            "the URL of a health check in a request must be a path that begins with /", url
        )


def _name(applies: Node | None) -> Iterator[Finding]:
    if isinstance(applies, Scalar) and applies.text.lower() != "false":
        message = (
            "`extensions.router.autoApply` would change DNS with the credentials of the server"
        )
        yield _refused(message, applies)


def _leaves(node: Node | None) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        yield from (item for item in node.items if isinstance(item, Scalar))


def _refused(message: str, node: Node) -> Finding:
    return Finding(Problem(CODE, message, HINT, place_of(node)))
