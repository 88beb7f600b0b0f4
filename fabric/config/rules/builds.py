"""Rules for build commands and presets, of a service and of its functions."""

import re
import shlex
from collections.abc import Iterator

from msgspec import Struct

from fabric.config.resolve.stages import list_named_entries
from fabric.config.schema.check import Finding
from fabric.config.yaml import read
from fabric.config.yaml.nodes import (
    EMPTY,
    Mapping,
    Node,
    Scalar,
    Sequence,
    find,
    find_child,
    format_leaf,
    place_of,
)
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.builds.command_runtimes import (
    PresetName,
    can_build,
    has_file_handler,
    is_command_runtime,
)
from fabric.model.problems import Problem

_PATH = re.compile(r"/|\.(?:java|kt|scala|jar|cs|fs|csproj|fsproj|dll)$")
# Keys that count only for commands and presets.
_OF_COMMANDS = ("inputs", "depfile", "outputs", "caches", "tools")
# Variables that fabric sets for each command.
_OWN_VARIABLES = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL")
# The directory of the texts that tools printed.
_TAKEN_CACHE = "versions"


class _Build(Struct, frozen=True):
    """The `build` of one function: its own, and that of the service below it."""

    name: str
    node: Mapping
    runtime: str
    own: Node
    service: Node

    @property
    def is_custom(self) -> bool:
        return _is_custom(self.own) or (
            find_child(self.service, "command") is not None
            or _fits(read.read_text(self.service, "preset"), self.runtime)
        )


def check_builds(root: Mapping) -> Iterator[Finding]:
    builds = tuple(_list_builds(root))
    nodes = (find_child(root, "build"), *(one.own for one in builds))
    for node in nodes:
        yield from _check_lines(node)
        yield from _check_inputs(node)
        yield from _check_caches(node)
    for one in builds:
        yield from _check_preset(one)
        yield from _check_required(one)
        yield from _check_handler(one)
        if not one.is_custom:
            yield from _find_keys_without_effect(one.own)
        yield from _find_base_without_effect(root, one)
    if not any(one.is_custom for one in builds):
        yield from _find_keys_without_effect(find_child(root, "build"))


def _list_builds(root: Mapping) -> Iterator[_Build]:
    runtime = read.read_text(find_child(root, "provider"), "runtime")
    service = find_child(root, "build") or EMPTY
    for name, node in list_named_entries(find_child(root, "functions")):
        if find_child(node, "image") is None:
            own = find_child(node, "build") or EMPTY
            yield _Build(name, node, read.read_text(node, "runtime", runtime), own, service)


def _is_custom(build: Node) -> bool:
    return any(find_child(build, key) is not None for key in ("command", "preset"))


def _fits(preset: str, runtime: str) -> bool:
    return preset in tuple(PresetName) and can_build(preset, runtime)


def _check_lines(build: Node | None) -> Iterator[Finding]:
    """Check commands that are written as one line."""
    tools = find_child(build, "tools")
    rows = tools.items if isinstance(tools, Sequence) else ()
    named = (("command", find_child(build, "command")), *(("tools", row) for row in rows))
    for key, leaf in named:
        if isinstance(leaf, Scalar) and isinstance(leaf.value, str):
            try:
                shlex.split(leaf.value)
            except ValueError as error:
                message = f"invalid `build.{key}`: {error}"
                yield _make_error("config/bad-command", message, leaf, "write it as a list")


def _check_inputs(build: Node | None) -> Iterator[Finding]:
    inputs = find_child(build, "inputs")
    for leaf in inputs.items if isinstance(inputs, Sequence) else ():
        if isinstance(leaf, Scalar) and leaf.text.removeprefix("!").startswith(("/", "\\")):
            message = f"the input `{format_excerpt(leaf.text)}` is an absolute path"
            yield _make_error("config/bad-pattern", message, leaf, "use a path of the workspace")


def _check_caches(build: Node | None) -> Iterator[Finding]:
    """Reject variables and names that fabric uses itself."""
    caches = find_child(build, "caches")
    for entry in caches.entries if isinstance(caches, Mapping) else ():
        name = entry.value.text if isinstance(entry.value, Scalar) else ""
        if entry.key in _OWN_VARIABLES or entry.key.startswith("FABRIC_"):
            message = f"`build.caches` cannot set `{format_excerpt(entry.key)}`: fabric sets it"
            hint = "use a variable that your tool reads, such as GOCACHE"
            yield Finding(Problem("config/bad-value", message, hint, place_of(entry)))
        if name == _TAKEN_CACHE or name.endswith(".lock"):
            message = f"`build.caches` cannot use the name `{format_excerpt(name)}`"
            hint = f"use a name other than `{_TAKEN_CACHE}` that does not end in `.lock`"
            yield _make_error("config/bad-value", message, entry.value, hint)


def _check_preset(one: _Build) -> Iterator[Finding]:
    leaf = find_child(one.own, "preset")
    preset = read.read_text(one.own, "preset")
    if leaf is None or preset not in tuple(PresetName) or _fits(preset, one.runtime):
        return
    message = (
        f"preset `{preset}` of function `{format_excerpt(one.name)}` cannot build for runtime "
        f"`{format_excerpt(one.runtime)}`"
    )
    yield _make_error("config/preset-runtime", message, leaf, "set `runtime: provided.al2023`")


def _check_required(one: _Build) -> Iterator[Finding]:
    """Check that a runtime without a built-in build has a command or a preset."""
    if not is_command_runtime(one.runtime) or one.is_custom:
        return
    message = (
        f"function `{format_excerpt(one.name)}` has runtime `{format_excerpt(one.runtime)}` "
        "and no build command"
    )
    hint = f"set `build.preset` ({', '.join(PresetName)}) or `build.command`"
    where = find_child(one.node, "runtime") or one.node
    yield _make_error("config/build-required", message, where, hint)


def _check_handler(one: _Build) -> Iterator[Finding]:
    """Check that the entry of a managed runtime is a handler, because AWS calls it by this name."""
    leaf = find_child(one.node, "entry")
    is_managed = is_command_runtime(one.runtime) and not has_file_handler(one.runtime)
    if not is_managed or not isinstance(leaf, Scalar) or not _PATH.search(leaf.text):
        return
    message = (
        f"function `{format_excerpt(one.name)}` has runtime `{format_excerpt(one.runtime)}` "
        f"and a path as entry: `{format_leaf(leaf)}`"
    )
    name = "Shop::Shop.Words::Handle" if one.runtime.startswith("dotnet") else "shop.Words::handle"
    yield _make_error("config/entry-runtime", message, leaf, f"set `entry` to a handler: {name}")


def _find_keys_without_effect(build: Node | None) -> Iterator[Finding]:
    for key in _OF_COMMANDS:
        entry = find(build, key)
        if entry is not None:
            message = f"`build.{key}` has no effect without `build.command` or `build.preset`"
            problem = Problem("config/no-effect", message, where=place_of(entry))
            yield Finding(problem, is_fatal=False)


def _find_base_without_effect(root: Mapping, one: _Build) -> Iterator[Finding]:
    """Find a base image of a function that is not an image. A base of `defaults` is for others."""
    entry = find(find_child(one.node, "package"), "base")
    shared = find_child(root, "defaults", "package", "base")
    is_image = read.read_text(find_child(one.node, "package"), "type") == "image"
    if entry is None or is_image or entry.value is shared:
        return
    message = (
        f"`package.base` of function `{format_excerpt(one.name)}` has no effect without "
        "`package.type: image`"
    )
    yield Finding(Problem("config/no-effect", message, where=place_of(entry)), is_fatal=False)


def _make_error(code: str, message: str, node: Node, hint: str = "") -> Finding:
    return Finding(Problem(code, message, hint, place_of(node)))
