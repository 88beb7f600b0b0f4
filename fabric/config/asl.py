"""Rules of the Amazon States Language: fields, transitions and reachable states of a machine."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.config.yaml import nodes
from fabric.config.yaml.nodes import KeyValue, Mapping, Node, Scalar, find, find_child
from fabric.config.yaml.read import read_text
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.text.spelling import suggest_spelling

_PATH, _DATA = "JSONPath", "JSONata"
_IN_OUT = ("InputPath", "OutputPath")
_SHAPES = (*_IN_OUT, "Parameters", "ResultPath")
_ALWAYS = ("Type", "Comment", "QueryLanguage")
_MOVES = ("Next", "End")
_ERRORS = ("Retry", "Catch")
_MACHINE = ("Comment", "StartAt", "States", "Version", "TimeoutSeconds", "QueryLanguage")
_NESTED = (*_MACHINE, "ProcessorConfig")
_LONGEST_NAME = 80


class _Kind(Struct, frozen=True, kw_only=True):
    """The fields of a state type. Some exist in only one query language."""

    fields: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    # Exactly one of these is required.
    one_of: tuple[str, ...] = ()
    # Whether the state has `Next` or `End`.
    is_moving: bool = True


_KINDS = {
    "Task": _Kind(
        fields=(
            "Resource",
            "TimeoutSeconds",
            "HeartbeatSeconds",
            "Credentials",
            "Assign",
            *_ERRORS,
        ),
        path=(*_SHAPES, "ResultSelector", "TimeoutSecondsPath", "HeartbeatSecondsPath"),
        data=("Arguments", "Output"),
        required=("Resource",),
    ),
    "Pass": _Kind(fields=("Assign",), path=(*_SHAPES, "Result"), data=("Output",)),
    "Choice": _Kind(
        fields=("Choices", "Default", "Assign"),
        path=_IN_OUT,
        data=("Output",),
        required=("Choices",),
        is_moving=False,
    ),
    "Wait": _Kind(
        fields=("Seconds", "Timestamp", "Assign"),
        path=(*_IN_OUT, "SecondsPath", "TimestampPath"),
        data=("Output",),
        one_of=("Seconds", "Timestamp", "SecondsPath", "TimestampPath"),
    ),
    "Succeed": _Kind(path=_IN_OUT, data=("Output",), is_moving=False),
    "Fail": _Kind(fields=("Error", "Cause"), path=("ErrorPath", "CausePath"), is_moving=False),
    "Parallel": _Kind(
        fields=("Branches", "Assign", *_ERRORS),
        path=(*_SHAPES, "ResultSelector"),
        data=("Arguments", "Output"),
        required=("Branches",),
    ),
    "Map": _Kind(
        fields=(
            *("ItemProcessor", "Iterator", "ItemSelector", "ItemReader", "ItemBatcher", "Assign"),
            *("ResultWriter", "MaxConcurrency", "ToleratedFailurePercentage", "Label"),
            *("ToleratedFailureCount", *_ERRORS),
        ),
        path=(
            *(*_SHAPES, "ResultSelector", "ItemsPath", "MaxConcurrencyPath"),
            *("ToleratedFailurePercentagePath", "ToleratedFailureCountPath"),
        ),
        data=("Items", "Output"),
        one_of=("ItemProcessor", "Iterator"),
    ),
}


class Fault(Struct, frozen=True):
    """A violation, with its path in the definition and its node."""

    path: str
    why: str
    hint: str
    node: Node | KeyValue


def check_machine(root: Node) -> Iterator[Fault]:
    """Check a whole definition. States that a machine contains are checked like its own."""
    language = read_text(root, "QueryLanguage") or _PATH
    seen: dict[str, str] = {}
    yield from _Checker(language, seen).check(root, "", _MACHINE)


class _Checker:
    """The check of one machine. Names of states are unique among all machines in it."""

    def __init__(self, language: str, seen: dict[str, str]) -> None:
        self._language = language
        self._seen = seen

    def check(self, root: Node | None, path: str, known: Sequence[str]) -> Iterator[Fault]:
        states = find_child(root, "States")
        if not isinstance(root, Mapping):
            if root is not None:
                yield Fault(path, "is not a mapping", "start it with `StartAt:`", root)
            return
        yield from _check_keys(root, path, known)
        yield from _check_language(root, path)
        if not isinstance(states, Mapping) or not states.entries:
            yield Fault(path, "has no `States`", "add at least one state", states or root)
            return
        faults = list(self._check_start(root, states, path))
        for entry in states.entries:
            faults += self._check_state(entry, states, f"{path}States.{entry.key}")
        yield from faults or _check_reachable(root, states, path)

    def _check_start(self, root: Mapping, states: Mapping, path: str) -> Iterator[Fault]:
        start = find(root, "StartAt")
        if start is None:
            hint = f"write `StartAt: {states.entries[0].key}`"
            yield Fault(path, "has no `StartAt`", hint, root)
        else:
            yield from _check_target(start.value, states, f"{path}StartAt")

    def _check_state(self, entry: KeyValue, states: Mapping, path: str) -> Iterator[Fault]:
        state = entry.value
        if len(entry.key) > _LONGEST_NAME:
            why = f"has a name of {len(entry.key)} characters"
            yield Fault(path, why, f"use at most {_LONGEST_NAME}", entry)
        if entry.key in self._seen:
            why = f"has the same name as `{self._seen[entry.key]}`"
            yield Fault(path, why, "use unique names in the whole definition", entry)
        self._seen.setdefault(entry.key, path)
        if not isinstance(state, Mapping):
            yield Fault(path, "is not a mapping", "add a `Type`, such as Task", entry)
            return
        kind = _KINDS.get(read_text(state, "Type"))
        if kind is None:
            yield _unknown_type(state, path)
            return
        yield from _check_language(state, path)
        yield from self._check_fields(state, kind, path)
        yield from _check_moves(state, kind, states, path)
        yield from self._check_parts(state, states, path)

    def _check_fields(self, state: Mapping, kind: _Kind, path: str) -> Iterator[Fault]:
        own = read_text(state, "QueryLanguage")
        if self._language == _DATA and own == _PATH:
            why = "uses JSONPath in a machine with `QueryLanguage: JSONata`"
            yield Fault(path, why, "set JSONata per state instead", state)
        language = own or self._language
        allowed, other = (kind.path, kind.data) if language == _PATH else (kind.data, kind.path)
        moves = _MOVES if kind.is_moving else ()
        known = (*_ALWAYS, *moves, *kind.fields, *allowed)
        for entry in state.entries:
            if entry.key in other:
                wanted = _DATA if language == _PATH else _PATH
                why = f"has `{entry.key}`, which only {wanted} supports"
                hint = f"set `QueryLanguage: {wanted}`, or remove the field"
                yield Fault(path, why, hint, entry)
            elif entry.key not in known:
                yield _unknown_key(entry, path, known)
        for name in kind.required:
            if find(state, name) is None:
                yield Fault(path, f"has no `{name}`", f"add `{name}`", state)
        found = [name for name in kind.one_of if find(state, name) is not None]
        if kind.one_of and len(found) != 1:
            names = " or ".join(f"`{one}`" for one in kind.one_of)
            yield Fault(path, f"requires exactly one of {names}", "", state)

    def _check_parts(self, state: Mapping, states: Mapping, path: str) -> Iterator[Fault]:
        """Check choices, catchers, and the machines that the state contains."""
        language = read_text(state, "QueryLanguage") or self._language
        for number, choice in enumerate(_list_items(state, "Choices")):
            yield from _check_choice(choice, states, f"{path}.Choices[{number}]", language)
        if find(state, "Choices") is not None and not _list_items(state, "Choices"):
            yield Fault(path, "has no entry in `Choices`", "add a rule", state)
        for number, one in enumerate(_list_items(state, "Catch")):
            yield from _check_handler(one, f"{path}.Catch[{number}]")
            yield from _check_next(one, states, f"{path}.Catch[{number}]")
        for number, one in enumerate(_list_items(state, "Retry")):
            yield from _check_handler(one, f"{path}.Retry[{number}]")
        for number, one in enumerate(_list_items(state, "Branches")):
            yield from self.check(one, f"{path}.Branches[{number}].", _MACHINE)
        if find(state, "Branches") is not None and not _list_items(state, "Branches"):
            yield Fault(path, "has no entry in `Branches`", "add a branch", state)
        for name in ("ItemProcessor", "Iterator"):
            yield from self.check(find_child(state, name), f"{path}.{name}.", _NESTED)


def _unknown_type(state: Mapping, path: str) -> Fault:
    found = find(state, "Type")
    if found is None:
        return Fault(path, "has no `Type`", f"use {', '.join(_KINDS)}", state)
    text = read_text(state, "Type")
    hint = suggest_spelling(text, _KINDS) or f"use {', '.join(_KINDS)}"
    return Fault(path, f"has the unknown type `{format_excerpt(text)}`", hint, found)


def _unknown_key(entry: KeyValue, path: str, known: Sequence[str]) -> Fault:
    hint = suggest_spelling(entry.key, known) or f"known fields: {', '.join(sorted(known))}"
    return Fault(path, f"has the unknown field `{format_excerpt(entry.key)}`", hint, entry)


def _check_keys(root: Mapping, path: str, known: Sequence[str]) -> Iterator[Fault]:
    yield from (_unknown_key(one, path, known) for one in root.entries if one.key not in known)


def _check_language(node: Mapping, path: str) -> Iterator[Fault]:
    found = find(node, "QueryLanguage")
    if found is not None and read_text(node, "QueryLanguage") not in (_PATH, _DATA):
        yield Fault(path, "has an unknown `QueryLanguage`", f"use {_PATH} or {_DATA}", found)


def _check_moves(state: Mapping, kind: _Kind, states: Mapping, path: str) -> Iterator[Fault]:
    if not kind.is_moving:
        default = find(state, "Default")
        if default is not None:
            yield from _check_target(default.value, states, f"{path}.Default")
        return
    end, following = find_child(state, "End"), find(state, "Next")
    is_end = isinstance(end, Scalar) and end.value is True
    if is_end == (following is not None):
        why = "has both `Next` and `End`" if is_end else "has neither `Next` nor `End`"
        yield Fault(path, why, "keep one" if is_end else "add `End: true`, or `Next`", state)
    if following is not None:
        yield from _check_target(following.value, states, f"{path}.Next")


def _check_choice(choice: Node, states: Mapping, path: str, language: str) -> Iterator[Fault]:
    yield from _check_next(choice, states, path)
    has_condition = find(choice, "Condition") is not None
    if language == _DATA and not has_condition:
        yield Fault(path, "has no `Condition`", "add a JSONata expression", choice)
    if language == _PATH and has_condition:
        hint = f"set `QueryLanguage: {_DATA}`, or compare a `Variable`"
        yield Fault(path, f"has `Condition`, which only {_DATA} supports", hint, choice)
    if language == _PATH and not has_condition:
        yield from _check_comparison(choice, path)


def _check_comparison(rule: Node, path: str) -> Iterator[Fault]:
    entries = rule.entries if isinstance(rule, Mapping) else ()
    plain = [one for one in entries if one.key not in ("Next", "Comment", "Assign")]
    joined = [one for one in plain if one.key in ("And", "Or", "Not")]
    if joined:
        for one in joined:
            inner = one.value.items if isinstance(one.value, nodes.Sequence) else (one.value,)
            for each in inner:
                yield from _check_comparison(each, f"{path}.{one.key}")
    elif find(rule, "Variable") is None or len(plain) != len(("Variable", "comparison")):
        why = "requires `Variable` and one comparison"
        yield Fault(path, why, "such as `StringEquals: paid`", rule)


def _check_handler(handler: Node, path: str) -> Iterator[Fault]:
    found = find_child(handler, "ErrorEquals")
    if not isinstance(found, nodes.Sequence) or not found.items:
        yield Fault(path, "has no `ErrorEquals`", "write `ErrorEquals: [States.ALL]`", handler)


def _check_next(node: Node, states: Mapping, path: str) -> Iterator[Fault]:
    found = find(node, "Next")
    if found is None:
        yield Fault(path, "has no `Next`", "add the name of a state", node)
    else:
        yield from _check_target(found.value, states, f"{path}.Next")


def _check_target(node: Node, states: Mapping, path: str) -> Iterator[Fault]:
    names = [one.key for one in states.entries]
    text = node.text if isinstance(node, Scalar) else ""
    if text not in names:
        hint = suggest_spelling(text, names) or f"use one of {', '.join(names[:12])}"
        yield Fault(path, f"names the missing state `{format_excerpt(text)}`", hint, node)


def _check_reachable(root: Mapping, states: Mapping, path: str) -> Iterator[Fault]:
    """Report states that no transition reaches, and a machine that cannot end."""
    by_name = {one.key: one.value for one in states.entries}
    reached: set[str] = set()
    left = [read_text(root, "StartAt")]
    while left:
        name = left.pop()
        if name in by_name and name not in reached:
            reached.add(name)
            left += _list_targets(by_name[name])
    for entry in states.entries if reached else ():
        if entry.key not in reached:
            hint = "add a transition to it, or remove it"
            yield Fault(f"{path}States.{entry.key}", "cannot be reached", hint, entry)
    if reached and not any(_is_terminal(by_name[name]) for name in reached):
        yield Fault(path, "never ends", "add `End: true` to a state", states)


def _list_targets(state: Node) -> Iterator[str]:
    yield from (text for key in ("Next", "Default") if (text := read_text(state, key)))
    for key in ("Choices", "Catch"):
        yield from (read_text(one, "Next") for one in _list_items(state, key))


def _is_terminal(state: Node) -> bool:
    """Return whether an execution can end here. Faults of the state are reported elsewhere."""
    if read_text(state, "Type") in ("Succeed", "Fail"):
        return True
    return find(state, "End") is not None or not any(_list_targets(state))


def _list_items(state: Node, key: str) -> tuple[Node, ...]:
    found = find_child(state, key)
    return found.items if isinstance(found, nodes.Sequence) else ()
