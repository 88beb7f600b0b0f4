"""Rules between keys of a config, beyond their types. Every rule reports all it finds.

Rules skip nodes that `check` already reports, so both can run on the same tree.
"""

import shlex
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from fabric.config.layers import layer_addresses
from fabric.config.resolve.bindings import is_reference
from fabric.config.resolve.stages import named_entries, unknown_functions
from fabric.config.rules.function import function_findings
from fabric.config.schema.check import Finding
from fabric.config.schema.config import NO_EFFECT
from fabric.config.yaml import read
from fabric.config.yaml.nodes import (
    KeyValue,
    Mapping,
    Node,
    Scalar,
    Sequence,
    child,
    find,
    place_of,
    visible,
)
from fabric.config.yaml.syntax import has_binding, shown
from fabric.model.back_ends import BACK_ENDS, BackendKind, back_end_facts
from fabric.model.catalog import PROVIDER_IDS, facts_of
from fabric.model.problems import Problem
from fabric.model.spelling import did_you_mean

PRODUCTION = ("prod", "production", "live")
_NAMED = ("functions", "layers", "resources", "addons", "workflows", "secrets")


class Subject(NamedTuple):
    """The filled document and the stage that it is loaded for."""

    root: Mapping
    stage: str


Rule: TypeAlias = Callable[[Subject], Iterator[Finding]]


def rule_findings(root: Mapping, stage: str) -> Iterator[Finding]:
    subject = Subject(root, stage)
    for rule in _RULES:
        yield from rule(subject)


def _unique_names(subject: Subject) -> Iterator[Finding]:
    for key in _NAMED:
        seen: dict[str, int] = {}
        items = child(subject.root, key)
        for item in items.items if isinstance(items, Sequence) else ():
            name = find(item, "name")
            text = read.text(item, "name")
            if name is None or not text:
                continue
            if text in seen:
                yield _same_name(key, text, seen[text], name)
            seen.setdefault(text, name.line)


def _same_name(key: str, name: str, first: int, entry: KeyValue) -> Finding:
    noun = key.removesuffix("s")
    code = "config/duplicate-function" if key == "functions" else "config/duplicate-name"
    message = f"duplicate name `{shown(name)}` in `{key}` (lines {first} and {entry.line})"
    return _error(code, message, entry.value, f"use a different name for each {noun}")


def _functions(subject: Subject) -> Iterator[Finding]:
    root = subject.root
    facts = facts_of(read.text(child(root, "provider"), "name"))
    known = {
        "layers": frozenset(layer_addresses(root)),
        "resources": frozenset(name for name, _ in named_entries(child(root, "resources"))),
        "addons": frozenset(name for name, _ in named_entries(child(root, "addons"))),
    }
    runtime = read.text(child(root, "provider"), "runtime")
    for name, node in named_entries(child(root, "functions")):
        yield from function_findings(name, node, runtime, facts, known)


def _overlays(subject: Subject) -> Iterator[Finding]:
    for problem in unknown_functions(subject.root):
        yield Finding(problem)


def _secrets(subject: Subject) -> Iterator[Finding]:
    if subject.stage not in PRODUCTION:
        return
    for name, leaf in secret_leaves(subject.root).items():
        if not is_reference(leaf.text) and not has_binding(leaf.text):
            message = f"literal value for the secret `{shown(name)}` in stage `{subject.stage}`"
            hint = "use a reference, or a binding such as ${env:NAME}"
            yield _error("config/secret-literal", message, leaf, hint)


def param_leaves(root: Node) -> dict[str, Scalar]:
    entries = _entries(child(root, "params"))
    return {one.key: one.value for one in entries if isinstance(one.value, Scalar)}


def secret_leaves(root: Node) -> dict[str, Scalar]:
    """List the `secrets` by key, in both notations."""
    secrets = child(root, "secrets")
    found = {
        name: node.value
        for name, node in ((entry.key, find_ref(entry)) for entry in _entries(secrets))
        if node is not None and isinstance(node.value, Scalar)
    }
    if isinstance(secrets, Sequence):
        for name, item in named_entries(secrets):
            leaf = child(item, "ref")
            if isinstance(leaf, Scalar):
                found[name] = _reference(leaf)
    return found


def find_ref(entry: KeyValue) -> KeyValue | None:
    return find(entry.value, "ref") if isinstance(entry.value, Mapping) else entry


def _reference(leaf: Scalar) -> Scalar:
    """Normalize a list reference, which can be the bare name of a secret or variable."""
    return leaf._replace(text=f"secret://{leaf.text}") if leaf.text.isidentifier() else leaf


def _backend(subject: Subject) -> Iterator[Finding]:
    backend = child(subject.root, "backend")
    kind = read.text(backend, "kind", BackendKind.LOCAL)
    if kind not in tuple(BackendKind):
        return
    known = back_end_facts(kind).settings
    others = {key for one in BACK_ENDS for key in one.settings if key not in known}
    for entry in _entries(backend):
        if entry.key in others:
            message = (
                f"`backend.{entry.key}` has no effect with kind `{kind}`, except in migrations"
            )
            yield _warning("config/no-effect", message, entry)


def _without_effect(subject: Subject) -> Iterator[Finding]:
    found = [find(subject.root, key) for key in NO_EFFECT]
    strategy = find(child(subject.root, "deploy"), "strategy")
    for entry in (*found, strategy):
        if entry is not None:
            prefix = "deploy." if entry is strategy else ""
            message = f"`{prefix}{entry.key}` has no effect in this version"
            yield _warning("config/no-effect", message, entry)


def _targets(subject: Subject) -> Iterator[Finding]:
    labels = {entry.key for entry in _entries(child(subject.root, "providerOverrides"))}
    known = labels | set(PROVIDER_IDS)
    targets = child(subject.root, "fabric", "targets")
    for item in targets.items if isinstance(targets, Sequence) else ():
        if isinstance(item, Scalar) and item.text not in known:
            message = f"target `{visible(item)}` is not a label of `providerOverrides`"
            yield _error("config/unknown-target", message, item, did_you_mean(item.text, known))


def _build_command(subject: Subject) -> Iterator[Finding]:
    functions = (node for _, node in named_entries(child(subject.root, "functions")))
    for node in (subject.root, *functions):
        leaf = child(node, "build", "command")
        if isinstance(leaf, Scalar) and isinstance(leaf.value, str):
            try:
                shlex.split(leaf.value)
            except ValueError as error:
                message = f"invalid `build.command`: {error}"
                yield _error("config/bad-command", message, leaf, "write it as a list")


def _layer_versions(subject: Subject) -> Iterator[Finding]:
    for name, address in layer_addresses(subject.root).items():
        if address and not address.rpartition(":")[2].isdigit():
            message = f"layer `{shown(name)}` has no version"
            where = find(subject.root, "layers")
            if where is not None:
                yield _warning("config/layer-version", message, where)


def _entries(node: Node | None) -> tuple[KeyValue, ...]:
    return node.entries if isinstance(node, Mapping) else ()


def _error(code: str, message: str, node: Node, hint: str = "") -> Finding:
    return Finding(Problem(code, message, hint, place_of(node)))


def _warning(code: str, message: str, entry: KeyValue) -> Finding:
    return Finding(Problem(code, message, where=place_of(entry)), is_fatal=False)


_RULES: tuple[Rule, ...] = (
    _unique_names,
    _functions,
    _overlays,
    _secrets,
    _backend,
    _without_effect,
    _targets,
    _build_command,
    _layer_versions,
)
