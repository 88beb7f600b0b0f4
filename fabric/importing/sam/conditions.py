"""Values of SAM resources that depend on a condition become parameters with a value for each stage.

A condition is known if it depends on parameters only, and if samconfig.toml names the stages.
Without stages, only variables that a condition omits are resolved: a stack cannot omit an output.
"""

import json
import re
from collections.abc import Callable, Iterable
from collections.abc import Mapping as Table
from typing import Any

from msgspec.structs import replace

from fabric.config.yaml.nodes import (
    EMPTY,
    KeyValue,
    Mapping,
    Node,
    Scalar,
    Sequence,
    convert_to_plain,
    find,
    find_child,
)
from fabric.config.yaml.reader import read
from fabric.importing.intrinsics import SSM_VALUE
from fabric.importing.sam.config import DeploySettings
from fabric.importing.source import At, Ledger

_DEFAULT = "default"
_SAM = "AWS::Serverless::"
# These become resources of a stack, where CloudFormation evaluates conditions.
_OF_STACK = (f"{_SAM}SimpleTable", f"{_SAM}Application")
_DOCUMENTS = ("DefinitionBody", "DefinitionUri")
_APIS = (f"{_SAM}Api", f"{_SAM}HttpApi")
# No logical ID contains a dot.
_GLOBALS = "Globals."
# fabric writes these values in lowercase.
_LOWERED = ("Type", "LogFormat")
_NO_VALUE = "AWS::NoValue"
# Values of AWS for settings without a value.
_OMITTED = {"MemorySize": "128", "Timeout": "3", "Enabled": "true"}
# Directories, of which the form is equal in all stages.
_DIRECTORIES = ("CodeUri", "ContentUri")
_DEEPEST, _PAIR, _BRANCHES = 100, 2, 3
_NOTHING = {"Ref": "AWS::NoValue"}
# Where functions have variables. `*` is each resource of SAM.
_VARIABLES = (
    ("Globals", "Function", "Environment", "Variables"),
    ("Resources", "*", "Properties", "Environment", "Variables"),
)
_NOT_LETTERS = re.compile(r"[^A-Za-z0-9]")
# By stage.
_Values = dict[str, Scalar]
_Branches = dict[str, Node]


def resolve_conditions(
    root: Node, deploy: DeploySettings, ledger: Ledger
) -> tuple[Node, DeploySettings]:
    """Replace `Fn::If` in resources of SAM and in their defaults by parameters, whose values are
    added to the settings."""
    stages = {_DEFAULT: deploy.overrides.get(_DEFAULT, {}), **deploy.overrides}
    conditions = _Conditions(root, stages)
    if not isinstance(root, Mapping) or not conditions.by_name:
        return root, deploy
    resolver = _Resolver(conditions, ledger)
    if len(stages) == 1:
        made: Node = root
        for keys in _VARIABLES:
            made = resolver.choose_variables(At(made), keys)
        return made, deploy
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
        # Only CloudFormation knows the value if the text is the name of another parameter.
        named = {one.key for one in rows if At(one.value).get("Type").text.startswith(SSM_VALUE)}
        self.stages = {
            stage: {name: text for name, text in {**texts, **given}.items() if name not in named}
            for stage, given in stages.items()
        }
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

    def __init__(self, conditions: _Conditions, ledger: Ledger) -> None:
        self._conditions = conditions
        self._ledger = ledger
        self.made: dict[str, _Values] = {}

    def resolve_template(self, root: Mapping) -> Node:
        made = self._replace(root, "Globals", self._resolve_defaults)
        return self._replace(made, "Resources", self._resolve_resources)

    def choose_variables(self, at: At, keys: tuple[str, ...]) -> Node:
        """Choose the values of variables that are set only under a condition, without stages."""
        node = at.node if at.node is not None else EMPTY
        if not isinstance(node, Mapping):
            return node
        found: list[KeyValue] = []
        for entry, one in zip(node.entries, at.list_entries(), strict=True):
            value: Node | None = entry.value
            if not keys:
                value = self._choose_variable(one)
            elif keys[0] == entry.key or (keys[0] == "*" and _is_own(entry.value)):
                value = self.choose_variables(one, keys[1:])
            found += [entry._replace(value=value)] if value is not None else []
        return node._replace(entries=tuple(found))

    def _choose_variable(self, at: At) -> Node | None:
        """Choose the value by the defaults of the parameters. None if they set no value."""
        branches = at.get("Fn::If").list_items()
        chosen = self._choose(at.node, _DEFAULT) if at.node is not None else None
        is_unclear = isinstance(chosen, Scalar) and _is_like_reference(chosen)
        is_partial = any(_is_omitted(one.node) for one in branches if one.node is not None)
        if chosen is None or is_unclear or not is_partial:
            return at.node
        reason = "the condition is evaluated with the defaults of the parameters"
        new = "no value" if _is_omitted(chosen) else At(chosen).text
        self._ledger.change(at, reason, new)
        return None if _is_omitted(chosen) else chosen

    def _resolve_defaults(self, node: Node) -> Node:
        if not isinstance(node, Mapping):
            return node
        return self._resolve_entries(node, (_GLOBALS,))

    def _resolve_resources(self, node: Node) -> Node:
        if not isinstance(node, Mapping):
            return node
        entries = [
            one._replace(value=self._resolve_resource(one)) if _is_own(one.value) else one
            for one in node.entries
        ]
        return node._replace(entries=tuple(entries))

    def _resolve_resource(self, one: KeyValue) -> Node:
        def resolve(properties: Node) -> Node:
            return self._resolve(properties, (one.key,)) or properties

        return self._replace(one.value, "Properties", resolve)

    @staticmethod
    def _replace(node: Node, key: str, change: Callable[[Node], Node]) -> Node:
        if not isinstance(node, Mapping):
            return node
        entries = (
            one._replace(value=change(one.value)) if one.key == key else one for one in node.entries
        )
        return node._replace(entries=tuple(entries))

    def _resolve(self, node: Node, path: tuple[str, ...]) -> Node | None:
        """Resolve a value. None if it has no value in any stage."""
        if isinstance(node, Sequence):
            return self._resolve_items(node, path)
        if not isinstance(node, Mapping) or find(node, "Fn::If") is None:
            return self._resolve_entries(node, path) if isinstance(node, Mapping) else node
        branches = self._find_branches(node)
        if branches and all(map(_is_omitted, branches.values())):
            self._ledger.drop(_locate(node, path), "no stage sets the value")
            return None
        made = self._merge(branches, node, path)
        if made is None:  # CloudFormation evaluates it, or the report names it
            return node
        if not isinstance(made, Scalar):
            self._ledger.carry(_locate(node, path))
        return made

    def _resolve_items(self, node: Sequence, path: tuple[str, ...]) -> Node:
        found = [self._resolve(one, (*path, str(at))) for at, one in enumerate(node.items)]
        if None in found:  # the numbers of the next items change
            first = found.index(None)
            for at, item in enumerate(found[first:], first):
                if item is not None:
                    self._ledger.carry(_locate(node.items[at], (*path, str(at))))
        return node._replace(items=tuple(one for one in found if one is not None))

    def _resolve_entries(self, node: Mapping, path: tuple[str, ...]) -> Mapping:
        found = ((one, self._resolve(one.value, (*path, one.key))) for one in node.entries)
        entries = (one._replace(value=value) for one, value in found if value is not None)
        return node._replace(entries=tuple(entries))

    def _find_branches(self, node: Mapping) -> _Branches:
        """Find the value of each stage; none if one is not known."""
        found: _Branches = {}
        for stage in self._conditions.stages:
            chosen = self._choose(node, stage)
            if chosen is None:
                return {}
            found[stage] = chosen
        return found

    def _choose(self, node: Node, stage: str) -> Node | None:
        """Choose the branch of a stage, also of conditions within conditions."""
        for _ in range(_DEEPEST):
            entry = find(node, "Fn::If") if isinstance(node, Mapping) else None
            if entry is None:
                return node
            parts = entry.value.items if isinstance(entry.value, Sequence) else ()
            if len(parts) != _BRANCHES or not isinstance(parts[0], Scalar):
                return None
            is_true = self._conditions.evaluate(parts[0].text, stage)
            if is_true is None:
                return None
            node = parts[1] if is_true else parts[2]
        return None

    def _merge(self, branches: _Branches, node: Node, path: tuple[str, ...]) -> Node | None:
        """Merge the values of stages into one. None if that is not possible."""
        first = branches.get(_DEFAULT)
        if first is None or find(node, "Fn::If") is None:
            return None
        if all(convert_to_plain(one) == convert_to_plain(first) for one in branches.values()):
            return self._resolve(first, path)
        values = {stage: _fill_omitted(one, path) for stage, one in branches.items()}
        scalars = {stage: one for stage, one in values.items() if isinstance(one, Scalar)}
        if len(scalars) == len(values):
            is_unclear = any(map(_is_like_reference, scalars.values()))
            return None if is_unclear else self._add_parameter(node, path, scalars)
        return self._merge_parts(branches, first, path)

    def _merge_parts(self, branches: _Branches, first: Node, path: tuple[str, ...]) -> Node | None:
        """Merge maps with equal keys, and lists of equal length, part by part."""
        count = len(self.made)
        made: Node | None = None
        if isinstance(first, Mapping) and _have_equal_keys(branches.values()):
            parts = [
                one._replace(value=value)
                for one in first.entries
                if (value := self._merge_part(_pick(branches, one.key), (*path, one.key)))
            ]
            made = (
                first._replace(entries=tuple(parts)) if len(parts) == len(first.entries) else None
            )
        elif isinstance(first, Sequence) and _have_equal_lengths(branches.values()):
            items = [
                item
                for at in range(len(first.items))
                if (item := self._merge_part(_pick(branches, at), (*path, str(at))))
            ]
            made = first._replace(items=tuple(items)) if len(items) == len(first.items) else None
        if made is None:  # without parameters of parts
            self.made = dict(list(self.made.items())[:count])
        return made

    def _merge_part(self, branches: _Branches, path: tuple[str, ...]) -> Node | None:
        first = branches[_DEFAULT]
        condition = KeyValue("Fn::If", first.line, first.column, first)
        return self._merge(branches, Mapping((condition,), first.line, first.column), path)

    def _add_parameter(self, node: Node, path: tuple[str, ...], values: _Values) -> Node:
        first = values[_DEFAULT]
        if all(one.text == first.text for one in values.values()):
            return first
        if path[-1] in _DIRECTORIES:
            values = {stage: _normalize_directory(one) for stage, one in values.items()}
        if path[-1] in _LOWERED:
            values = {stage: _lower(one) for stage, one in values.items()}
        keys = [one for one in path if one not in ("Environment", "Variables", "Events", _GLOBALS)]
        base = "".join(_NOT_LETTERS.sub("", one[:1].upper() + one[1:]) for one in keys)
        name, number = base, 2
        while name in self.made or name in self._conditions.parameters:
            name, number = f"{base}{number}", number + 1
        self.made[name] = values
        reference = Scalar(name, name, node.line, node.column)
        return Mapping(
            (KeyValue("Ref", node.line, node.column, reference),), node.line, node.column
        )

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


def _is_own(node: Node) -> bool:
    """Return whether a resource becomes a part of the config."""
    kind = find_child(node, "Type")
    name = kind.text if isinstance(kind, Scalar) else ""
    properties = find_child(node, "Properties")
    is_document = name in _APIS and any(
        find_child(properties, one) for one in _DOCUMENTS if properties is not None
    )
    return name.startswith(_SAM) and name not in _OF_STACK and not is_document


def _locate(node: Node, path: tuple[str, ...]) -> At:
    """Locate a value in the template. Paths begin with `Globals`, or with the ID of a resource."""
    head = ("Globals",) if path[0] == _GLOBALS else ("Resources", path[0], "Properties")
    return At(node, (*head, *path[1:]), node.line, node.column)


def _is_omitted(node: Node) -> bool:
    reference = find_child(node, "Ref") if isinstance(node, Mapping) else None
    return isinstance(reference, Scalar) and reference.text == _NO_VALUE


def _fill_omitted(node: Node, path: tuple[str, ...]) -> Node:
    """Replace a missing value by that of AWS, if it is known."""
    text = _OMITTED.get(path[-1], "")
    if not text or not _is_omitted(node):
        return node
    return Scalar(json.loads(text), text, node.line, node.column)


def _normalize_directory(one: Scalar) -> Scalar:
    text = one.text.removeprefix("./").rstrip("/") or "."
    return one._replace(value=text, text=text)


def _lower(one: Scalar) -> Scalar:
    return one._replace(value=one.text.lower(), text=one.text.lower())


def _have_equal_keys(nodes: Iterable[Node]) -> bool:
    """Return whether all nodes are maps with the same keys, and no functions of CloudFormation."""
    keys = [
        frozenset(entry.key for entry in one.entries) if isinstance(one, Mapping) else frozenset()
        for one in nodes
    ]
    [first, *others] = keys
    is_function = any(key == "Ref" or key.startswith("Fn::") for key in first)
    return bool(first) and not is_function and all(one == first for one in others)


def _have_equal_lengths(nodes: Iterable[Node]) -> bool:
    return len({len(one.items) if isinstance(one, Sequence) else -1 for one in nodes}) == 1


def _pick(branches: _Branches, key: str | int) -> _Branches:
    """Pick the part of each stage."""
    found: _Branches = {}
    for stage, one in branches.items():
        if isinstance(one, Sequence) and isinstance(key, int):
            found[stage] = one.items[key]
        elif isinstance(one, Mapping):
            found[stage] = next(row.value for row in one.entries if row.key == key)
    return found


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
