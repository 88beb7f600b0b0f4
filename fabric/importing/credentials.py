"""Credentials in a source become references to environment variables, before anything is copied."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fabric.config.yaml.nodes import EMPTY, Node, Scalar, Sequence
from fabric.importing.credential_names import (
    SYSTEM_VARIABLES,
    is_credential_name,
    is_plain_name,
    is_plain_value,
    name_variable,
)
from fabric.importing.credential_texts import (
    BLANK,
    SHORTEST_PART,
    blank_variables,
    has_form,
    list_spans,
    list_variables,
    strip_variables,
)
from fabric.importing.intrinsics import SSM_VALUE
from fabric.importing.source import At, Ledger, Path

# Sections with values that the project names itself.
_OWN_NAMES = (
    *("environment", "env", "variables", "vars", "custom", "params", "input", "parameters"),
    *("pattern", "eventpattern", "filterpolicy", "filterpatterns", "filters", "values"),
)
# Sections whose keys below are those of CloudFormation.
_TEMPLATE_SECTIONS = ("Resources", "Properties", "Outputs")
# Sections whose keys name functions and resources.
_NAMED_SECTIONS = (("functions",), ("Resources",), ("services",))
_PROPERTY = re.compile(
    r"(?:password|secretstring|auth_?token|access_?token|secret_?token|client_?secret|private_?key"
    r"|api_?key_?value|x-api-key)$",
    re.IGNORECASE,
)
# Headers of requests that contain a credential.
_HEADER = re.compile(
    r"(?:^|\.)(?:(?:proxy-)?authorization|cookie|[a-z-]*-(?:auth|origin-verify))$", re.IGNORECASE
)
# Keys of a map for its name and its value, such as those of headers.
_NAMES = ("Name", "name", "Key", "key", "HeaderName")
_VALUES = ("Value", "value", "HeaderValue")
# Names of values that a request is sent, such as `method.request.header.Authorization`.
_MAPPED = re.compile(r"(?:method|integration|context|stageVariables)\.")
_CODE = "InlineCode"
_API_KEY = "AWS::ApiGateway::ApiKey"
# The result of the value of an API key that the Serverless Framework creates.
API_KEY_REASON = "values of API keys are not copied; AWS creates a new value"
_WORDS = ("", "true", "false")
_REFERENCE = re.compile(r"arn:|\{\{resolve:|/aws/reference/")
# Functions whose text names a resource or an export.
_REFERENCES = ("Ref", "Fn::GetAtt", "Fn::ImportValue", "Fn::FindInMap", "Fn::Transform")
# Functions that put a text together, and those whose first item is not a part of their value.
_JOINS = ("Fn::Join", "Fn::Sub")
_WITH_NAME_FIRST = ("Fn::Join", "Fn::If", "Fn::Select", "Fn::Split")
# Paths of the input of a state machine, such as `$$.Task.Token`.
_JSON_PATH = re.compile(r"\$\$?\.")


def is_secret_parameter(at: At) -> bool:
    """Return whether a parameter of a template holds a credential."""
    is_set = bool(at.get("Default").text) and not _REFERENCE.match(at.get("Default").text)
    return at.get("NoEcho").text.lower() == "true" or (is_set and is_credential_name(at.key))


class _Name(NamedTuple):
    """The name of a value: its key, below the keys of credentials."""

    text: str
    # Whether the project chose the name.
    is_named: bool
    # Whether the project chose the keys below as well, which those of templates are not.
    is_free: bool
    # Whether the value is below the name of a credential.
    is_secret: bool = False


def _find_owner_name(at: At) -> str:
    """Find the name that a map has in one of its keys, or that of an output."""
    if "apiKeys" in at.path:
        return "apiKey"
    names = (at.get(one).text for one in _NAMES)
    return next(filter(None, names), at.key if at.path[-2:-1] == ("Outputs",) else "")


def _name_entry(at: At, key: str, name: _Name, owner: str) -> _Name:
    """Name an entry of a map: values below a credential, such as those by stage, are secret."""
    is_own = key.lower() in _OWN_NAMES
    is_named = name.is_named or is_own
    is_free = is_own or (name.is_free and key not in _TEMPLATE_SECTIONS)
    if key in _VALUES and owner:
        return _Name(owner, is_named=True, is_free=True)
    # A parameter has the name of its map. Its value can be the name of another parameter.
    if key == "Default" and at.get("Type").text.startswith(SSM_VALUE):
        return _Name(key, is_named=False, is_free=False)
    if key == "Default":
        return _Name(at.key, is_named=is_named, is_free=is_free)
    if key.startswith("Fn::"):
        return name._replace(is_named=is_named)
    kind = at.get("Type").text
    is_declared = "::" in kind or (at.path[-2:-1] == ("Parameters",) and bool(kind))
    is_below = name.is_secret or (name.is_free and is_credential_name(name.text))
    if is_below and not is_declared and not is_plain_name(f"{name.text}_{key}"):
        return _Name(f"{name.text}_{key}", is_named=True, is_free=is_free, is_secret=True)
    return _Name(key, is_named=is_named, is_free=is_free)


class Credentials:
    """The credentials of one source, by the names of their variables."""

    def __init__(self, ledger: Ledger, values: dict[str, str] | None = None) -> None:
        self._ledger = ledger
        self._values: dict[str, str] = {} if values is None else values
        # The places of credentials in literals of `Fn::Join` and `Fn::Sub`.
        self._joined: dict[Path, list[tuple[int, int]]] = {}
        # The properties of API keys.
        self._api_keys: set[Path] = set()

    def hide(self, at: At, key: str, value: str) -> str:
        """Return the reference for a credential, and note it. Another value has another name."""
        text = self._choose_reference(at, key, value)
        if at.path[:1] == ("provider",) and "apiKeys" in at.path:
            self._ledger.lose(at, API_KEY_REASON)
        else:
            self._ledger.hide(at, text)
        return text

    def _choose_reference(self, at: At, key: str, value: str) -> str:
        name = name_variable(key)
        is_used = self._values.get(name, value) != value
        if name in SYSTEM_VARIABLES or (is_used and len(at.path) > 1):
            name = name_variable(f"{_find_owner(at)}_{key}")
        base, number = name, 2
        while self._values.get(name, value) != value:
            name, number = f"{base}_{number}", number + 1
        self._values[name] = value
        return f"${{env:{name}}}"

    def is_hidden(self, text: str) -> bool:
        """Return whether a text is the reference for a credential of the source."""
        return any(text == f"${{env:{name}}}" for name in self._values)

    def replace_in_file(self, root: Node) -> Node:
        """Replace the credentials of another file, whose keys are not reported."""
        return Credentials(Ledger(), self._values).replace(root, is_named=True)

    def replace(self, root: Node, *, is_named: bool = False) -> Node:
        """Replace each literal credential, by its key or by its form."""
        return self._replace(At(root), _Name("", is_named=is_named, is_free=is_named))

    def _replace(self, at: At, name: _Name) -> Node:
        node = at.node if at.node is not None else EMPTY
        if isinstance(node, Scalar):
            if _is_credential(node, name):
                return self._hide_text(at, node, name.text)
            if name.text == _CODE:
                return node
            return self._hide_joined(at, node, name.text)
        if isinstance(node, Sequence):
            first = 1 if at.key in _WITH_NAME_FIRST else 0
            items = (self._replace(one, name) for one in at.list_items()[first:])
            return node._replace(items=(*node.items[:first], *items))
        if any(one.key in _JOINS for one in node.entries):
            self._find_joined(at)
        owner = _find_owner_name(at)
        if at.key == "Properties" and at.path in self._api_keys:
            owner = "api_key"
        if at.get("Type").text == _API_KEY:
            self._api_keys.add((*at.path, "Properties"))
        entries = (
            entry
            if entry.key in _REFERENCES
            else entry._replace(value=self._replace(one, _name_entry(at, entry.key, name, owner)))
            for entry, one in zip(node.entries, at.list_entries(), strict=True)
        )
        return node._replace(entries=tuple(entries))

    def _find_joined(self, at: At) -> None:
        for path, span in _find_joined(at):
            self._joined.setdefault(path, []).append(span)

    def _hide_joined(self, at: At, node: Scalar, key: str) -> Node:
        """Replace the parts of a text that belong to a credential of a longer text."""
        text, end = node.text, len(node.text)
        # A text within another one was found twice.
        for start, last in sorted(self._joined.get(at.path, ()), reverse=True):
            stop = min(last, end)
            if start < stop:
                hidden = self.hide(at, key or "password", text[start:stop])
                text = text[:start] + hidden + text[stop:]
                end = start
        return node if text == node.text else node._replace(value=text, text=text)

    def _hide_text(self, at: At, node: Scalar, key: str) -> Node:
        text = self.hide(at, key, node.text)
        return node._replace(value=text, text=text)


def _find_owner(at: At) -> str:
    """Find the function, resource or section that a credential belongs to."""
    path = ("secret", *at.path)
    return at.path[1] if at.path[:1] in _NAMED_SECTIONS and at.path[1:] else path[-2]


class _Piece(NamedTuple):
    """A part of a text that a template puts together, and its place if it is a literal."""

    text: str
    path: Path | None = None
    start: int = 0


def _list_pieces(at: At) -> Iterator[_Piece]:
    """List the parts of a text of `Fn::Join` and `Fn::Sub`, also of those within each other."""
    inner = at.list_entries()[0] if at.is_map and len(at.list_entries()) == 1 else at
    items = inner.list_items() if inner.is_list else ()
    match at.node, inner.key, items:
        case Scalar(text=text), _, _:
            yield _Piece(blank_variables(text), at.path)
        case _, "Fn::Join", (separator, parts):
            for number, one in enumerate(parts.list_items()):
                if number:
                    yield _Piece(separator.text)
                yield from _list_pieces(one)
        case _, "Fn::Sub", (text, values) if values.is_map:
            yield from _list_substituted(text, {one.key: one for one in values.list_entries()})
        case _, "Fn::Sub", _ if inner.text:
            yield _Piece(blank_variables(inner.text), inner.path)
        case _:
            yield _Piece(BLANK)


def _list_substituted(at: At, values: Mapping[str, At]) -> Iterator[_Piece]:
    end = 0
    for start, stop in list_variables(at.text):
        yield _Piece(at.text[end:start], at.path, end)
        value = values.get(at.text[start + 2 : stop - 1])
        yield from (_Piece(BLANK),) if value is None else _list_pieces(value)
        end = stop
    yield _Piece(at.text[end:], at.path, end)


def _find_joined(at: At) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Find the parts of credentials in literals that a template puts together."""
    pieces = list(_list_pieces(at))
    spans = list_spans("".join(one.text for one in pieces))
    begin = 0
    for one in pieces:
        end = begin + len(one.text)
        for start, stop in spans:
            first, last = max(start, begin), min(stop, end)
            if one.path is not None and first < last and one.text.strip(BLANK):
                offset = one.start - begin
                yield one.path, (first + offset, last + offset)
        begin = end


def is_credential(text: str, name: str) -> bool:
    """Return whether a value with a name that the project chose is a credential."""
    named = _Name(name, is_named=True, is_free=True)
    return bool(text) and _is_credential(Scalar(text, text, 0, 0), named)


def _is_credential(node: Scalar, name: _Name) -> bool:
    key = name.text
    is_word = key == _CODE or node.text.lower() in _WORDS
    if is_word or _REFERENCE.match(node.text) or _MAPPED.match(node.text):
        return False
    if key.endswith(".$") and _JSON_PATH.match(node.text):
        return False
    if has_form(node.text):
        return True
    plain = strip_variables(node.text)
    if plain != node.text and len(plain) < SHORTEST_PART:
        return False
    if is_plain_value(key, node.text):
        return False
    is_credential_key = is_credential_name(key) or _HEADER.search(key) is not None
    is_named = name.is_secret or (name.is_named and is_credential_key)
    return is_named or _PROPERTY.search(key) is not None
