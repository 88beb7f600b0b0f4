"""Compare a tree with a shape and report every difference. Independent of file types."""

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
from fabric.config.yaml.syntax import shown
from fabric.model.problems import Problem
from fabric.model.spelling import did_you_mean, nearest

Path: TypeAlias = tuple[str, ...]
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Finding(NamedTuple):
    """A problem, as an error that stops the load or as a warning."""

    problem: Problem
    is_fatal: bool = True


def check(shape: Shape, node: Node, path: Path = ()) -> Iterable[Finding]:
    """Return all differences between tree and shape, in file order."""
    return _CHECKS[type(shape)](shape, node, path)


def title(path: Path) -> str:
    """The path as people write it: `functions.api.triggers[0].route`."""
    text = ""
    for step in path:
        text += step if step.startswith("[") or not text else f".{step}"
    return shown(text, 120) or "the document"


def _found(code: str, message: str, node: Node | KeyValue, hint: str = "") -> Finding:
    return Finding(Problem(code, message, hint, place_of(node)))


def _leaf(node: Node, path: Path, wanted: str, code: str = "config/wrong-type") -> list[Finding]:
    """Return the finding on a leaf, unless it is an unfilled binding."""
    if isinstance(node, Scalar) and is_unfilled(node):
        return []
    return [_mismatch(node, path, wanted, code)]


def _mismatch(node: Node, path: Path, wanted: str, code: str = "config/wrong-type") -> Finding:
    message = f"`{title(path)}` must be {wanted}, not {_kind(node)}"
    return _found(code, message, node, _quote_hint(node, wanted))


def _kind(node: Node) -> str:
    if isinstance(node, Mapping):
        return "a map"
    if isinstance(node, Sequence):
        return "a list"
    if node.bound or node.secret:
        return "the value of its binding"
    if node.value is None:
        return "empty"
    quoted = isinstance(node.value, str) and node.text.strip().removeprefix("-").isdecimal()
    return f"the text `{shown(node.text)}`" if quoted else f"`{shown(node.text)}`"


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


def _text(shape: Text, node: Node, path: Path) -> Iterable[Finding]:
    if type(node) is not Scalar or not isinstance(node.value, str):
        return _leaf(node, path, "text")
    if not shape.fits(node.value):
        return _leaf(node, path, shape.rule, shape.code)
    return ()


def _word(_: Word, node: Node, path: Path) -> Iterable[Finding]:
    if type(node) is Scalar and node.value is not None:
        return ()
    return _leaf(node, path, "text, a number, true or false")


def _choice(shape: OneOf, node: Node, path: Path) -> Iterable[Finding]:
    text = node.value if type(node) is Scalar else None
    if (
        isinstance(text, str)
        and isinstance(node, Scalar)
        and (text in shape.words or is_unfilled(node))
    ):
        return ()
    return [_no_such_word(shape, node, path)]


def _no_such_word(shape: OneOf, node: Node, path: Path) -> Finding:
    wanted = f"{shape.noun} ({', '.join(shape.words)})"
    problem = _mismatch(node, path, wanted, shape.code).problem
    suggest = shape.suggest or (lambda word: did_you_mean(word, shape.words))
    hint = suggest(node.text) if isinstance(node, Scalar) else ""
    return _found(problem.code, problem.message, node, hint or problem.hint)


def _integer(shape: Integer, node: Node, path: Path) -> Iterable[Finding]:
    value = read_as(node) if type(node) is Scalar else None
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int:
        return _leaf(node, path, "a whole number")
    high = shape.high
    if value < shape.low or (high is not None and value > high):
        end = f"of at least {shape.low}" if high is None else f"from {shape.low} to {high}"
        return _leaf(node, path, f"a whole number {end}", "config/bad-value")
    return ()


def _number(shape: Number, node: Node, path: Path) -> Iterable[Finding]:
    value = read_as(node) if type(node) is Scalar else None
    if type(value) in (int, float) and shape.low <= float(value or 0) <= shape.high:
        return ()
    return _leaf(node, path, f"a number from {shape.low:g} to {shape.high:g}", "config/bad-value")


def _flag(_: Flag, node: Node, path: Path) -> Iterable[Finding]:
    if type(node) is Scalar and type(read_as(node)) is bool:
        return ()
    return _leaf(node, path, "true or false")


def _anything(_: Anything, __: Node, ___: Path) -> Iterable[Finding]:
    return ()


def _many(shape: Many, node: Node, path: Path) -> Iterator[Finding]:
    if type(node) is not Sequence:
        yield _mismatch(node, path, "a list")
        return
    yield from _too_few(len(node.items), shape.least, node, path)
    for number, item in enumerate(node.items):
        yield from check(shape.item, item, (*path, f"[{number}]"))


def _too_few(count: int, least: int, node: Node, path: Path) -> Iterator[Finding]:
    if count < least:
        yield _found("config/too-few", f"`{title(path)}` requires at least {least} entry", node)


def _table(shape: Table, node: Node, path: Path) -> Iterator[Finding]:
    if type(node) is not Mapping:
        yield _mismatch(node, path, "a map")
        return
    for entry in node.entries:
        yield from _key(shape.key, entry, path)
        yield from check(shape.value, entry.value, (*path, entry.key))


def _key(rule: Text, entry: KeyValue, path: Path) -> Iterator[Finding]:
    if not rule.fits(entry.key):
        message = f"invalid key `{shown(entry.key)}` in `{title(path)}`: it must be {rule.rule}"
        yield _found(rule.code, message, entry)


def _fields(shape: Fields, node: Node, path: Path) -> Iterator[Finding]:
    if type(node) is not Mapping:
        yield _mismatch(node, path, "a map")
        return
    yield from _missing(shape, node, path)
    index = shape.index
    for entry in node.entries:
        inner = index.get(entry.key)
        if inner is None:
            if not (shape.aside and entry.key.startswith(shape.aside)):
                yield _unknown(shape, entry, path)
        else:
            yield from check(inner, entry.value, (*path, entry.key))


def _missing(shape: Fields, node: Mapping, path: Path) -> Iterator[Finding]:
    keys = {entry.key for entry in node.entries}
    # A slip is reported once: as the unknown key that it is.
    unknown = () if shape.is_open else keys - shape.index.keys()
    slips = (nearest(one, shape.index) for one in unknown)
    for name in sorted(shape.required - keys - {*slips}):
        message = f"`{title((*path, name))}` is required"
        yield _found("config/missing-key", message, node)
    if shape.one_of and len(keys.intersection(shape.one_of)) != 1:
        words = " or ".join(f"`{name}`" for name in shape.one_of)
        yield _found("config/missing-key", f"`{title(path)}` requires one of {words}", node)


def _unknown(shape: Fields, entry: KeyValue, path: Path) -> Finding:
    inside = f" in `{title(path)}`" if path else ""
    hint = did_you_mean(entry.key, shape.index)
    if shape.is_open:
        message = f"the key `{shown(entry.key)}`{inside} is passed to the provider unchecked"
        problem = Problem("config/passed-on", message, hint, place_of(entry))
        return Finding(problem, is_fatal=False)
    known = f"known keys: {', '.join(sorted(shape.index))}"
    message = f"unknown key `{shown(entry.key)}`{inside}"
    return _found("config/unknown-key", message, entry, hint or known)


def _name_of(item: Node) -> str:
    """People know an entry by its name, where it has a good one."""
    name = find(item, "name")
    text = name.value.text if name and isinstance(name.value, Scalar) else ""
    return text if _PLAIN_NAME.fullmatch(text) else ""


def _named(shape: Named, node: Node, path: Path) -> Iterator[Finding]:
    if type(node) is Sequence:
        yield from _too_few(len(node.items), shape.least, node, path)
        for number, item in enumerate(node.items):
            yield from check(shape.entry, item, (*path, _name_of(item) or f"[{number}]"))
        return
    if type(node) is not Mapping:
        yield _mismatch(node, path, "a list, or a map by name")
        return
    yield from _too_few(len(node.entries), shape.least, node, path)
    for entry in node.entries:
        yield from _key(shape.key, entry, path)
        yield from check(shape.nameless, entry.value, (*path, entry.key))


def _kinds(shape: Kinds, node: Node, path: Path) -> Iterable[Finding]:
    if type(node) is not Mapping:
        return [_mismatch(node, path, "a map")]
    tag = find(node, "type")
    if tag is None:
        return [_found("config/missing-key", f"`{title((*path, 'type'))}` is required", node)]
    word = tag.value.value if isinstance(tag.value, Scalar) else None
    for known, fields in shape.kinds:
        if known == word:
            return check(fields, node, path)
    words = OneOf(tuple(known for known, _ in shape.kinds), shape.noun, shape.code)
    return [_no_such_word(words, tag.value, (*path, "type"))]


def _either(shape: Either, node: Node, path: Path) -> Iterable[Finding]:
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
    Text: _text,
    Word: _word,
    OneOf: _choice,
    Integer: _integer,
    Number: _number,
    Flag: _flag,
    Anything: _anything,
    Many: _many,
    Table: _table,
    Fields: _fields,
    Named: _named,
    Kinds: _kinds,
    Either: _either,
}
