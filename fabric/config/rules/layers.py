"""Rules for layers of the project: names, sources, and the functions that attach them."""

import re
import shlex
from collections.abc import Iterator

from msgspec import Struct

from fabric.config.layers import list_layer_nodes
from fabric.config.resolve.stages import list_named_entries
from fabric.config.rules.steps import check_pattern
from fabric.config.schema.check import Finding
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, find_child, place_of
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.catalog import find_provider_facts
from fabric.model.names import normalize_architecture
from fabric.model.problems import Problem

# A name is a part of the name at the provider, of a file name and of a task id.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_LANGUAGES = ("nodejs", "python")


def check_layers(root: Mapping) -> Iterator[Finding]:
    for name, node in list_layer_nodes(root):
        yield from _check_name(name, node)
        yield from _check_source(name, node)
    facts = find_provider_facts(read.read_text(find_child(root, "provider"), "name"))
    is_ignored = facts is not None and not facts.traits.attaches_layers
    users = [] if is_ignored else [*_list_users(root)]
    for name, node in list_layer_nodes(root):
        attached = [one for one in users if name in one.layers]
        yield from (found for one in attached for found in _check_target(one, name, node))
        if find_child(node, "packages") is not None:
            yield from (found for one in attached for found in _check_language(one, name))
            yield from _check_equal_targets(name, attached)
    for function in users:
        yield from _check_repeated(function)


class _User(Struct, frozen=True):
    """A function, with its target and the names of its layers."""

    name: str
    node: Mapping
    runtime: str
    architecture: str
    layers: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"function `{format_excerpt(self.name)}`"


def _list_users(root: Mapping) -> Iterator[_User]:
    runtime = read.read_text(find_child(root, "provider"), "runtime")
    for name, node in list_named_entries(find_child(root, "functions")):
        yield _User(
            name,
            node,
            read.read_text(node, "runtime", runtime),
            normalize_architecture(read.read_text(node, "architecture")),
            read.read_texts(node, "layers"),
        )


def _check_name(name: str, node: Mapping) -> Iterator[Finding]:
    if not name:
        message = "a layer of the project has no `name`"
        yield _make_error("config/missing-key", message, node, "add a name, which functions use")
    elif not _NAME.fullmatch(name):
        message = f"invalid name of the layer `{format_excerpt(name)}`"
        hint = "use letters, digits, `_` and `-`, at most 63, starting with a letter or digit"
        yield _make_error("config/layer-name", message, find_child(node, "name") or node, hint)


def _check_source(name: str, node: Mapping) -> Iterator[Finding]:
    shown = format_excerpt(name)
    path = find_child(node, "path")
    if isinstance(path, Scalar) and path.text.startswith(("/", "\\")):
        message = f"the path of the layer `{shown}` is absolute"
        yield _make_error("config/bad-pattern", message, path, "use a path of the workspace")
    line = find_child(node, "build", "command")
    if isinstance(line, Scalar):
        try:
            shlex.split(line.text)
        except ValueError as error:
            message = f"invalid command of the layer `{shown}`: {error}"
            yield _make_error("config/bad-command", message, line, "write it as a list")
    for key in ("inputs", "outputs"):
        found = find_child(node, "build", key)
        for leaf in found.items if isinstance(found, Sequence) else ():
            if isinstance(leaf, Scalar):
                yield from check_pattern(key, leaf)


def _check_target(one: _User, name: str, layer: Mapping) -> Iterator[Finding]:
    """Compare the target of a function with the targets of a layer."""
    runtimes = read.read_texts(layer, "runtimes")
    if runtimes and not any(_is_same_runtime(one.runtime, said) for said in runtimes):
        yield _target_finding(one, f"the runtime `{format_excerpt(one.runtime)}`", name, runtimes)
    allowed = read.read_texts(layer, "architectures")
    if allowed and one.architecture not in allowed:
        what = f"the architecture `{format_excerpt(one.architecture)}`"
        yield _target_finding(one, what, name, allowed)


def _check_language(one: _User, name: str) -> Iterator[Finding]:
    """Reject packages for a function without a runtime that loads them."""
    if not one.runtime or one.runtime.startswith(_LANGUAGES):
        return
    message = (
        f"{one.title} has the runtime `{format_excerpt(one.runtime)}`, and its layer "
        f"`{format_excerpt(name)}` has `packages`, which only Node.js and Python load"
    )
    where = find_child(one.node, "layers") or one.node
    hint = "use `path` or `build` for the layer, or remove it from the function"
    yield _make_error("config/layer-target", message, where, hint)


def _check_repeated(one: _User) -> Iterator[Finding]:
    layers = find_child(one.node, "layers")
    seen: set[str] = set()
    for leaf in layers.items if isinstance(layers, Sequence) else ():
        if isinstance(leaf, Scalar) and leaf.text in seen:
            message = f"duplicate layer `{format_excerpt(leaf.text)}` in {one.title}"
            yield _make_error("config/duplicate-name", message, leaf, "remove one of them")
        elif isinstance(leaf, Scalar):
            seen.add(leaf.text)


def _check_equal_targets(name: str, users: list[_User]) -> Iterator[Finding]:
    """Reject packages for several targets, because compiled modules fit only one."""
    for one in users[1:]:
        first, own = _format_target(users[0]), _format_target(one)
        if first != own:
            message = (
                f"{one.title} ({own}) and {users[0].title} ({first}) attach the layer "
                f"`{format_excerpt(name)}`, whose packages fit only one of them"
            )
            where = find_child(one.node, "layers") or one.node
            yield _make_error("config/layer-target", message, where, "use a layer for each target")


def _format_target(one: _User) -> str:
    """Format the target of packages. Those of Node.js fit all versions."""
    runtime = "Node.js" if one.runtime.startswith("nodejs") else one.runtime
    return f"{runtime}, {one.architecture}"


def _is_same_runtime(wanted: str, said: str) -> bool:
    """Compare runtimes. A language without a version is any version of it."""
    return wanted == said or (wanted in _LANGUAGES and said.startswith(wanted))


def _target_finding(one: _User, what: str, layer: str, allowed: tuple[str, ...]) -> Finding:
    message = (
        f"{one.title} has {what}, and its layer `{format_excerpt(layer)}` is only for "
        f"{', '.join(map(format_excerpt, allowed))}"
    )
    where = find_child(one.node, "layers") or one.node
    return _make_error("config/layer-target", message, where, "attach another layer")


def _make_error(code: str, message: str, node: Node, hint: str = "") -> Finding:
    return Finding(Problem(code, message, hint, place_of(node)))
