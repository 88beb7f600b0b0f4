"""Rules for keys of a source: how one key becomes a key of the config.

A conversion is a table from keys to rules. Keys without a rule are reported as unknown.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.source import At

PARAMETER = re.compile(r"\$\{param:[A-Za-z0-9_-]+\}")
Rule: TypeAlias = Callable[[Context, At, Fields], None]
Rules: TypeAlias = Mapping[str, Rule]
Shared = TypeVar("Shared")


def apply_rules(context: Context, at: At, rules: Rules, fields: Fields) -> None:
    """Convert each entry of a map by its rule."""
    if is_function(at):
        reason = "the value is known only to CloudFormation"
        context.ledger.lose(at, reason, "write the keys into fabric.yml")
        return
    for entry in at.list_entries():
        rule = rules.get(entry.key)
        if rule is not None:
            rule(context, entry, fields)


def copy_as(key: str) -> Rule:
    return lambda context, at, fields: context.copy(at, fields, key)


def number_as(key: str) -> Rule:
    return lambda context, at, fields: context.copy_number(at, fields, key)


def map_as(key: str) -> Rule:
    return lambda context, at, fields: context.copy_map(at, fields, key)


def texts_as(key: str) -> Rule:
    """Copy a text or a list of texts as a list."""
    return lambda context, at, fields: context.put(at, fields, key, context.read_texts(at))


def lower_as(key: str) -> Rule:
    """Copy a text in lowercase. References stay as they are."""

    def rule(context: Context, at: At, fields: Fields) -> None:
        text = context.read_text(at)
        context.put(at, fields, key, text if "${" in text else text.lower())

    return rule


def flag_as(key: str) -> Rule:
    """Copy a flag, which can be written as text, or a reference to one."""

    def rule(context: Context, at: At, fields: Fields) -> None:
        if at.is_map:
            context.copy(at, fields, key)
            return
        fields.put(key, is_true(at), at)
        context.ledger.carry(at)

    return rule


def true_as(key: str) -> Rule:
    """Copy a flag only if it is true, because false is the default."""

    def rule(context: Context, at: At, fields: Fields) -> None:
        if is_true(at):
            fields.put(key, is_true(at), at)
        context.ledger.carry(at)

    return rule


def put_enabled(context: Context, at: At, fields: Fields) -> None:
    """Copy whether events are delivered, only if they are not."""
    reference = at.get("Ref").text
    text = context.names.parameters.get(reference, "") if reference else at.text
    if at.key.lower() == "enabled" and PARAMETER.fullmatch(text):
        fields.put("enabled", text, at)
        context.ledger.carry(at)
        return
    if at.is_map or "${" in at.text:
        reason = "whether it is on depends on a value of the stage; it is off in each stage"
        context.ledger.lose(at, reason, "set `enabled` of the trigger with `stages`")
        fields.put_flag("enabled", value=False)
        return
    if at.text.lower() in ("false", "disabled"):
        fields.put("enabled", is_true(at), at)
    context.ledger.carry(at)


def below(parent: str, rule: Rule) -> Rule:
    """Put the result below a map of the target."""
    return lambda context, at, fields: rule(context, at, fields.child(parent, at))


def inside(parent: str, rules: Rules) -> Rule:
    """Convert a map to a map of the target."""

    def rule(context: Context, at: At, fields: Fields) -> None:
        if fields.has(parent):
            apply_rules(context, at, rules, fields.child(parent, at))
            return
        inner = Fields(at)
        apply_rules(context, at, rules, inner)
        if not inner.is_empty:
            fields.put(parent, inner, at)

    return rule


def pass_over(_context: Context, _at: At, _fields: Fields) -> None:
    """Leave a key to another rule, which notes it."""


def carry(context: Context, at: At, _fields: Fields) -> None:
    """Note a key that another rule reads."""
    context.ledger.carry(at)


def drop_because(reason: str) -> Rule:
    return lambda context, at, _: context.ledger.drop(at, reason)


def lose_because(reason: str, hint: str = "") -> Rule:
    return lambda context, at, _: context.ledger.lose(at, reason, hint)


def change_because(reason: str, new: str = "") -> Rule:
    return lambda context, at, _: context.ledger.change(at, reason, new)


def share(keys: tuple[str, ...], rule: Shared) -> dict[str, Shared]:
    """The same rule for several keys."""
    return dict.fromkeys(keys, rule)


def capitalize_keys(rules: Rules) -> Rules:
    """Write keys with a first capital letter, as AWS SAM does."""
    return {f"{key[:1].upper()}{key[1:]}": rule for key, rule in rules.items()}


def in_both_cases(rules: Rules) -> Rules:
    return {**rules, **capitalize_keys(rules)}


def is_true(at: At) -> bool:
    return at.text.lower() == "true"


def is_false(at: At) -> bool:
    return at.text.lower() == "false"


def is_function(at: At) -> bool:
    """Return whether a map is a function of CloudFormation."""
    entries = at.list_entries() if at.is_map else ()
    return len(entries) == 1 and (entries[0].key == "Ref" or entries[0].key.startswith("Fn::"))
