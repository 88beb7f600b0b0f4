"""Values of functions that depend on a condition become parameters with a value for each stage.

A condition is known if it depends on parameters only, and if samconfig.toml names the stages.
"""

import json
import re
from collections.abc import Callable
from collections.abc import Mapping as Table
from typing import Any

from msgspec.structs import replace

from fabric.config.yaml.nodes import KeyValue, Mapping, Node, Scalar, Sequence, find, find_child
from fabric.config.yaml.reader import read
from fabric.importing.sam.config import DeploySettings

_DEFAULT = "default"
_FUNCTION = "AWS::Serverless::Function"
_DEEPEST, _PAIR, _BRANCHES = 100, 2, 3
_NOTHING = {"Ref": "AWS::NoValue"}
_NOT_LETTERS = re.compile(r"[^A-Za-z0-9]")
# By stage.
_Values = dict[str, Scalar]


def resolve_conditions(root: Node, deploy: DeploySettings) -> tuple[Node, DeploySettings]:
    """Replace `Fn::If` in functions by parameters, whose values are added to the settings."""
    stages = {_DEFAULT: deploy.overrides.get(_DEFAULT, {}), **deploy.overrides}
    conditions = _Conditions(root, stages)
    if len(stages) == 1 or not isinstance(root, Mapping) or not conditions.by_name:
        return root, deploy
    resolver = _Resolver(conditions)
    made = resolver.resolve_template(root)
    overrides = {
        stage: {**values, **{name: found[stage].text for name, found in resolver.made.items()}}
        for stage, values in stages.items()
        if stage != _DEFAULT
    }
    overrides[_DEFAULT] = dict(stages[_DEFAULT])
    return resolver.add_parameters(made), replace(deploy, overrides=overrides)


def choose_branches(template: Any, parameters: Table[str, Any]) -> Any:
    """Choose the branches of `Fn::If` in a template, and its resources, by known conditions."""
    text = json.dumps(template).encode()
    given = {name: _write_text(value) for name, value in parameters.items()}
    conditions = _Conditions(read("template.json", text).root, {_DEFAULT: given})

    def choose(value: Any) -> Any:
        if isinstance(value, list):
            return [one for one in map(choose, value) if one != _NOTHING]
        if not isinstance(value, dict):
            return value
        parts = value.get("Fn::If")
        if isinstance(parts, list) and len(parts) == _BRANCHES:
            is_true = conditions.evaluate(str(parts[0]), _DEFAULT)
            if is_true is not None:
                return choose(parts[1] if is_true else parts[2])
        found = {key: choose(one) for key, one in value.items() if not is_off(one)}
        return {key: one for key, one in found.items() if one != _NOTHING}

    def is_off(one: Any) -> bool:
        name = one.get("Condition") if isinstance(one, dict) and "Type" in one else None
        return isinstance(name, str) and conditions.evaluate(name, _DEFAULT) is False

    return choose(template)


def _write_text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


class _Conditions:
    """The conditions of a template, by the parameters of each stage."""

    def __init__(self, root: Node, stages: Table[str, Table[str, str]]) -> None:
        section = find_child(root, "Conditions")
        entries = section.entries if isinstance(section, Mapping) else ()
        self.by_name = {one.key: one.value for one in entries}
        parameters = find_child(root, "Parameters")
        rows = parameters.entries if isinstance(parameters, Mapping) else ()
        defaults = {one.key: find_child(one.value, "Default") for one in rows}
        texts = {name: one.text for name, one in defaults.items() if isinstance(one, Scalar)}
        self.parameters = frozenset(defaults)
        self.stages = {stage: {**texts, **given} for stage, given in stages.items()}
        # By name and stage. An open condition is not known.
        self._known: dict[tuple[str, str], bool | None] = {}

    def evaluate(self, name: str, stage: str, depth: int = 0) -> bool | None:
        """Evaluate a condition, or return None if its value is not known."""
        found, place = self.by_name.get(name), (name, stage)
        if found is None or depth >= _DEEPEST:
            return None
        if place not in self._known:
            self._known[place] = None
            self._known[place] = self._test(found, stage, depth)
        return self._known[place]

    def _test(self, node: Node, stage: str, depth: int) -> bool | None:
        if not isinstance(node, Mapping) or len(node.entries) != 1:
            return None
        [(key, _, _, value)] = node.entries
        items = value.items if isinstance(value, Sequence) else ()
        match key, value:
            case "Condition", Scalar(text=name):
                return self.evaluate(name, stage, depth + 1)
            case "Fn::Equals", _ if len(items) == _PAIR:
                one, other = (self._read(item, stage) for item in items)
                return None if one is None or other is None else one == other
            case (("Fn::Not" | "Fn::And" | "Fn::Or"), _) if depth < _DEEPEST:
                return self._combine(key, [self._test(one, stage, depth + 1) for one in items])
        return None

    @staticmethod
    def _combine(key: str, found: list[bool | None]) -> bool | None:
        if not found or None in found:
            return None
        match key:
            case "Fn::Not":
                return not found[0]
            case "Fn::And":
                return all(found)
        return any(found)

    def _read(self, node: Node, stage: str) -> str | None:
        if isinstance(node, Scalar):
            return node.text
        reference = find_child(node, "Ref")
        return self.stages[stage].get(reference.text) if isinstance(reference, Scalar) else None


class _Resolver:
    """Replaces values, and collects the parameters for them."""

    def __init__(self, conditions: _Conditions) -> None:
        self._conditions = conditions
        self.made: dict[str, _Values] = {}

    def resolve_template(self, root: Mapping) -> Node:
        return self._replace(root, "Resources", self._resolve_resources)

    def _resolve_resources(self, node: Node) -> Node:
        if not isinstance(node, Mapping):
            return node
        entries = [
            one._replace(value=self._resolve_function(one)) if _is_function(one.value) else one
            for one in node.entries
        ]
        return node._replace(entries=tuple(entries))

    def _resolve_function(self, one: KeyValue) -> Node:
        def resolve(properties: Node) -> Node:
            return self._resolve(properties, (one.key,))

        return self._replace(one.value, "Properties", resolve)

    @staticmethod
    def _replace(node: Node, key: str, change: Callable[[Node], Node]) -> Node:
        if not isinstance(node, Mapping):
            return node
        entries = (
            one._replace(value=change(one.value)) if one.key == key else one for one in node.entries
        )
        return node._replace(entries=tuple(entries))

    def _resolve(self, node: Node, path: tuple[str, ...]) -> Node:
        if isinstance(node, Sequence):
            items = (self._resolve(one, (*path, str(at))) for at, one in enumerate(node.items))
            return node._replace(items=tuple(items))
        if not isinstance(node, Mapping):
            return node
        values = self._find_values(node)
        if values:
            return self._add_parameter(node, path, values)
        entries = (
            one._replace(value=self._resolve(one.value, (*path, one.key))) for one in node.entries
        )
        return node._replace(entries=tuple(entries))

    def _find_values(self, node: Mapping) -> _Values:
        """Find the value of each stage; none if one is not known or not a single value."""
        entry = find(node, "Fn::If")
        parts = entry.value.items if entry and isinstance(entry.value, Sequence) else ()
        if len(parts) != _BRANCHES or not isinstance(parts[0], Scalar):
            return {}
        found: _Values = {}
        for stage in self._conditions.stages:
            is_true = self._conditions.evaluate(parts[0].text, stage)
            branch = parts[1] if is_true else parts[2]
            if is_true is None or not isinstance(branch, Scalar) or _is_like_reference(branch):
                return {}
            found[stage] = branch
        return found

    def _add_parameter(self, node: Mapping, path: tuple[str, ...], values: _Values) -> Node:
        first = values[_DEFAULT]
        if all(one.text == first.text for one in values.values()):
            return first
        keys = [one for one in path if one not in ("Environment", "Variables", "Events")]
        base = "".join(_NOT_LETTERS.sub("", one[:1].upper() + one[1:]) for one in keys)
        name, number = base, 2
        while name in self.made or name in self._conditions.parameters:
            name, number = f"{base}{number}", number + 1
        self.made[name] = values
        reference = Scalar(name, name, node.line, node.column)
        return node._replace(entries=(KeyValue("Ref", node.line, node.column, reference),))

    def add_parameters(self, root: Node) -> Node:
        """Add the parameters to the template, with the values of the default stage."""
        if not isinstance(root, Mapping) or not self.made:
            return root
        rows = tuple(
            KeyValue(name, one.line, one.column, _build_parameter(one))
            for name, values in self.made.items()
            for one in (values[_DEFAULT],)
        )
        section = find(root, "Parameters")
        if section is None or not isinstance(section.value, Mapping):
            made = Mapping(rows, root.line, root.column)
            added = KeyValue("Parameters", root.line, root.column, made)
            return root._replace(entries=(*root.entries, added))
        own = section.value
        changed = section._replace(value=own._replace(entries=(*own.entries, *rows)))
        entries = (changed if one is section else one for one in root.entries)
        return root._replace(entries=tuple(entries))


def _is_function(node: Node) -> bool:
    kind = find_child(node, "Type")
    return isinstance(kind, Scalar) and kind.text == _FUNCTION


def _is_like_reference(branch: Scalar) -> bool:
    """Return whether a literal would be a reference in fabric."""
    return "${" in branch.text and not branch.text.startswith("${env:")


def _build_parameter(value: Scalar) -> Mapping:
    kind = Scalar("String", "String", value.line, value.column)
    return Mapping(
        (
            KeyValue("Type", value.line, value.column, kind),
            KeyValue("Default", value.line, value.column, value),
        ),
        value.line,
        value.column,
    )
