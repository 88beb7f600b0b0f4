"""Places where secrets are forbidden: names, paths and commands, which are printed and stored."""

from collections.abc import Iterator

from fabric.config.resolve.stages import list_named_entries
from fabric.config.schema.check import Finding
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, find_child, place_of
from fabric.model.problems import Problem

_IN_FUNCTIONS = ("name", "entry", "include", "runtime", "build")


def find_misplaced_secrets(root: Mapping) -> Iterator[Finding]:
    for path, node in _open_places(root):
        for leaf in _list_leaves(node):
            if leaf.secret:
                yield _secret_finding(path, leaf)


def _open_places(root: Mapping) -> Iterator[tuple[str, Node | None]]:
    # A region may stand in the provider's extension too; a build's words lie in compiled graphs.
    for key in ("service", "provider", "build"):
        yield key, find_child(root, key)
    for name, node in list_named_entries(find_child(root, "extensions")):
        yield f"extensions.{name}.region", find_child(node, "region")
    for _, node in list_named_entries(find_child(root, "functions")):
        for key in _IN_FUNCTIONS:
            yield f"functions[].{key}", find_child(node, key)


def _list_leaves(node: Node | None) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _list_leaves(item)
    elif isinstance(node, Mapping):
        for entry in node.entries:
            yield from _list_leaves(entry.value)


def _secret_finding(path: str, leaf: Scalar) -> Finding:
    message = f"secret in `{path}`, which is printed and stored"
    hint = "use the secret in `env`, or a variable without a credential name"
    return Finding(Problem("config/secret-here", message, hint, place_of(leaf)))
