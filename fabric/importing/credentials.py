"""Credentials in a source become references to environment variables, before anything is copied."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from fabric.config.yaml.nodes import EMPTY, Node, Scalar, Sequence
from fabric.importing.source import At, Ledger
from fabric.model.secrecy import is_secret_name, redact_shapes

# Sections with values that the project names itself.
_OWN_NAMES = (
    *("environment", "env", "variables", "vars", "custom", "params", "input", "parameters"),
    *("pattern", "eventpattern"),
)
# Sections whose keys below are those of CloudFormation.
_TEMPLATE_SECTIONS = ("Resources", "Properties", "Outputs")
# Sections whose keys name functions and resources.
_NAMED_SECTIONS = (("functions",), ("Resources",), ("services",))
_PROPERTY = re.compile(
    r"(?:password|secretstring|auth_?token|access_?token|client_?secret|private_?key)$",
    re.IGNORECASE,
)
_SHORT_NAME = re.compile(
    r"(?:^|[_-])(?:pass|pwd|passphrase|dsn|jwt)$|(?:access|private)_?key$|webhook_?url$"
    r"|(?-i:[a-z](?:Pass|Pwd|Passphrase|Dsn|Jwt)$)",
    re.IGNORECASE,
)
# The rest of a text with variables, from which on it can be a credential.
_SHORTEST_PART = 8
# In place of a variable. A letter, so that words with variables stay words.
_BLANK = "\ua66e"
_BRACE = re.compile(r"\$?\{|\}")
# Variables of shells and systems, whose values mean something else.
SYSTEM_VARIABLES = frozenset(
    "CDPATH EDITOR ENV HOME HOST HOSTNAME IFS LANG LOGNAME MAIL NODE_OPTIONS OLDPWD PAGER PATH PORT"
    " PS1 PWD PYTHONPATH SHELL TEMP TERM TMP TMPDIR TZ UID USER USERNAME".split()
)
_URL_PASSWORD = re.compile(r"://[^\s/?#@:]*:([^\s/?#@]*)@")
_URL_BEFORE_PASSWORD = re.compile(r"://[^\s/?#@:]*:$")
_URL_USER = re.compile(r"://[^\s/?#@]*@")
_ASSIGNED_PASSWORD = re.compile(
    r"(?:^|[;\s?&])(?:password|pwd)=[^;\s&]"
    r"|(?:^|[;\s?&])[\w.-]{0,40}(?:password|token|secret|api_?key)=[\"']?[^;\s&$\"']{8,}",
    re.IGNORECASE,
)
# A pair of JSON that is written as text.
_PAIR = re.compile(r'"([\w.-]{1,80})"\s{0,8}:\s{0,8}"([^"\\$]{4,})"')
_REFERENCE = re.compile(r"arn:|\{\{resolve:|/aws/reference/")
# Keys of tables and public keys, and names that only describe a credential.
_PLAIN_NAME = re.compile(
    r"(?:PARTITION|SORT|HASH|RANGE|PRIMARY|FOREIGN|PUBLIC|INDEX|OBJECT|CACHE|ROUTING|S3|BUCKET)_?KEY"
    r"|[a-z_](?:ARN|_?URL|_?URI|_?NAME|_?PATH|_?FILE|_?ALIAS|_?TTL|_?PREFIX|_?LENGTH|_?EXPIRY"
    r"|_?EXPIRATION|_?HEADER|_?TABLE|_?ENABLED|_?ISSUER|_?AUDIENCE|_?COUNT|_?LIMIT)S?$",
    re.IGNORECASE,
)
# Functions whose text names a resource or an export.
_REFERENCES = ("Ref", "Fn::GetAtt", "Fn::ImportValue", "Fn::FindInMap", "Fn::Transform")
# Paths of the input of a state machine, such as `$$.Task.Token`.
_JSON_PATH = re.compile(r"\$\$?\.")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9]+")


def name_variable(key: str) -> str:
    """Name the environment variable for a key, such as DB_PASSWORD for `dbPassword`."""
    name = _NOT_IN_NAME.sub("_", _WORD.sub("_", key)).strip("_").upper() or "SECRET"
    return f"_{name}" if name[0].isdigit() else name


def is_credential_name(name: str) -> bool:
    """Return whether a value of this name is a credential, and not the name of one or its limit."""
    is_named = is_secret_name(name) or _SHORT_NAME.search(name) is not None
    return is_named and not _is_plain_name(name)


def _is_plain_name(name: str) -> bool:
    return _PLAIN_NAME.search(name) is not None and _SHORT_NAME.search(name) is None


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
    names = (at.get(one).text for one in ("Name", "name", "Key", "key"))
    return next(filter(None, names), at.key if at.path[-2:-1] == ("Outputs",) else "")


def _name_entry(at: At, key: str, name: _Name, owner: str) -> _Name:
    """Name an entry of a map. The values below a credential, such as those by stage, are secret."""
    is_own = key.lower() in _OWN_NAMES
    is_named = name.is_named or is_own
    is_free = is_own or (name.is_free and key not in _TEMPLATE_SECTIONS)
    if key in ("Value", "value") and is_credential_name(owner):
        return _Name(owner, is_named=True, is_free=True)
    # A parameter has the name of its map.
    if key == "Default":
        return _Name(at.key, is_named=is_named, is_free=is_free)
    if key.startswith("Fn::"):
        return name._replace(is_named=is_named)
    kind = at.get("Type").text
    is_declared = "::" in kind or (at.path[-2:-1] == ("Parameters",) and bool(kind))
    is_below = name.is_secret or (name.is_free and is_credential_name(name.text))
    if is_below and not is_declared and not _is_plain_name(f"{name.text}_{key}"):
        return _Name(f"{name.text}_{key}", is_named=True, is_free=is_free, is_secret=True)
    return _Name(key, is_named=is_named, is_free=is_free)


class Credentials:
    """The credentials of one source, by the names of their variables."""

    def __init__(self, ledger: Ledger, values: dict[str, str] | None = None) -> None:
        self._ledger = ledger
        self._values: dict[str, str] = {} if values is None else values

    def hide(self, at: At, key: str, value: str) -> str:
        """Return the reference for a credential, and note it. Another value has another name."""
        name = name_variable(key)
        is_used = self._values.get(name, value) != value
        if name in SYSTEM_VARIABLES or (is_used and len(at.path) > 1):
            name = name_variable(f"{_find_owner(at)}_{key}")
        base, number = name, 2
        while self._values.get(name, value) != value:
            name, number = f"{base}_{number}", number + 1
        self._values[name] = value
        text = f"${{env:{name}}}"
        self._ledger.hide(at, text)
        return text

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
            return self._hide_text(at, node, name.text) if _is_credential(node, name) else node
        if isinstance(node, Sequence):
            passwords = _find_split_passwords(node)
            items = (
                self._hide_text(one, one.node, name.text or "password")
                if isinstance(one.node, Scalar) and number in passwords
                else self._replace(one, name)
                for number, one in enumerate(at.list_items())
            )
            return node._replace(items=tuple(items))
        owner = _find_owner_name(at)
        entries = (
            entry
            if entry.key in _REFERENCES
            else entry._replace(value=self._replace(one, _name_entry(at, entry.key, name, owner)))
            for entry, one in zip(node.entries, at.list_entries(), strict=True)
        )
        return node._replace(entries=tuple(entries))

    def _hide_text(self, at: At, node: Scalar, key: str) -> Node:
        text = self.hide(at, key, node.text)
        return node._replace(value=text, text=text)


def _find_owner(at: At) -> str:
    """Find the function, resource or section that a credential belongs to."""
    path = ("secret", *at.path)
    return at.path[1] if at.path[:1] in _NAMED_SECTIONS and at.path[1:] else path[-2]


def _find_split_passwords(node: Sequence) -> frozenset[int]:
    """Find passwords of URLs that `Fn::Join` puts together: between a user and an `@`."""
    texts = [one.text if isinstance(one, Scalar) else "" for one in node.items]
    return frozenset(
        number
        for number in range(1, len(texts) - 1)
        if texts[number]
        and texts[number + 1].startswith("@")
        and _URL_BEFORE_PASSWORD.search(texts[number - 1])
        and _strip_variables(texts[number])
    )


def _has_pair(text: str) -> bool:
    """Return whether JSON that is written as text contains a credential."""
    return any(is_credential_name(key) for key, _ in _PAIR.findall(text))


def is_credential(text: str, name: str) -> bool:
    """Return whether a value with a name that the project chose is a credential."""
    named = _Name(name, is_named=True, is_free=True)
    return bool(text) and _is_credential(Scalar(text, text, 0, 0), named)


def _is_credential(node: Scalar, name: _Name) -> bool:
    key = name.text
    if isinstance(node.value, bool) or not node.text or _REFERENCE.match(node.text):
        return False
    if key.endswith(".$") and _JSON_PATH.match(node.text):
        return False
    if _has_form(node.text):
        return True
    plain = _strip_variables(node.text)
    if plain != node.text and len(plain) < _SHORTEST_PART:
        return False
    is_named = name.is_secret or (name.is_free and is_credential_name(key))
    return is_named or _PROPERTY.search(key) is not None


def _strip_variables(text: str) -> str:
    """Remove variables, also those with others inside."""
    return _blank_variables(text).replace(_BLANK, "")


def _blank_variables(text: str) -> str:
    """Replace each character of a variable, so that the places of others stay."""
    if "${" not in text:
        return text
    parts: list[str] = []
    end = 0
    for start, stop in _list_variables(text):
        parts += (text[end:start], _BLANK * (stop - start))
        end = stop
    return "".join((*parts, text[end:]))


def _list_variables(text: str) -> Iterator[tuple[int, int]]:
    """List the places of the outermost variables, in one pass."""
    opened: list[tuple[int, bool]] = []
    found: list[tuple[int, int]] = []
    for brace in _BRACE.finditer(text):
        if brace[0] != "}":
            opened.append((brace.start(), brace[0] == "${"))
        elif opened:
            start, is_variable = opened.pop()
            if is_variable:
                while found and found[-1][0] > start:
                    found.pop()
                found.append((start, brace.end()))
    return iter(found)


def _has_form(text: str) -> bool:
    """Return whether a text contains a credential, and not only variables for one."""
    plain = _strip_variables(text)
    url = _URL_PASSWORD.search(plain)
    if url is not None:
        return bool(url[1])
    if _ASSIGNED_PASSWORD.search(plain) or _has_pair(plain):
        return True
    without_user = _URL_USER.sub("://", plain)
    return redact_shapes(without_user) != without_user
