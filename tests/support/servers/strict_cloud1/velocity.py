"""Mapping templates of API Gateway: the parts of the Velocity language that this server runs."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

from tests.support.servers.strict_cloud1.refusals import not_written

_DIRECTIVE = re.compile(r"#(set|define|foreach|if)\s*\(|#(else|end)\b|\$(?=[A-Za-z])|[#$]")
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_NUMBER = re.compile(r"\d+")


class _Node(NamedTuple):
    """A text, a reference or a directive. `parts` are its blocks."""

    kind: str
    said: Any = None
    parts: tuple[list["_Node"], ...] = ()


class _Ref(NamedTuple):
    name: str
    steps: tuple[tuple[str, Any], ...]


class Util:
    """`$util`."""

    @staticmethod
    def escapeJavaScript(text: object) -> str:  # noqa: N802 - as templates call it
        escapes = {"\\": "\\\\", '"': '\\"', "'": "\\'", "/": "\\/", "\n": "\\n", "\r": "\\r"}
        return "".join(
            escapes.get(one, one if " " <= one <= "~" else f"\\u{ord(one):04X}")
            for one in str(text)
        )

    @staticmethod
    def urlDecode(text: object) -> str:  # noqa: N802 - as templates call it
        return unquote_plus(str(text))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def block(self, *ends: str) -> tuple[list[_Node], str]:
        """Read up to one of the ends."""
        nodes: list[_Node] = []
        while found := _DIRECTIVE.search(self._text, self._at):
            nodes.append(_Node("text", self._text[self._at : found.start()]))
            self._at = found.end()
            if found[2] in ends:
                return nodes, found[2]
            nodes.append(self._node(found))
        nodes.append(_Node("text", self._text[self._at :]))
        if ends:
            raise not_written(f"a template without #{ends[0]}")
        return nodes, ""

    def _node(self, found: re.Match[str]) -> _Node:
        if found[0] == "$":
            return _Node("ref", self._reference())
        match found[1]:
            case "set":
                self._take("$")
                target = self._reference()
                self._take("=")
                return _Node("set", (target, self._closed()))
            case "define":
                name = self._variable()
                self._take(")")
                return _Node("define", name, (self.block("end")[0],))
            case "foreach":
                name = self._variable()
                self._take("in")
                return _Node("foreach", (name, self._closed()), (self.block("end")[0],))
            case "if":
                asked = self._closed()
                first, end = self.block("else", "end")
                rest = self.block("end")[0] if end == "else" else []
                return _Node("if", asked, (first, rest))
        raise not_written(f"{found[0]} of a template")

    def _take(self, word: str) -> None:
        self._skip()
        if not self._text.startswith(word, self._at):
            raise not_written(f"a template with {self._text[self._at : self._at + 20]!r}")
        self._at += len(word)

    def _skip(self) -> None:
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1

    def _variable(self) -> str:
        self._take("$")
        return self._word()

    def _word(self) -> str:
        found = _NAME.match(self._text, self._at)
        if not found:
            raise not_written("a reference without a name")
        self._at = found.end()
        return found[0]

    def _closed(self) -> Any:
        """An expression and the closing parenthesis."""
        value = self._comparison()
        while self._has("||"):
            value = ("||", value, self._comparison())
        self._take(")")
        return value

    def _comparison(self) -> Any:
        value = self._value()
        for sign in (">=", "=="):
            if self._has(sign):
                return (sign, value, self._value())
        return value

    def _has(self, sign: str) -> bool:
        self._skip()
        is_there = self._text.startswith(sign, self._at)
        self._at += len(sign) if is_there else 0
        return is_there

    def _value(self) -> Any:
        self._skip()
        letter = self._text[self._at]
        if letter == "$":
            self._at += 1
            return self._reference()
        if letter in "\"'":
            end = self._text.index(letter, self._at + 1)
            text, self._at = self._text[self._at + 1 : end], end + 1
            return text
        found = _NUMBER.match(self._text, self._at)
        if not found:
            raise not_written(f"a template with {self._text[self._at : self._at + 20]!r}")
        self._at = found.end()
        return int(found[0])

    def _reference(self) -> _Ref:
        name, steps = self._word(), []
        while True:
            letter = self._text[self._at : self._at + 1]
            if letter == "." and _NAME.match(self._text, self._at + 1):
                self._at += 1
                steps.append((self._word(), self._arguments()))
            elif letter == "[":
                self._at += 1
                steps.append(("", self._value()))
                self._take("]")
            else:
                return _Ref(name, tuple(steps))

    def _arguments(self) -> list[Any] | None:
        if self._text[self._at : self._at + 1] != "(":
            return None
        self._at += 1
        found: list[Any] = []
        while True:
            self._skip()
            if self._text[self._at] == ")":
                self._at += 1
                return found
            if found:
                self._take(",")
            found.append(self._value())


def render(template: str, scope: Mapping[str, Any]) -> str:
    """The text of a template with these variables."""
    nodes, _ = _Reader(template).block()
    return "".join(_run(nodes, dict(scope)))


def _run(nodes: list[_Node], scope: dict[str, Any]) -> Iterator[str]:
    for node in nodes:
        match node.kind:
            case "text":
                yield node.said
            case "ref":
                found = _evaluate(node.said, scope)
                yield "" if found is None else str(found)
            case "set":
                _assign(node.said[0], _evaluate(node.said[1], scope), scope)
            case "define":
                scope[node.said] = node.parts[0]
            case "if":
                yield from _run(node.parts[0 if _evaluate(node.said, scope) else 1], scope)
            case "foreach":
                yield from _repeat(node, scope)


def _assign(target: _Ref, value: Any, scope: dict[str, Any]) -> None:
    names = [target.name, *(name for name, _ in target.steps)]
    for name in names[:-1]:
        scope = scope[name]
    scope[names[-1]] = value


def _repeat(node: _Node, scope: dict[str, Any]) -> Iterator[str]:
    items = list(_evaluate(node.said[1], scope) or ())
    for number, one in enumerate(items):
        scope |= {node.said[0]: one, "foreach": {"hasNext": number + 1 < len(items)}}
        yield from _run(node.parts[0], scope)


def _evaluate(value: Any, scope: dict[str, Any]) -> Any:
    if isinstance(value, _Ref):
        found = _find(value, scope)
        is_block = isinstance(found, list) and found and isinstance(found[0], _Node)
        return "".join(_run(found, scope)) if is_block else found
    if isinstance(value, tuple):
        sign, first, second = value[0], *(_evaluate(one, scope) for one in value[1:])
        if sign == "||":
            return first or second
        return first == second if sign == "==" else first >= second
    return value


def _find(ref: _Ref, scope: dict[str, Any]) -> Any:
    found = scope.get(ref.name)
    for name, said in ref.steps:
        if found is None:
            return None
        given = [_evaluate(one, scope) for one in said] if isinstance(said, list) else []
        if not name:
            found = found[_evaluate(said, scope)]
        elif said is None:
            found = found.get(name) if isinstance(found, Mapping) else getattr(found, name)
        else:
            found = _call(found, name, given)
    return found


def _call(found: Any, name: str, given: list[Any]) -> Any:
    match found, name:
        case Mapping(), "keySet":
            return list(found)
        case Mapping(), "get":
            return found.get(given[0])
        case str(), "split":
            parts = found.split(given[0])
            while parts and not parts[-1]:  # as Java does
                parts.pop()
            return parts
        case str(), "replaceAll":
            return re.sub(given[0], given[1], found)
        case list(), "size":
            return len(found)
        case _ if not isinstance(found, str | list | Mapping):
            return getattr(found, name)(*given)
    raise not_written(f"the method {name} of a template")
