"""Rules for one function: triggers that the provider supports, and existing references."""

import re
from collections.abc import Iterator
from collections.abc import Mapping as Known
from typing import NamedTuple

from fabric.config.layers import is_address
from fabric.config.resolve.stages import BUILD_KEYS, list_named_entries
from fabric.config.schedule import ScheduleError, normalize_schedule
from fabric.config.schema.check import Finding
from fabric.config.triggers import list_typed_triggers
from fabric.config.yaml import read
from fabric.config.yaml.nodes import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    find_child,
    format_leaf,
    is_unfilled,
    place_of,
)
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.catalog import DEPLOYABLE_TRIGGERS, ProviderFacts, format_provider_title
from fabric.model.names import TriggerKind
from fabric.model.problems import Problem
from fabric.model.text.spelling import suggest_spelling

NODE_SUFFIXES = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
PYTHON_SUFFIXES = (".py",)
_SMALL_BATCH = 10
_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:")
_LISTED = {
    "layers": "add it to `layers`, or use its ARN",
    "resources": "add it to `resources`",
    "addons": "add it to `addons`",
}
_CANCELLED = ("permissions", "role", "vpc")
_NOUNS = {"layers": "layer", "resources": "resource", "addons": "addon"}


class _FunctionNode(NamedTuple):
    name: str
    node: Mapping
    runtime: str
    facts: ProviderFacts | None
    known: Known[str, frozenset[str]]


def check_function(
    name: str,
    node: Mapping,
    runtime: str,
    facts: ProviderFacts | None,
    known: Known[str, frozenset[str]],
) -> Iterator[Finding]:
    """Find all problems of a function. `known` contains the names it can refer to."""
    function = _FunctionNode(
        format_excerpt(name), node, read.read_text(node, "runtime", runtime), facts, known
    )
    yield from _check_entry(function)
    yield from _check_image(function)
    yield from _check_triggers(function)
    yield from _check_references(function)
    yield from _check_ignored_layers(function)
    yield from _check_disabled_settings(function)
    yield from _check_second_name(name, function)
    yield from _check_checks(function)


def _check_checks(function: _FunctionNode) -> Iterator[Finding]:
    lines: dict[str, int] = {}
    for name, node in list_named_entries(find_child(function.node, "checks")):
        if name in lines:
            message = (
                f"duplicate check `{format_excerpt(name)}` of function `{function.name}` "
                f"(lines {lines[name]} and {node.line})"
            )
            yield _make_error("config/duplicate-name", message, node, "rename one of them")
        lines.setdefault(name, node.line)
        expect = find_child(node, "expect")
        if isinstance(expect, Mapping) and not expect.entries:
            message = f"check `{format_excerpt(name)}` of `{function.name}` expects nothing"
            hint = "set `status`, `body`, `json` or `contains`"
            yield _make_error("config/bad-value", message, expect, hint)


def _check_disabled_settings(function: _FunctionNode) -> Iterator[Finding]:
    """`false` cancels a default of these settings. `true` means nothing."""
    for key in _CANCELLED:
        leaf = find_child(function.node, key)
        if isinstance(leaf, Scalar) and read.read_as(leaf) is True:
            message = f"`{key}` of function `{function.name}` cannot be `true`"
            hint = "write the setting, or `false` to cancel a default"
            yield _make_error("config/bad-value", message, leaf, hint)


def _check_second_name(key: str, function: _FunctionNode) -> Iterator[Finding]:
    """In a map of functions the key is the name."""
    leaf = find_child(function.node, "name")
    if isinstance(leaf, Scalar) and not is_unfilled(leaf) and leaf.text != key:
        message = (
            f"`name: {format_leaf(leaf)}` has no effect: the key `{function.name}` is the name"
        )
        problem = Problem("config/no-effect", message, "remove it", place_of(leaf))
        yield Finding(problem, is_fatal=False)


def _check_entry(function: _FunctionNode) -> Iterator[Finding]:
    leaf = find_child(function.node, "entry")
    if not isinstance(leaf, Scalar) or is_unfilled(leaf):
        return
    if is_outside_project(leaf.text):
        message = f"the entry of function `{function.name}` is outside the project"
        yield _make_error(
            "config/entry-outside", message, leaf, "use a path beside or below the config"
        )
    elif not _is_suitable_entry(leaf.text, function.runtime):
        runtime, entry = format_excerpt(function.runtime), format_leaf(leaf)
        message = f"runtime `{runtime}` of function `{function.name}` cannot run `{entry}`"
        yield _make_error("config/entry-runtime", message, leaf, "change the entry or the runtime")


def _check_image(function: _FunctionNode) -> Iterator[Finding]:
    """An existing image is deployed as it is."""
    image = find_child(function.node, "image")
    for key in BUILD_KEYS if image is not None else ():
        leaf = find_child(function.node, key)
        if leaf is not None:
            message = f"`{key}` of function `{function.name}` cannot be combined with `image`"
            yield _make_error("config/bad-value", message, leaf, f"remove `{key}`, or use `entry`")


def is_outside_project(entry: str) -> bool:
    """Return whether a path is absolute or leaves its start directory. Links are checked
    elsewhere."""
    if _ABSOLUTE.match(entry):
        return True
    depth = 0
    for step in re.split(r"[/\\]", entry):
        depth += {"..": -1, ".": 0, "": 0}.get(step, 1)
        if depth < 0:
            return True
    return False


def _is_suitable_entry(entry: str, runtime: str) -> bool:
    if entry.endswith(NODE_SUFFIXES):
        return not runtime.startswith("python")
    return not (entry.endswith(PYTHON_SUFFIXES) and runtime.startswith("nodejs"))


def _check_triggers(function: _FunctionNode) -> Iterator[Finding]:
    for kind, node in list_typed_triggers(function.node):
        yield from _check_capability(function, kind, node)
        if kind is TriggerKind.CRON:
            yield from check_schedule(f"function `{function.name}`", node)
        elif kind is TriggerKind.QUEUE:
            yield from _check_batch_window(function, node)


def _check_capability(
    function: _FunctionNode, kind: TriggerKind, node: Mapping
) -> Iterator[Finding]:
    """Check that the provider supports the trigger. Kinds without any provider still load, for
    local runs."""
    facts = function.facts
    if facts is None or kind in facts.triggers or kind not in DEPLOYABLE_TRIGGERS:
        return
    message = (
        f"function `{function.name}` has a trigger of type `{kind}`, "
        f"which {format_provider_title(facts.id)} does not support"
    )
    hint = f"use one of {', '.join(sorted(facts.triggers))}"
    yield _make_error("config/trigger-unsupported", message, find_child(node, "type") or node, hint)


def check_schedule(title: str, node: Mapping) -> Iterator[Finding]:
    """Check the schedule of a trigger. `title` names its function or workflow."""
    leaf = find_child(node, "schedule")
    if not isinstance(leaf, Scalar) or not leaf.text.strip() or is_unfilled(leaf):
        return
    try:
        normalize_schedule(leaf.text)
    except ScheduleError as error:
        why = format_leaf(leaf) if leaf.secret else f"{error}"
        message = f"invalid schedule of {title}: {why}"
        yield _make_error("config/bad-schedule", message, leaf)


def _check_batch_window(function: _FunctionNode, node: Mapping) -> Iterator[Finding]:
    size = find_child(node, "batchSize")
    is_big = read.read_integer(node, "batchSize", _SMALL_BATCH) > _SMALL_BATCH
    has_window = read.read_integer(node, "maximumBatchingWindowSeconds") > 0
    waits = function.facts is not None and function.facts.traits.long_batches_wait
    if size is not None and waits and is_big and not has_window:
        message = f"function `{function.name}`: a batchSize over 10 requires a batching window"
        hint = "set maximumBatchingWindowSeconds to 1 or more"
        yield _make_error("config/batch-window", message, size, hint)


def _check_references(function: _FunctionNode) -> Iterator[Finding]:
    for key, names in function.known.items():
        for leaf in _list_leaves(function.node, key):
            is_fine = leaf.text in names or (key == "layers" and is_address(leaf.text))
            if not is_fine and not is_unfilled(leaf):
                noun = _NOUNS[key]
                message = f"unknown {noun} `{format_leaf(leaf)}` in function `{function.name}`"
                hint = suggest_spelling(leaf.text, names) or _LISTED[key]
                yield _make_error(f"config/unknown-{noun}", message, leaf, hint)


def _check_ignored_layers(function: _FunctionNode) -> Iterator[Finding]:
    layers = find_child(function.node, "layers")
    facts = function.facts
    if facts is None or facts.traits.attaches_layers or not _list_leaves(function.node, "layers"):
        return
    message = (
        f"ignoring the layers of `{function.name}`: "
        f"{format_provider_title(facts.id)} does not support layers"
    )
    where = place_of(layers or function.node)
    yield Finding(Problem("config/layers-ignored", message, where=where), is_fatal=False)


def _list_leaves(node: Mapping, key: str) -> tuple[Scalar, ...]:
    found = find_child(node, key)
    items = found.items if isinstance(found, Sequence) else ()
    return tuple(item for item in items if isinstance(item, Scalar))


def _make_error(code: str, message: str, node: Node, hint: str = "") -> Finding:
    return Finding(Problem(code, message, hint, place_of(node)))
