"""The provider of a load: the config's own, or the `--provider` choice."""

from collections.abc import Sequence
from typing import NamedTuple

from fabric.config.resolve.binding_scope import BindingScope
from fabric.config.resolve.bindings import fill
from fabric.config.yaml import read
from fabric.config.yaml.nodes import (
    KeyValue,
    Mapping,
    Node,
    Scalar,
    find,
    find_child,
    with_entry,
)
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.catalog import PROVIDER_IDS, is_known_provider, suggest_provider
from fabric.model.problems import Problem

_LAID_OVER = ("name", "runtime", "region")


class Chosen(NamedTuple):
    """The document with the chosen provider, and its label."""

    root: Mapping
    label: str
    # The config's own provider.
    own: str
    problems: tuple[Problem, ...] = ()
    names: frozenset[str] = frozenset()
    secret_values: frozenset[str] = frozenset()


def choose(root: Mapping, choice: str, scope: BindingScope) -> Chosen:
    """Apply the choice: a label, a provider id, or "" for the config's provider."""
    own = read.read_text(find_child(root, "provider"), "name")
    override = _find_override(root, choice) if choice else None
    if override is not None:
        return _apply_override(root, override, own, scope)
    if choice in ("", own):
        return Chosen(root, own, own)
    if is_known_provider(choice):
        return Chosen(_with_provider(root, "name", _make_leaf(root, choice)), choice, own)
    return Chosen(root, own, own, (_unknown_choice_problem(root, choice),))


def _find_override(root: Mapping, choice: str) -> KeyValue | None:
    """Find the override of this label, or the only one for this provider."""
    entry = find(find_child(root, "providerOverrides"), choice)
    if entry is not None or choice == read.read_text(find_child(root, "provider"), "name"):
        return entry
    overrides = find_child(root, "providerOverrides")
    entries = overrides.entries if isinstance(overrides, Mapping) else ()
    return next((item for item in entries if read.read_text(item.value, "name") == choice), None)


def _apply_override(root: Mapping, override: KeyValue, own: str, scope: BindingScope) -> Chosen:
    filled = fill(override.value, scope)
    for key in _LAID_OVER:
        value = find_child(filled.node, key)
        if value is not None:
            root = _with_provider(root, key, value)
    backend = find(filled.node, "backend")
    root = root if backend is None else with_entry(root, backend)
    return Chosen(
        root=root,
        label=override.key,
        own=own,
        problems=filled.problems,
        names=filled.names,
        secret_values=filled.secret_values,
    )


def _with_provider(root: Mapping, key: str, value: Node) -> Mapping:
    provider = find(root, "provider")
    if provider is None or not isinstance(provider.value, Mapping):
        return root
    entry = KeyValue(key, value.line, value.column, value)
    return with_entry(root, provider._replace(value=with_entry(provider.value, entry)))


def _make_leaf(root: Mapping, text: str) -> Scalar:
    provider = find_child(root, "provider") or root
    return Scalar(text, text, provider.line, provider.column)


def _unknown_choice_problem(root: Mapping, choice: str) -> Problem:
    overrides = find_child(root, "providerOverrides")
    labels = [item.key for item in overrides.entries] if isinstance(overrides, Mapping) else []
    return unknown_provider_problem(format_excerpt(choice), labels)


def unknown_provider_problem(word: str, labels: Sequence[str]) -> Problem:
    """Return the problem. `labels` are those of `providerOverrides`, which the same option
    selects."""
    names = [*labels, *PROVIDER_IDS]
    hint = suggest_provider(word, labels) or f"use one of {', '.join(names)}"
    return Problem("usage/unknown-provider", f"unknown provider `{word}`", hint)
