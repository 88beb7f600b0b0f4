"""Rules between keys of a config, beyond their types. Every rule reports all it finds.

Rules skip nodes that `check` already reports, so both can run on the same tree.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from fabric.config.layers import list_layer_nodes, map_layer_addresses
from fabric.config.resolve.bindings import is_reference
from fabric.config.resolve.stages import find_unknown_functions, list_named_entries
from fabric.config.rules.builds import check_builds
from fabric.config.rules.function import check_function
from fabric.config.rules.layers import check_layers
from fabric.config.rules.steps import check_steps
from fabric.config.schema.check import Finding
from fabric.config.schema.config import NO_EFFECT
from fabric.config.yaml import read
from fabric.config.yaml.nodes import (
    KeyValue,
    Mapping,
    Node,
    Scalar,
    Sequence,
    find,
    find_child,
    format_leaf,
    place_of,
)
from fabric.config.yaml.syntax import format_excerpt, has_binding
from fabric.model.backends import BACK_ENDS, BackendKind, back_end_facts
from fabric.model.catalog import PROVIDER_IDS, find_provider_facts, is_known_provider
from fabric.model.problems import Problem
from fabric.model.text.spelling import suggest_spelling

PRODUCTION = ("prod", "production", "live")
_NAMED = ("functions", "layers", "resources", "addons", "workflows", "secrets")


class Subject(NamedTuple):
    """The filled document and the stage that it is loaded for."""

    root: Mapping
    stage: str


Rule: TypeAlias = Callable[[Subject], Iterator[Finding]]


def check_rules(root: Mapping, stage: str) -> Iterator[Finding]:
    subject = Subject(root, stage)
    for rule in _RULES:
        yield from rule(subject)


def _check_unique_names(subject: Subject) -> Iterator[Finding]:
    for key in _NAMED:
        seen: dict[str, int] = {}
        items = find_child(subject.root, key)
        for item in items.items if isinstance(items, Sequence) else ():
            name = find(item, "name")
            text = read.read_text(item, "name")
            if name is None or not text:
                continue
            if text in seen:
                yield _duplicate_name_finding(key, text, seen[text], name)
            seen.setdefault(text, name.line)


def _duplicate_name_finding(key: str, name: str, first: int, entry: KeyValue) -> Finding:
    noun = key.removesuffix("s")
    code = "config/duplicate-function" if key == "functions" else "config/duplicate-name"
    message = f"duplicate name `{format_excerpt(name)}` in `{key}` (lines {first} and {entry.line})"
    return _make_error(code, message, entry.value, f"use a different name for each {noun}")


def _check_functions(subject: Subject) -> Iterator[Finding]:
    root = subject.root
    facts = find_provider_facts(read.read_text(find_child(root, "provider"), "name"))
    known = {
        "layers": frozenset(map_layer_addresses(root)).union(
            name for name, _ in list_layer_nodes(root)
        ),
        "resources": frozenset(
            name for name, _ in list_named_entries(find_child(root, "resources"))
        ),
        "addons": frozenset(name for name, _ in list_named_entries(find_child(root, "addons"))),
    }
    runtime = read.read_text(find_child(root, "provider"), "runtime")
    for name, node in list_named_entries(find_child(root, "functions")):
        yield from check_function(name, node, runtime, facts, known)


def check_parts(root: Mapping) -> Iterator[Finding]:
    """Refuse a service of which nothing could be deployed."""
    functions = find_child(root, "functions")
    items = functions.items if isinstance(functions, Sequence) else _list_entries(functions)
    is_empty = isinstance(functions, Mapping | Sequence) and not items
    if is_empty and functions and not _has_stack_or_workflow(root):
        message = "`functions` requires at least 1 entry without a stack or workflow"
        yield _make_error("config/too-few", message, functions)


def _has_stack_or_workflow(root: Mapping) -> bool:
    extensions = _list_entries(find_child(root, "extensions"))
    workflows = list_named_entries(find_child(root, "workflows"))
    has_workflow = any(find(node, "definition") for _, node in workflows)
    return has_workflow or any(find(one.value, "stack") for one in extensions)


def _check_overlays(subject: Subject) -> Iterator[Finding]:
    for problem in find_unknown_functions(subject.root):
        yield Finding(problem)


def _check_secrets(subject: Subject) -> Iterator[Finding]:
    if subject.stage not in PRODUCTION:
        return
    for name, leaf in list_secret_leaves(subject.root).items():
        if not is_reference(leaf.text) and not has_binding(leaf.text):
            message = (
                f"literal value for the secret `{format_excerpt(name)}` in stage `{subject.stage}`"
            )
            hint = "use a reference, or a binding such as ${env:NAME}"
            yield _make_error("config/secret-literal", message, leaf, hint)


def list_param_leaves(root: Node) -> dict[str, Scalar]:
    entries = _list_entries(find_child(root, "params"))
    return {one.key: one.value for one in entries if isinstance(one.value, Scalar)}


def list_secret_leaves(root: Node) -> dict[str, Scalar]:
    """List the `secrets` by key, in both notations."""
    secrets = find_child(root, "secrets")
    found = {
        name: node.value
        for name, node in ((entry.key, find_ref(entry)) for entry in _list_entries(secrets))
        if node is not None and isinstance(node.value, Scalar)
    }
    if isinstance(secrets, Sequence):
        for name, item in list_named_entries(secrets):
            leaf = find_child(item, "ref")
            if isinstance(leaf, Scalar):
                found[name] = _normalize_reference(leaf)
    return found


def find_ref(entry: KeyValue) -> KeyValue | None:
    return find(entry.value, "ref") if isinstance(entry.value, Mapping) else entry


def _normalize_reference(leaf: Scalar) -> Scalar:
    """Normalize a list reference, which can be the bare name of a secret or variable."""
    return leaf._replace(text=f"secret://{leaf.text}") if leaf.text.isidentifier() else leaf


def _check_backend(subject: Subject) -> Iterator[Finding]:
    backend = find_child(subject.root, "backend")
    kind = read.read_text(backend, "kind", BackendKind.LOCAL)
    if kind not in tuple(BackendKind):
        return
    known = back_end_facts(kind).settings
    others = {key for one in BACK_ENDS for key in one.settings if key not in known}
    for entry in _list_entries(backend):
        if entry.key in others:
            message = (
                f"`backend.{entry.key}` has no effect with kind `{kind}`, except in migrations"
            )
            yield _make_warning("config/no-effect", message, entry)


def _find_settings_without_effect(subject: Subject) -> Iterator[Finding]:
    found = [find(subject.root, key) for key in NO_EFFECT]
    strategy = find(find_child(subject.root, "deploy"), "strategy")
    for entry in (*found, strategy):
        if entry is not None:
            prefix = "deploy." if entry is strategy else ""
            message = f"`{prefix}{entry.key}` has no effect in this version"
            yield _make_warning("config/no-effect", message, entry)


def _check_targets(subject: Subject) -> Iterator[Finding]:
    labels = {entry.key for entry in _list_entries(find_child(subject.root, "providerOverrides"))}
    known = labels | set(PROVIDER_IDS)
    targets = find_child(subject.root, "fabric", "targets")
    for item in targets.items if isinstance(targets, Sequence) else ():
        if isinstance(item, Scalar) and item.text not in known and not is_known_provider(item.text):
            message = f"target `{format_leaf(item)}` is not a label of `providerOverrides`"
            yield _make_error(
                "config/unknown-target", message, item, suggest_spelling(item.text, known)
            )


def _check_layer_versions(subject: Subject) -> Iterator[Finding]:
    for name, address in map_layer_addresses(subject.root).items():
        if address and not address.rpartition(":")[2].isdigit():
            message = f"layer `{format_excerpt(name)}` has no version"
            where = find(subject.root, "layers")
            if where is not None:
                yield _make_warning("config/layer-version", message, where)


def _list_entries(node: Node | None) -> tuple[KeyValue, ...]:
    return node.entries if isinstance(node, Mapping) else ()


def _make_error(code: str, message: str, node: Node, hint: str = "") -> Finding:
    return Finding(Problem(code, message, hint, place_of(node)))


def _make_warning(code: str, message: str, entry: KeyValue) -> Finding:
    return Finding(Problem(code, message, where=place_of(entry)), is_fatal=False)


_RULES: tuple[Rule, ...] = (
    _check_unique_names,
    _check_functions,
    _check_overlays,
    _check_secrets,
    _check_backend,
    _find_settings_without_effect,
    _check_targets,
    lambda subject: check_builds(subject.root),
    _check_layer_versions,
    lambda subject: check_layers(subject.root),
    lambda subject: check_steps(subject.root),
)


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
# A stage's receipt is `.fabric/<stage>.json`, where these names are already taken.
_TAKEN = ("state-backup", "deployment", "manifest")
_TAKEN_PREFIXES = ("fabric-state-", "router-sync-", "router-zone-")


def stage_problem(stage: str) -> tuple[Problem, ...]:
    """Return the problem with a stage name, if any."""
    if not _NAME.fullmatch(stage):
        rule = "use letters, digits, `.`, `_` and `-`, at most 63, first a letter or digit"
        return (
            Problem("config/stage-name", f"invalid stage name `{format_excerpt(stage)}`", rule),
        )
    if stage in _TAKEN or stage.startswith(_TAKEN_PREFIXES):
        message = f"reserved stage name `{stage}`"
        return (Problem("config/stage-name", message, "use another stage name"),)
    return ()
