"""Variables of the Serverless Framework to values and bindings of fabric.

A value that differs by stage becomes a parameter: `params.NAME` and `stages.STAGE.params.NAME`.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Items
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

from fabric.config.yaml.nodes import KeyValue, Mapping, Node, Scalar, Sequence
from fabric.config.yaml.reader import read
from fabric.importing.credential_names import SYSTEM_VARIABLES, name_variable
from fabric.importing.credentials import Credentials, is_credential
from fabric.importing.serverless.lift import find_construct_value
from fabric.importing.serverless.variable_syntax import (
    Choice,
    Variable,
    has_variables,
    parse_choice,
    parse_literal,
    split_variables,
)
from fabric.importing.source import At, Ledger
from fabric.importing.surroundings import Surroundings, is_outside
from fabric.model.problems import FabricError, Problem

_STAGE = "${stage}"
# In place of a stage: all stages without an own value.
_OTHER_STAGES = ""
_MAX_VALUES = 60_000
# Keys whose values are lists or maps.
_NO_TEXTS = frozenset(("events", "functions", "layers", "plugins", "resources", "statements"))
_CODE_FILES = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts")
_DATA_FILES = (".yml", ".yaml", ".json")
_REGION = re.compile(r"[a-z0-9-]+")
_SECRET_REFERENCE = "/aws/reference/secretsmanager/"  # noqa: S105
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_UNSAFE_DEFAULT = re.compile(r"[{}\n]")


class Binding(NamedTuple):
    """A value that is known only to fabric: the inside of a binding."""

    inside: str
    takes_default: bool = True


class Missing(NamedTuple):
    reason: str
    hint: str = ""


Found: TypeAlias = Node | Binding | Missing


class _AbsentValue(NamedTuple):
    """The address of a value in a file that is not in the project."""

    path: str
    address: str


class StageTable(NamedTuple):
    """Values of one address by stage."""

    name: str
    values: dict[str, At]


class Variables:
    """Resolves the variables of one source."""

    def __init__(
        self, root: Node, surroundings: Surroundings, credentials: Credentials, ledger: Ledger
    ) -> None:
        self.root = root
        self._root = At(root)
        self._surroundings = surroundings
        self._ledger = ledger
        self._credentials = credentials
        self._stage = find_default_stage(root)
        self._open: list[str] = []
        # The alternatives after the one that is looked up.
        self._rest: Items[str] = ()
        self._files: dict[str, Node | None] = {}
        self._left = _MAX_VALUES
        # Variables for values of files that are not in the project.
        self._absent: dict[str, _AbsentValue] = {}
        # Options without a default.
        self.options: set[str] = set()
        self.params: dict[str, str] = {}
        self.stage_params: dict[str, dict[str, str]] = {}

    def resolve(self, at: At) -> At:
        """Resolve a value and all values in it. Unresolved ones become null."""
        return at if at.node is None else at._replace(node=self._resolve_node(at.node, at))

    def _resolve_node(self, node: Node, at: At) -> Node:
        self._left -= 1
        if self._left < 0:
            message = f"the variables expand to more than {_MAX_VALUES:,} values"
            raise FabricError(Problem("import/unreadable", message))
        if isinstance(node, Scalar):
            return self._resolve_scalar(node, at)
        if isinstance(node, Sequence):
            items = At(node, at.path, at.line, at.column).list_items()
            return node._replace(
                items=tuple(
                    self._resolve_node(item, one)
                    for item, one in zip(node.items, items, strict=True)
                )
            )
        return node._replace(entries=tuple(self._resolve_entry(one, at) for one in node.entries))

    def _resolve_entry(self, entry: KeyValue, at: At) -> KeyValue:
        inner = At(entry.value, (*at.path, entry.key), entry.line, entry.column)
        value = self._resolve_node(entry.value, inner)
        if not has_variables(entry.key):
            return entry._replace(value=value)
        key = self._resolve_scalar(Scalar(entry.key, entry.key, entry.line, entry.column), inner)
        return entry._replace(
            key=key.text if isinstance(key, Scalar) and key.text else entry.key, value=value
        )

    def _resolve_scalar(self, node: Scalar, at: At) -> Node:
        if not isinstance(node.value, str) or "${" not in node.value:
            return node
        parts = split_variables(node.value)
        if len(parts) == 1 and isinstance(parts[0], Variable):
            return self._replace_whole(parts[0], node, at)
        texts: list[str] = []
        for part in parts:
            text = part if isinstance(part, str) else self._resolve_to_text(part, at)
            if text is None:
                return node._replace(value=None, text="")
            texts.append(text)
        joined = "".join(texts)
        return node._replace(value=joined, text=joined)

    def _replace_whole(self, variable: Variable, node: Scalar, at: At) -> Node:
        found = self._resolve_variable(variable, at)
        if isinstance(found, Missing):
            self._lose(variable, found, at)
            return node._replace(value=None, text="")
        if isinstance(found, Binding):
            text = f"${{{found.inside}}}"
            return node._replace(value=text, text=text)
        return _move(found, node.line, node.column)

    def _resolve_to_text(self, variable: Variable, at: At) -> str | None:
        found = self._resolve_variable(variable, at)
        if isinstance(found, Binding):
            return f"${{{found.inside}}}"
        if isinstance(found, Scalar):
            return found.text if found.value is not None else ""
        missing = found if isinstance(found, Missing) else Missing("the value is not a text")
        self._lose(variable, missing, at)
        return None

    def _lose(self, variable: Variable, missing: Missing, at: At) -> None:
        reason = f"variable `{variable.text}`: {missing.reason}"
        self._ledger.lose(at, reason, missing.hint, code="import/unresolved-variable")

    def _resolve_variable(self, variable: Variable, at: At) -> Found:
        """Take the first known alternative. A binding gets the next constant as default."""
        open_ones: list[Binding] = []
        first: Missing | None = None
        for number, choice in enumerate(variable.choices):
            found = self._resolve_choice(choice, at, variable.choices[number + 1 :])
            if isinstance(found, Missing):
                first = first or found
            elif isinstance(found, Binding):
                open_ones.append(found)
                if not found.takes_default:
                    return _nest(open_ones)
            elif not open_ones:
                return found
            else:
                last = self._add_default(variable, open_ones.pop(), found, at)
                return _nest([*open_ones, last])
        dynamic = _nest(open_ones) if open_ones else None
        if dynamic is None and "opt:region" in variable.choices:
            return Binding("aws:region", takes_default=False)
        if dynamic and dynamic.inside.startswith("param:") and "opt:" in variable.text:
            name = dynamic.inside.removeprefix("param:")
            self.options.add(name)
            self._ledger.change(
                at, f"`{variable.text}` has no default; set it in `params`", "set-me"
            )
        return dynamic or first or Missing("empty variable")

    def _add_default(self, variable: Variable, dynamic: Binding, found: Node, at: At) -> Binding:
        name = dynamic.inside.partition(":")[2]
        text = found.text if isinstance(found, Scalar) else ""
        if any(is_credential(text, one) for one in (name, at.key)):
            reason = "the default of a credential is not copied; set the variable in .env"
            self._ledger.change(at, reason, f"${{{dynamic.inside}}}")
            return dynamic
        if isinstance(found, Scalar) and not _UNSAFE_DEFAULT.search(
            found.text.replace("${", "").replace("}", "")
        ):
            return Binding(f"{dynamic.inside},{found.text}", takes_default=False)
        reason = f"variable `{variable.text}`: the alternative is not one line of text"
        self._ledger.change(at, reason, f"${{{dynamic.inside}}}")
        return dynamic

    def _resolve_choice(self, text: str, at: At, rest: Items[str] = ()) -> Found:
        if text.startswith("${"):
            parts = split_variables(text)
            if len(parts) == 1 and isinstance(parts[0], Variable):
                return self._resolve_variable(parts[0], at)
        is_literal, literal = parse_literal(text)
        if is_literal:
            return self._resolve_scalar(build_scalar(literal), at)
        parsed = parse_choice(text)
        if parsed is None:
            return Missing("unknown syntax")
        if parsed.kind == "strToBool":
            return self._resolve_flag(parsed, at)
        address = self._resolve_inner(parsed.address, at)
        argument = self._resolve_inner(parsed.argument, at)
        if address is None or argument is None:
            return Missing("its address depends on a value that is not known")
        self._rest = rest
        return self._find(parsed._replace(address=address, argument=argument), at)

    def _resolve_flag(self, choice: Choice, at: At) -> Found:
        parts = split_variables(choice.argument)
        found = self._resolve_choice(choice.argument, at) if len(parts) == 1 else None
        if not isinstance(found, Scalar):
            return Missing("not a constant")
        return build_scalar(found.text.lower() in ("true", "1"))

    def _resolve_inner(self, text: str, at: At) -> str | None:
        """Resolve the variables in an address."""
        texts: list[str] = []
        for part in split_variables(text):
            found = part if isinstance(part, str) else self._resolve_variable(part, at)
            if isinstance(found, Binding):
                found = f"${{{found.inside}}}"
            if isinstance(found, Scalar):
                found = found.text
            if not isinstance(found, str):
                return None
            texts.append(found)
        return "".join(texts)

    def _find(self, choice: Choice, at: At) -> Found:
        if choice.kind == "self":
            return self._find_own(choice.address, at)
        if choice.kind == "file":
            return self._find_in_file(choice.argument, choice.address, at)
        if choice.kind == "construct":
            found = find_construct_value(choice.address)
            return Missing("no such value of a construct") if found is None else found
        find = _SOURCES.get(choice.kind)
        if find is None:
            return Missing(f"unknown source `{choice.kind}`", _HINTS.get(choice.kind, ""))
        return find(choice)

    def _find_own(self, address: str, at: At) -> Found:
        if address == "provider.stage":
            return Binding("stage", takes_default=False)
        if address in self._open:
            return Missing(f"`{address}` refers to itself")
        if not address:
            return Missing("the whole config as a value")
        self._open.append(address)
        try:
            segments = address.split(".")
            if any(_STAGE in one for one in segments):
                return self._find_by_stage(self._find_stage_values(self._root, segments), at)
            absent = self._find_absent_file(segments)
            if absent:
                return self._ask_for(absent.path, absent.address, at)
            return self._find_at(segments)
        finally:
            self._open.pop()

    def _find_at(self, segments: Items[str]) -> Found:
        found = self._look_up(self._root, segments)
        if found is None:
            return _find_built_in(".".join(segments))
        if segments[0] == "custom":
            self._ledger.carry(found)
        return self._resolve_found(found)

    def _find_absent_file(self, segments: Items[str]) -> "_AbsentValue | None":
        """Return the file that contains a value, if it is not in the project."""
        for number in range(1, len(segments)):
            text = self._root.get(*segments[:number]).text
            [part, *rest] = split_variables(text) or [""]
            if isinstance(part, Variable) and not rest and len(part.choices) == 1:
                choice = parse_choice(part.choices[0])
                if choice is not None and choice.kind == "file" and not choice.address:
                    path = self._resolve_inner(choice.argument, self._root)
                    if path and self._is_absent(path.strip()):
                        self._ledger.carry(self._root.get(*segments[:number]))
                        return _AbsentValue(path.strip(), ".".join(segments[number:]))
        return None

    def _is_absent(self, path: str) -> bool:
        """Return whether no file has this path of the project, in any stage."""
        if is_outside(path):
            return False
        if _STAGE in path:
            return not any(self._list_stage_files(path))
        return not self._surroundings.is_file(path)

    def _ask_for(self, path: str, address: str, at: At) -> Found:
        """Replace a value of a file that is not in the project with a variable."""
        words = [one for one in at.path if not one.isdigit()]
        if words and words[-1] in _NO_TEXTS:
            return Missing(f"`{path}` not found")
        name = self._name_absent(path, address)
        reason = f"`{path}` is not in the project; set {name} in the environment, or in `.env`"
        self._ledger.change(at, reason, f"${{env:{name}}}")
        return Binding(f"env:{name}")

    def _name_absent(self, path: str, address: str) -> str:
        """Name the variable by the address in the file. The name of the file comes before it if
        the variable means something else."""
        stem = PurePosixPath(path.replace(_STAGE, "")).stem.strip(".-_") or "file"
        name, value = name_variable(address or stem), _AbsentValue(path, address)
        if name in SYSTEM_VARIABLES or self._absent.get(name, value) != value:
            name = name_variable(f"{stem}_{address}")
        self._absent.setdefault(name, value)
        return name

    def _look_up(self, root: At, segments: Items[str]) -> At | None:
        """Find a value. Variables on the way are resolved."""
        found = root
        for segment in segments:
            if isinstance(found.node, Scalar) and has_variables(found.text):
                found = self.resolve(found)
            children = found.list_items() if found.is_list else found.list_entries()
            child = next((one for one in children if one.key == segment), None)
            if child is None:
                return None
            found = child
        return found

    def _find_stage_values(self, root: At, segments: Items[str]) -> StageTable | None:
        """Find the values of an address with a stage in it."""
        number = next(n for n, one in enumerate(segments) if _STAGE in one)
        parent = self._look_up(root, segments[:number])
        if parent is None:
            return None
        if isinstance(parent.node, Scalar) and has_variables(parent.text):
            parent = self.resolve(parent)
        pattern = _compile_stage_pattern(segments[number])
        values: dict[str, At] = {}
        for child in parent.list_entries():
            matched = pattern.fullmatch(child.key)
            found = child.get(*segments[number + 1 :]) if matched else None
            if matched and found and found.node is not None:
                values[matched[1]] = found
        words = [
            *segments[:number],
            segments[number].replace(_STAGE, "").strip("-_"),
            *segments[number + 1 :],
        ]
        name = ".".join(one for one in words if one and one != "custom")
        return StageTable(name or "value", values)

    def _resolve_found(self, found: At) -> Found:
        """Resolve a value that another one refers to. A single binding stays one."""
        node = found.node
        if isinstance(node, Scalar) and isinstance(node.value, str):
            parts = split_variables(node.value)
            if len(parts) == 1 and isinstance(parts[0], Variable):
                return self._resolve_variable(parts[0], found)
        return Missing("the value is missing") if node is None else self._resolve_node(node, found)

    def _find_by_stage(self, table: StageTable | None, at: At) -> Found:
        """Find the values of all stages. A constant alternative is the value of other stages."""
        rest, self._rest = self._rest, ()
        if table is None or not table.values:
            return Missing("the table of stages has no such key")
        if rest and isinstance(fallback := self._resolve_choice(rest[0], at, rest[1:]), Node):
            other = rest[0].rpartition(".")[2]
            listed = {key: one for key, one in table.values.items() if key != other}
            found = self._resolve_stages(table._replace(values=listed))
            return self._build_by_stage(table.name, {_OTHER_STAGES: fallback, **found}, at)
        return self._build_by_stage(table.name, self._resolve_stages(table), at)

    def _resolve_stages(self, table: StageTable) -> dict[str, Node]:
        self._ledger.carry(*(one for one in table.values.values() if one.path[:1] == ("custom",)))
        values = {stage: self.resolve(one).node for stage, one in table.values.items()}
        return {stage: node for stage, node in values.items() if node is not None}

    def _build_by_stage(self, name: str, values: dict[str, Node], at: At) -> Node:
        """Build a value whose leaves are parameters if stages differ."""
        nodes = list(values.values())
        base = _find_base(values, self._stage)
        default = values.get(base, nodes[0])
        if base not in values:
            first = next(iter(values))
            reason = (
                f"`{name}` is not set for stage `{self._stage}`; its value of `{first}` is used"
            )
            self._ledger.change(at, reason)
        if all(_strip(node) == _strip(default) for node in nodes):
            return default
        if isinstance(default, Scalar) and all(isinstance(one, Scalar) for one in nodes):
            texts = {stage: one.text for stage, one in values.items() if isinstance(one, Scalar)}
            if base not in texts:
                texts = {self._stage: next(iter(texts.values())), **texts}
            return self._add_param(name, texts)
        if all(isinstance(one, Mapping) for one in nodes):
            keys = dict.fromkeys(
                entry.key for one in nodes if isinstance(one, Mapping) for entry in one.entries
            )
            entries = [self._build_entry_by_stage(key, name, values, at) for key in keys]
            return Mapping(tuple(entries), at.line, at.column)
        reason = f"`{name}` is a list that differs by stage; the value of `{self._stage}` is used"
        self._ledger.lose(at, reason, "write the stages with `stages` in fabric.yml")
        return default

    def _build_entry_by_stage(
        self, key: str, name: str, values: dict[str, Node], at: At
    ) -> KeyValue:
        inner = {
            stage: entry.value
            for stage, one in values.items()
            if isinstance(one, Mapping)
            for entry in one.entries
            if entry.key == key
        }
        for stage in values.keys() - inner.keys():
            self._ledger.change(at, f"`{key}` is not set for stage `{stage}`; empty text is used")
            inner[stage] = build_scalar("")
        return KeyValue(key, at.line, at.column, self._build_by_stage(f"{name}.{key}", inner, at))

    def _add_param(self, name: str, values: dict[str, str]) -> Scalar:
        name = _NOT_IN_NAME.sub("_", name)[:60].lstrip(".-0123456789") or "value"
        base, number = name, 2
        while not self._is_free(name, values):
            name, number = f"{base}_{number}", number + 1
        base_stage = _find_base(values, self._stage)
        if base_stage in values:
            self.params[name] = values[base_stage]
        for stage, text in values.items():
            if stage != base_stage:
                self.stage_params.setdefault(stage, {})[name] = text
        return build_scalar(f"${{param:{name}}}")

    def _is_free(self, name: str, values: dict[str, str]) -> bool:
        """Return whether a parameter has no value, or these values already."""
        known = {stage: one[name] for stage, one in self.stage_params.items() if name in one}
        if name in self.params:
            known[_find_base(values, self._stage)] = self.params[name]
        return not known or known == values

    def _find_in_file(self, path: str, address: str, at: At) -> Found:
        path = path.strip()
        suffix = PurePosixPath(path).suffix
        if suffix in _CODE_FILES:
            hint = "run: osls print --format json > serverless.json, and import that file"
            return Missing(f"`{path}` is code, which fabric does not run", hint)
        is_value = bool(address) or suffix not in _DATA_FILES
        if is_value and self._is_absent(path):
            return self._ask_for(path, address, at)
        if _STAGE in path:
            return self._find_in_stage_files(path, address, at)
        if suffix not in _DATA_FILES:
            is_there = self._surroundings.is_file(path)
            inside = f"file:{self._surroundings.place(path)}"
            return Binding(inside) if is_there else Missing(f"`{path}` not found")
        root = self._read_data(path)
        if root is None:
            return Missing(f"`{path}` not found")
        return self._find_in_data(path, root, address, at)

    def _find_in_stage_files(self, path: str, address: str, at: At) -> Found:
        """Find the values of files whose names contain the stage. Other stages have the
        alternative."""
        rest, self._rest = self._rest, ()
        values: dict[str, Node] = {}
        for stage, name in self._list_stage_files(path):
            found = self._find_in_file(name, address, at)
            if isinstance(found, Mapping | Sequence | Scalar):
                values[stage] = found
        name = address or PurePosixPath(path.replace(_STAGE, "")).stem.strip(".-_") or "file"
        if values and rest:
            fallback = self._resolve_choice(rest[0], at, rest[1:])
            if isinstance(fallback, Node):
                values = {_OTHER_STAGES: fallback, **values}
        if values:
            return self._build_by_stage(name, values, at)
        self._rest = rest
        if address:
            return self._ask_for(path, address, at)
        return Missing(f"no file matches `{path}`")

    def _find_in_data(self, path: str, root: Node, address: str, at: At) -> Found:
        mark = f"{path}:{address}"
        if mark in self._open:
            return Missing(f"`{mark}` refers to itself")
        self._open.append(mark)
        try:
            segments = [one for one in address.split(".") if one]
            top = At(root, at.path, at.line, at.column)
            if any(_STAGE in one for one in segments):
                return self._find_by_stage(self._find_stage_values(top, segments), at)
            found = self._look_up(top, segments)
            if found is None:
                return Missing(f"`{address}` is not in `{path}`")
            return self._resolve_found(found._replace(path=at.path, line=at.line, column=at.column))
        finally:
            self._open.pop()

    def _read_data(self, path: str) -> Node | None:
        if path not in self._files:
            text = self._surroundings.read_text(path)
            self._files[path] = None
            if text is not None:
                root = read(path, text.encode(), keeps_tags=True).root
                self._files[path] = self._credentials.replace_in_file(root)
        return self._files[path]

    def _list_stage_files(self, path: str) -> Iterator[tuple[str, str]]:
        """List the files whose names contain a stage, by stage."""
        place = PurePosixPath(path)
        if _STAGE in str(place.parent):
            for stage, folder in self._list_matching(str(place.parent)):
                yield stage, f"{folder}/{place.name.replace(_STAGE, stage)}"
            return
        yield from self._list_matching(path)

    def _list_matching(self, path: str) -> Iterator[tuple[str, str]]:
        place = PurePosixPath(path)
        pattern = _compile_stage_pattern(place.name)
        for name in self._surroundings.list_names(str(place.parent)):
            if found := pattern.fullmatch(name):
                yield found[1], str(place.parent / name)


_HINTS = {
    "terraform": "write ${tf:FILE#OUTPUT}",
    "s3": "put the value into `params` or a secret manager",
    "git": "pass the value with --param",
    "construct": "fabric does not read constructs of serverless-lift",
}


def _nest(bindings: Items[Binding]) -> Binding:
    """Make each binding the default of the one before it."""
    *outer, found = bindings
    for one in reversed(outer):
        found = Binding(f"{one.inside},${{{found.inside}}}", takes_default=False)
    return found


def _find_base(values: Iterable[str], stage: str) -> str:
    """Find the stage whose value is that of `params`."""
    return _OTHER_STAGES if _OTHER_STAGES in values else stage


def _find_built_in(address: str) -> Found:
    """Find a value that the other tool has without a key in the file."""
    if address == "provider.region":
        return Binding("aws:region", takes_default=False)
    return Missing(f"`{address}` is not in the file")


def _find_option(choice: Choice) -> Found:
    if choice.address == "stage":
        return Binding("stage", takes_default=False)
    if choice.address == "region":
        return Missing("the region is set in fabric.yml")
    return Binding(f"param:{choice.address}")


def _find_of_run(choice: Choice) -> Found:
    is_stage = choice.address == "stage"
    return Binding("stage", takes_default=False) if is_stage else Missing("no equivalent")


def _find_account(choice: Choice) -> Found:
    is_known = choice.address in ("accountId", "region")
    inside = f"aws:{choice.address}"
    return Binding(inside, takes_default=False) if is_known else Missing("no equivalent")


def _find_reference(choice: Choice) -> Found:
    """Convert a parameter of SSM or an output of a stack."""
    region = choice.argument or choice.region
    if region and not (choice.kind == "cf" and _REGION.fullmatch(region)):
        reason = f"a region or option in `{choice.kind}(…)` is not supported"
        return Missing(reason, "read the value in a service of that region, or use `params`")
    name = choice.address.removesuffix("~true").removesuffix("~split")
    if choice.kind == "cf":
        return Binding(f"cfn({region}):{name}" if region else f"cfn:{name}")
    if name.startswith(_SECRET_REFERENCE):
        return Binding(f"secretsmanager:{name.removeprefix(_SECRET_REFERENCE)}")
    return Binding(f"ssm:{name}")


_SOURCES: dict[str, Callable[[Choice], Found]] = {
    "opt": _find_option,
    "sls": _find_of_run,
    "env": lambda choice: Binding(f"env:{choice.address}"),
    "param": lambda choice: Binding(f"param:{choice.address}"),
    "aws": _find_account,
    "ssm": _find_reference,
    "cf": _find_reference,
}


def _compile_stage_pattern(text: str) -> re.Pattern[str]:
    first, _, rest = text.partition(_STAGE)
    return re.compile(f"{re.escape(first)}(.+?){re.escape(rest.replace(_STAGE, ''))}")


def build_scalar(value: str | float | bool | None) -> Scalar:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
    return Scalar(value, text, 0, 0)


def _move(node: Node, line: int, column: int) -> Node:
    """Give a value the place of the variable that it replaces."""
    if isinstance(node, Scalar):
        return node._replace(line=line, column=column)
    if isinstance(node, Sequence):
        return Sequence(tuple(_move(one, line, column) for one in node.items), line, column)
    entries = (
        one._replace(line=line, column=column, value=_move(one.value, line, column))
        for one in node.entries
    )
    return Mapping(tuple(entries), line, column)


def _strip(node: Node) -> object:
    """A value without places, for comparison."""
    if isinstance(node, Scalar):
        return node.text
    if isinstance(node, Sequence):
        return [_strip(one) for one in node.items]
    return {one.key: _strip(one.value) for one in node.entries}


def find_default_stage(root: Node) -> str:
    """Find the stage that the source uses without an option."""
    text = At(root).get("provider", "stage").text
    for part in split_variables(text):
        if isinstance(part, str):
            return part if len(split_variables(text)) == 1 else "dev"
        for choice in reversed(part.choices):
            is_literal, literal = parse_literal(choice)
            if is_literal and isinstance(literal, str) and literal:
                return literal
    return "dev"
