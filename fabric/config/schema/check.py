"""Compare a tree with a shape and report every difference. Independent of file types."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from fabric.config.schema.shapes import (
    Anything,
    Either,
    Fields,
    Flag,
    Integer,
    Kinds,
    Many,
    Named,
    Number,
    OneOf,
    Shape,
    Table,
    Text,
    Word,
)
from fabric.config.yaml.nodes import (
    KeyValue,
    Mapping,
    Node,
    Scalar,
    Sequence,
    find,
    is_unfilled,
    place_of,
)
from fabric.config.yaml.read import read_as
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.late_values import find_late_names, late_value_problem
from fabric.model.problems import Problem
from fabric.model.text.spelling import find_nearest, suggest_spelling

Path: TypeAlias = tuple[str, ...]
# Functions have the most keys.
_SHOWN_KEYS = 40
_LONGEST_EXAMPLE = 60
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Finding(NamedTuple):
    """A problem, as an error that stops the load or as a warning."""

    problem: Problem
    is_fatal: bool = True


def check(shape: Shape, node: Node, path: Path = ()) -> Iterable[Finding]:
    """Return all differences between tree and shape, in file order."""
    return _CHECKS[type(shape)](shape, node, path)


def format_path(path: Path) -> str:
    """The path as people write it: `functions.api.triggers[0].route`."""
    text = ""
    for step in path:
        text += step if step.startswith("[") or not text else f".{step}"
    return format_excerpt(text, 120) or "the document"


def _make_finding(code: str, message: str, node: Node | KeyValue, hint: str = "") -> Finding:
    return Finding(Problem(code, message, hint, place_of(node)))


def _find_leaf_mismatch(
    node: Node, path: Path, wanted: str, code: str = "config/wrong-type"
) -> list[Finding]:
    """Return the finding on a leaf, unless it is an unfilled binding."""
    if isinstance(node, Scalar) and is_unfilled(node):
        return []
    if _is_late(node):
        return [_late_value_finding(node, path)]
    return [_type_mismatch_finding(node, path, wanted, code)]


def _is_late(node: Node) -> bool:
    return isinstance(node, Scalar) and bool(find_late_names(str(node.value)))


def _late_value_finding(node: Node, path: Path) -> Finding:
    [name, *_] = find_late_names(str(node.value)) if isinstance(node, Scalar) else ("",)
    problem = late_value_problem(format_path(path), name)
    return _make_finding(problem.code, problem.message, node, problem.hint)


def _type_mismatch_finding(
    node: Node, path: Path, wanted: str, code: str = "config/wrong-type"
) -> Finding:
    message = f"`{format_path(path)}` must be {wanted}, not {_name_node_kind(node)}"
    return _make_finding(code, message, node, _quote_hint(node, wanted))


def _name_node_kind(node: Node) -> str:
    if isinstance(node, Mapping):
        return "a map"
    if isinstance(node, Sequence):
        return "a list"
    if node.bound or node.secret:
        return "the value of its binding"
    if node.value is None:
        return "empty"
    quoted = isinstance(node.value, str) and node.text.strip().removeprefix("-").isdecimal()
    return f"the text `{format_excerpt(node.text)}`" if quoted else f"`{format_excerpt(node.text)}`"


def _quote_hint(node: Node, wanted: str) -> str:
    if not isinstance(node, Scalar) or node.value is None:
        return ""
    if not isinstance(node.value, str):
        return "put the value in quotes" if wanted == "text" else ""
    return "write it without quotes" if _is_quoted(node, wanted) else ""


def _is_quoted(node: Scalar, wanted: str) -> bool:
    """Return whether a text would be valid without its quotes."""
    plain = node.text.strip()
    if wanted == "true or false":
        return plain in ("true", "false")
    return wanted.startswith("a whole number") and plain.removeprefix("-").isdecimal()


def _check_text(shape: Text, node: Node, path: Path) -> Iterable[Finding]:
    if type(node) is not Scalar or not isinstance(node.value, str):
        return _find_leaf_mismatch(node, path, "text")
    if not shape.fits(node.value) and not _is_late(node):
        return _find_leaf_mismatch(node, path, shape.rule, shape.code)
    return ()


def _check_word(_: Word, node: Node, path: Path) -> Iterable[Finding]:
    if type(node) is Scalar and node.value is not None:
        return ()
    return _find_leaf_mismatch(node, path, "text, a number, true or false")


def _check_choice(shape: OneOf, node: Node, path: Path) -> Iterable[Finding]:
    text = node.value if type(node) is Scalar else None
    if (
        isinstance(text, str)
        and isinstance(node, Scalar)
        and (text in shape.words or is_unfilled(node))
    ):
        return ()
    if isinstance(text, str) and shape.accepts and shape.accepts(text):
        return ()
    return [_unknown_word_finding(shape, node, path)]


def _unknown_word_finding(shape: OneOf, node: Node, path: Path) -> Finding:
    if _is_late(node):
        return _late_value_finding(node, path)
    wanted = f"{shape.noun} ({', '.join(shape.words)})"
    problem = _type_mismatch_finding(node, path, wanted, shape.code).problem
    suggest = shape.suggest or (lambda word: suggest_spelling(word, shape.words))
    hint = suggest(node.text) if isinstance(node, Scalar) else ""
    return _make_finding(problem.code, problem.message, node, hint or problem.hint)


def _check_integer(shape: Integer, node: Node, path: Path) -> Iterable[Finding]:
    value = read_as(node) if type(node) is Scalar else None
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int:
        return _find_leaf_mismatch(node, path, shape.noun)
    high = shape.high
    if value < shape.low or (high is not None and value > high):
        end = f"of at least {shape.low}" if high is None else f"from {shape.low} to {high}"
        return _find_leaf_mismatch(node, path, f"{shape.noun} {end}", "config/bad-value")
    return ()


def _number(shape: Number, node: Node, path: Path) -> Iterable[Finding]:
    value = read_as(node) if type(node) is Scalar else None
    if type(value) in (int, float) and shape.low <= float(value or 0) <= shape.high:
        return ()
    return _find_leaf_mismatch(
        node, path, f"a number from {shape.low:g} to {shape.high:g}", "config/bad-value"
    )


def _check_flag(_: Flag, node: Node, path: Path) -> Iterable[Finding]:
    if type(node) is Scalar and type(read_as(node)) is bool:
        return ()
    return _find_leaf_mismatch(node, path, "true or false")


def _accept_anything(_: Anything, __: Node, ___: Path) -> Iterable[Finding]:
    return ()


def _check_list(shape: Many, node: Node, path: Path) -> Iterator[Finding]:
    if type(node) is not Sequence:
        yield _type_mismatch_finding(node, path, "a list")
        return
    yield from _check_minimum(len(node.items), shape.least, node, path)
    for number, item in enumerate(node.items):
        yield from check(shape.item, item, (*path, f"[{number}]"))


def _check_minimum(count: int, least: int, node: Node, path: Path) -> Iterator[Finding]:
    if count < least:
        yield _make_finding(
            "config/too-few", f"`{format_path(path)}` requires at least {least} entry", node
        )


def _check_table(shape: Table, node: Node, path: Path) -> Iterator[Finding]:
    if type(node) is not Mapping:
        yield _type_mismatch_finding(node, path, "a map")
        return
    for entry in node.entries:
        yield from _check_key(shape.key, entry, path)
        yield from check(shape.value, entry.value, (*path, entry.key))


def _check_key(rule: Text, entry: KeyValue, path: Path) -> Iterator[Finding]:
    if not rule.fits(entry.key):
        message = (
            f"invalid key `{format_excerpt(entry.key)}` in `{format_path(path)}`: it "
            f"must be {rule.rule}"
        )
        yield _make_finding(rule.code, message, entry)


def _check_fields(shape: Fields, node: Node, path: Path) -> Iterator[Finding]:
    if type(node) is not Mapping:
        yield _type_mismatch_finding(node, path, "a map")
        return
    yield from _find_missing_fields(shape, node, path)
    index = shape.index
    for entry in node.entries:
        inner = index.get(entry.key)
        if inner is None:
            is_aside = bool(shape.aside) and entry.key.startswith(shape.aside)
            if not (is_aside or (shape.accepts and shape.accepts(entry.key))):
                yield unknown_key_finding(shape, entry, path)
        else:
            yield from check(inner, entry.value, (*path, entry.key))


def _find_missing_fields(shape: Fields, node: Mapping, path: Path) -> Iterator[Finding]:
    keys = {entry.key for entry in node.entries}
    # A slip is reported once: as the unknown key that it is.
    unknown = () if shape.is_open else keys - shape.index.keys()
    slips = [find_nearest(one, shape.index) for one in unknown]
    for name in sorted(shape.required - keys - {*slips}):
        message = f"`{format_path((*path, name))}` is required"
        yield _make_finding("config/missing-key", message, node, _suggest_key(shape, name, "it"))
    found = {*keys, *slips}.intersection(shape.one_of)
    if shape.one_of and len(found) != 1:
        words = " or ".join(f"`{name}`" for name in shape.one_of)
        message = f"`{format_path(path)}` requires exactly one of {words}"
        hint = "keep one of them" if found else _suggest_key(shape, shape.one_of[0], "one of them")
        yield _make_finding("config/missing-key", message, node, hint)


def _suggest_key(shape: Fields, name: str, what: str) -> str:
    example = next(one.example for one in shape.fields if one.name == name)
    text = example if isinstance(example, str) else json.dumps(example)
    return f"add {what}, for example `{name}: {text}`" if len(text) <= _LONGEST_EXAMPLE else ""


def unknown_key_finding(shape: Fields, entry: KeyValue, path: Path) -> Finding:
    inside = f" in `{format_path(path)}`" if path else ""
    hint = suggest_spelling(entry.key, shape.index)
    if shape.is_open:
        message = (
            f"the key `{format_excerpt(entry.key)}`{inside} is passed to the provider unchecked"
        )
        problem = Problem("config/passed-on", message, hint, place_of(entry))
        return Finding(problem, is_fatal=False)
    names = sorted(shape.index)
    hint = hint or shape.hint
    more = f" and {len(names) - _SHOWN_KEYS} more" if len(names) > _SHOWN_KEYS else ""
    known = f"known keys: {', '.join(names[:_SHOWN_KEYS])}{more}"
    message = f"unknown key `{format_excerpt(entry.key)}`{inside}"
    return _make_finding("config/unknown-key", message, entry, hint or known)


def _name_of(item: Node) -> str:
    """People know an entry by its name, where it has a good one."""
    name = find(item, "name")
    text = name.value.text if name and isinstance(name.value, Scalar) else ""
    return text if _PLAIN_NAME.fullmatch(text) else ""


def _check_named(shape: Named, node: Node, path: Path) -> Iterator[Finding]:
    if type(node) is Sequence:
        yield from _check_minimum(len(node.items), shape.least, node, path)
        for number, item in enumerate(node.items):
            yield from check(shape.entry, item, (*path, _name_of(item) or f"[{number}]"))
        return
    if type(node) is not Mapping:
        yield _type_mismatch_finding(node, path, "a list, or a map by name")
        return
    yield from _check_minimum(len(node.entries), shape.least, node, path)
    for entry in node.entries:
        yield from _check_key(shape.key, entry, path)
        yield from check(shape.nameless, entry.value, (*path, entry.key))


def _check_kinds(shape: Kinds, node: Node, path: Path) -> Iterable[Finding]:
    if type(node) is not Mapping:
        return [_type_mismatch_finding(node, path, "a map")]
    tag = find(node, "type")
    if tag is None:
        return [
            _make_finding(
                "config/missing-key", f"`{format_path((*path, 'type'))}` is required", node
            )
        ]
    word = tag.value.value if isinstance(tag.value, Scalar) else None
    for known, fields in shape.kinds:
        if known == word:
            return check(fields, node, path)
    words = OneOf(tuple(known for known, _ in shape.kinds), shape.noun, shape.code)
    return [_unknown_word_finding(words, tag.value, (*path, "type"))]


def _check_either(shape: Either, node: Node, path: Path) -> Iterable[Finding]:
    tried = [list(check(option, node, path)) for option in shape.shapes]
    for findings in tried:
        if not any(finding.is_fatal for finding in findings):
            return findings
    fitting = [option for option in shape.shapes if type(node) in _TAKES[type(option)]]
    return tried[shape.shapes.index(fitting[0])] if fitting else tried[0]


_TAKES: dict[type, tuple[type, ...]] = {
    **dict.fromkeys((Text, Word, OneOf, Integer, Number, Flag), (Scalar,)),
    **dict.fromkeys((Table, Fields, Kinds), (Mapping,)),
    Many: (Sequence,),
    Named: (Sequence, Mapping),
}
_CHECKS: dict[type, Callable[..., Iterable[Finding]]] = {
    Text: _check_text,
    Word: _check_word,
    OneOf: _check_choice,
    Integer: _check_integer,
    Number: _number,
    Flag: _check_flag,
    Anything: _accept_anything,
    Many: _check_list,
    Table: _check_table,
    Fields: _check_fields,
    Named: _check_named,
    Kinds: _check_kinds,
    Either: _check_either,
}
