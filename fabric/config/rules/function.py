"""Rules for one function: triggers that the provider supports, and existing references."""

import re
from collections.abc import Iterator
from collections.abc import Mapping as Known
from typing import NamedTuple

from fabric.config.layers import is_address
from fabric.config.schedule import ScheduleError, normalised
from fabric.config.schema.check import Finding
from fabric.config.triggers import kinds_of
from fabric.config.yaml import read
from fabric.config.yaml.nodes import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    child,
    is_unfilled,
    place_of,
    visible,
)
from fabric.config.yaml.syntax import shown
from fabric.model.catalog import DEPLOYABLE_TRIGGERS, ProviderFacts, titled
from fabric.model.names import TriggerKind
from fabric.model.problems import Problem
from fabric.model.spelling import did_you_mean

NODE_SUFFIXES = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
PYTHON_SUFFIXES = (".py",)
_SMALL_BATCH = 10
_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:")
_LISTED = {
    "layers": "add it to `layers`, or use its ARN",
    "resources": "add it to `resources`",
    "addons": "add it to `addons`",
}
_NOUNS = {"layers": "layer", "resources": "resource", "addons": "addon"}


class _FunctionNode(NamedTuple):
    name: str
    node: Mapping
    runtime: str
    facts: ProviderFacts | None
    known: Known[str, frozenset[str]]


def function_findings(
    name: str,
    node: Mapping,
    runtime: str,
    facts: ProviderFacts | None,
    known: Known[str, frozenset[str]],
) -> Iterator[Finding]:
    """Find all problems of a function. `known` contains the names it can refer to."""
    function = _FunctionNode(shown(name), node, read.text(node, "runtime", runtime), facts, known)
    yield from _entry(function)
    yield from _triggers(function)
    yield from _references(function)
    yield from _ignored_layers(function)


def _entry(function: _FunctionNode) -> Iterator[Finding]:
    leaf = child(function.node, "entry")
    if not isinstance(leaf, Scalar) or is_unfilled(leaf):
        return
    if leaves_project(leaf.text):
        message = f"the entry of function `{function.name}` is outside the project"
        yield _error("config/entry-outside", message, leaf, "use a path beside or below the config")
    elif not _suits(leaf.text, function.runtime):
        runtime, entry = shown(function.runtime), visible(leaf)
        message = f"runtime `{runtime}` of function `{function.name}` cannot run `{entry}`"
        yield _error("config/entry-runtime", message, leaf, "change the entry or the runtime")


def leaves_project(entry: str) -> bool:
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


def _suits(entry: str, runtime: str) -> bool:
    if entry.endswith(NODE_SUFFIXES):
        return not runtime.startswith("python")
    return not (entry.endswith(PYTHON_SUFFIXES) and runtime.startswith("nodejs"))


def _triggers(function: _FunctionNode) -> Iterator[Finding]:
    for kind, node in kinds_of(function.node):
        yield from _capability(function, kind, node)
        if kind is TriggerKind.CRON:
            yield from _schedule(function, node)
        elif kind is TriggerKind.QUEUE:
            yield from _batch_window(function, node)


def _capability(function: _FunctionNode, kind: TriggerKind, node: Mapping) -> Iterator[Finding]:
    """Check that the provider supports the trigger. Kinds without any provider still load, for
    local runs."""
    facts = function.facts
    if facts is None or kind in facts.triggers or kind not in DEPLOYABLE_TRIGGERS:
        return
    message = (
        f"function `{function.name}` has a trigger of type `{kind}`, "
        f"which {titled(facts.id)} does not support"
    )
    hint = f"use one of {', '.join(sorted(facts.triggers))}"
    yield _error("config/trigger-unsupported", message, child(node, "type") or node, hint)


def _schedule(function: _FunctionNode, node: Mapping) -> Iterator[Finding]:
    leaf = child(node, "schedule")
    if not isinstance(leaf, Scalar) or not leaf.text.strip() or is_unfilled(leaf):
        return
    try:
        normalised(leaf.text)
    except ScheduleError as error:
        why = visible(leaf) if leaf.secret else f"{error}"
        message = f"invalid schedule of function `{function.name}`: {why}"
        yield _error("config/bad-schedule", message, leaf)


def _batch_window(function: _FunctionNode, node: Mapping) -> Iterator[Finding]:
    size = child(node, "batchSize")
    is_big = read.whole(node, "batchSize", _SMALL_BATCH) > _SMALL_BATCH
    has_window = read.whole(node, "maximumBatchingWindowSeconds") > 0
    waits = function.facts is not None and function.facts.long_batches_wait
    if size is not None and waits and is_big and not has_window:
        message = f"function `{function.name}`: a batchSize over 10 requires a batching window"
        hint = "set maximumBatchingWindowSeconds to 1 or more"
        yield _error("config/batch-window", message, size, hint)


def _references(function: _FunctionNode) -> Iterator[Finding]:
    for key, names in function.known.items():
        for leaf in _leaves(function.node, key):
            is_fine = leaf.text in names or (key == "layers" and is_address(leaf.text))
            if not is_fine and not is_unfilled(leaf):
                noun = _NOUNS[key]
                message = f"unknown {noun} `{visible(leaf)}` in function `{function.name}`"
                hint = did_you_mean(leaf.text, names) or _LISTED[key]
                yield _error(f"config/unknown-{noun}", message, leaf, hint)


def _ignored_layers(function: _FunctionNode) -> Iterator[Finding]:
    layers = child(function.node, "layers")
    facts = function.facts
    if facts is None or facts.attaches_layers or not _leaves(function.node, "layers"):
        return
    message = (
        f"ignoring the layers of `{function.name}`: {titled(facts.id)} does not support layers"
    )
    where = place_of(layers or function.node)
    yield Finding(Problem("config/layers-ignored", message, where=where), is_fatal=False)


def _leaves(node: Mapping, key: str) -> tuple[Scalar, ...]:
    found = child(node, key)
    items = found.items if isinstance(found, Sequence) else ()
    return tuple(item for item in items if isinstance(item, Scalar))


def _error(code: str, message: str, node: Node, hint: str = "") -> Finding:
    return Finding(Problem(code, message, hint, place_of(node)))
