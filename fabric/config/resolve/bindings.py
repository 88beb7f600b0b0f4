"""Fill `${env:X}`, `${stage}`, `${secret:KEY}`, `${param:NAME}`, `${file:PATH}` and references such
as `${ssm:NAME}` into a tree.

All except `stage` and `secret` can have a default, as in `${env:X,default}`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from fabric.config.resolve.binding_scope import BindingScope
from fabric.config.yaml.nodes import KeyValue, Node, Scalar, Sequence, place_of
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.bindable import SecretUse
from fabric.model.late_values import (
    add_default,
    find_late_names,
    format_placeholder,
    name_function_url,
)
from fabric.model.lookups import LOOKUP_NAMES, LookupKind, NamedLookup, SecretPin
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secrecy import REDACTED, is_arn, is_secret_name
from fabric.model.secrets.secret_pins import format_pin
from fabric.model.text.spelling import find_nearest, suggest_spelling

MAX_DEPTH = 8
# Secrets made of secrets could otherwise grow without end.
MAX_PARTS = 50_000
MAX_LETTERS = 16 << 20
_WORDS = (
    *("env", "secret", "stage", "param", "file", "cfn", "cfn-export", "ssm", "secretsmanager"),
    *("function", "workflow", "service"),
)
_LOOKUPS = frozenset(LookupKind)
# Outputs of the service's own stack, addresses of its functions, workflows and API, and outputs of
# other services: known only after a deploy.
_OWN = ("function", "workflow")
_LATE = ("stack", *_OWN, "api", "service")
_WITHOUT_DEFAULT = ("secret", "stage", "stack", *_OWN, "api")
_OPENING = re.compile(r"\$\{(cfn-export|(?:cfn|ssm|secretsmanager)\([^(){}]*\)|[A-Za-z]+)(?=[:}])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PARAM_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,62}")
_PATH = re.compile(r"[^\s${}][^${}\n]*")
_NAMES = {
    "param": PARAM_NAME,
    "file": _PATH,
    "stack": re.compile(r"[A-Za-z0-9]{1,255}"),
    "api": re.compile("id|url"),
    "function": re.compile(r"[A-Za-z0-9_-]{1,64}\.(?:arn|name|url)"),
    "workflow": re.compile(r"[A-Za-z0-9_-]{1,64}\.(?:arn|name)"),
    "service": re.compile(r"[A-Za-z0-9_-]+(?:@[A-Za-z0-9_-]+)?\.[A-Za-z0-9_.-]+"),
}
_AWS_NAMES = ("accountId", "region", "partition")
_OTHER_AWS_NAME = re.compile(r":([A-Za-z][A-Za-z0-9]*)[,}]")
# The starts of the condition keys that IAM fills in policies.
_IAM_NAME = re.compile(
    r"assumed|called|chatbot|current|ec2|epoch|federated|is|multi|principal|referer|request|"
    r"resource|secure|source|tag|token|user|via|vpc",
    re.IGNORECASE,
)
_BRACE = re.compile(r"[{}]")
_BRACE_OR_COMMA = re.compile(r"[{},]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)


class Filled(NamedTuple):
    """A tree with filled bindings, the problems, the variables read, and the secret values."""

    node: Node
    problems: tuple[Problem, ...]
    names: frozenset[str]
    secret_values: frozenset[str]


class _PlainText(NamedTuple):
    text: str
    is_secret: bool = False
    is_reference: bool = False


class _Literal(NamedTuple):
    text: str


class _Binding(NamedTuple):
    word: str
    name: str
    default: str | None


_Part: TypeAlias = _Literal | _Binding


class BindingError(Exception):
    """A binding that cannot be filled. `problem` has no place yet."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.problem = Problem(code, message, hint)


def fill(node: Node, scope: BindingScope) -> Filled:
    """Fill every binding in the tree. Bindings that cannot be filled stay unchanged."""
    filler = _Filler(scope)
    filled = filler.node(node)
    secret_values = frozenset(filler.secret_values)
    return Filled(filled, tuple(filler.problems), frozenset(filler.names), secret_values)


def split_bindings(text: str, depth: int = 0) -> Iterator[_Part]:
    """Split the text into literals and bindings. `${…}` of other tools stays literal."""
    # One more than secrets may point on, so that theirs is the message when they go in a circle.
    if depth > MAX_DEPTH + 1:
        raise BindingError(
            "config/binding-depth", f"bindings are nested more than {MAX_DEPTH} levels deep"
        )
    position = 0
    for found in _OPENING.finditer(text):
        word, opened, region = found[1].rstrip(")").partition("(")
        if found.start() < position or not _is_ours(word, text[found.end() :]):
            continue
        if opened and word != LookupKind.CFN:
            message = f"`${{{word}({format_excerpt(region)}):…}}` cannot have a region"
            hint = f"write ${{{word}:NAME}}: it is read in the region of the provider"
            raise BindingError("config/bad-binding", message, hint)
        if found.start() > position:
            yield _Literal(text[position : found.start()])
        end = _end_of(text, found)
        rest = text[found.end() : end]
        yield _parse_binding(word, f":{region}{rest}" if opened else rest)
        position = end + 1
    if position < len(text):
        yield _Literal(text[position:])


@lru_cache(maxsize=256)
def _suggest_binding(word: str) -> str:
    return find_nearest(word, _WORDS)


def _is_ours(word: str, rest: str) -> bool:
    if word == LookupKind.AWS:
        return _is_known_aws_name(rest)
    if word in _WORDS or word in _LOOKUPS:
        return True
    if word in _LATE:
        return rest.startswith(":") and not rest.startswith("::")
    if rest.startswith("::"):
        return False  # CloudFormation's own
    meant = _suggest_binding(word)
    if meant:
        message = f"unknown binding `${{{format_excerpt(word)}…}}`"
        raise BindingError("config/unknown-binding", message, f"did you mean `${{{meant}…}}`?")
    return False


def _is_known_aws_name(rest: str) -> bool:
    """Return whether fabric fills the name. Raises for a name that also IAM does not know."""
    if LOOKUP_NAMES[LookupKind.AWS].match(rest.removeprefix(":")):
        return True
    found = _OTHER_AWS_NAME.match(rest)
    if found is None or _IAM_NAME.match(found[1]):
        return False
    shown = format_excerpt(found[1], 60)
    message = f"unknown reference `${{aws:{shown}}}`"
    hint = suggest_spelling(found[1], _AWS_NAMES) or _LOOKUP_HINTS["aws"]
    raise BindingError("config/unresolved-reference", message, hint)


def _end_of(text: str, binding: re.Match[str]) -> int:
    """Find the closing brace of `binding`. Braces within a default are balanced."""
    open_braces = 1
    for found in _BRACE.finditer(text, binding.end()):
        open_braces += 1 if found[0] == "{" else -1
        if not open_braces:
            return found.start()
    message = (
        f"missing closing brace in the binding `{format_excerpt(text[binding.start() :], 30)}`"
    )
    raise BindingError("config/bad-binding", message)


def _parse_binding(word: str, rest: str) -> _Binding:
    if word in _LOOKUPS:
        return _parse_reference(word, rest.removeprefix(":"))
    name, comma, default = rest.removeprefix(":").partition(",")
    is_bare = word == "stage"
    if is_bare and not rest:
        return _Binding(word, "", None)
    is_name = _NAMES.get(word, _NAME).fullmatch(name) is not None
    if is_bare or not is_name or (comma and word in _WITHOUT_DEFAULT):
        message = f"unknown binding `${{{word}{format_excerpt(rest, 30)}}}`"
        hint = (
            "write ${env:NAME}, ${env:NAME,default}, ${secret:KEY}, ${param:NAME}, ${file:PATH} "
            "or ${stage}"
        )
        raise BindingError("config/bad-binding", message, _LOOKUP_HINTS.get(word, hint))
    return _Binding(word, name, default if comma else None)


def _parse_reference(word: str, rest: str) -> _Binding:
    """Parse a reference. Commas of bindings in its name do not begin its default."""
    open_braces = 0
    for found in _BRACE_OR_COMMA.finditer(rest):
        if found[0] == "," and not open_braces:
            return _Binding(word, rest[: found.start()], rest[found.end() :])
        open_braces += {"{": 1, "}": -1}.get(found[0], 0)
    return _Binding(word, rest, None)


def _check_reference_name(word: str, name: str) -> None:
    if LOOKUP_NAMES[word].fullmatch(name) is None:
        shown = NamedLookup(LookupKind(word), format_excerpt(name, 60)).text
        message = f"invalid reference `{shown}`"
        raise BindingError("config/bad-binding", message, _LOOKUP_HINTS.get(word, ""))


_LOOKUP_HINTS = {
    "aws": "write ${aws:accountId}, ${aws:region} or ${aws:partition}",
    "stack": "write ${stack:OUTPUT}, with an output of `stack.before`",
    "function": "write ${function:NAME.arn}, ${function:NAME.name} or ${function:NAME.url}",
    "workflow": "write ${workflow:NAME.arn} or ${workflow:NAME.name}",
    "api": "write ${api:id} or ${api:url}",
    "service": "write ${service:NAME.OUTPUT} or ${service:NAME@STAGE.OUTPUT}",
    "cfn": "write ${cfn:STACK.OUTPUT} or ${cfn(REGION):STACK.OUTPUT}",
    "cfn-export": "write ${cfn-export:NAME}",
    "ssm": "write ${ssm:/PATH} or ${ssm:/PATH:VERSION}",
    "secretsmanager": (
        "write ${secretsmanager:NAME}, ${secretsmanager:NAME:KEY} or ${secretsmanager:NAME.arn}"
    ),
    "tf": "write ${tf:FILE#OUTPUT}, with a path, s3://BUCKET/KEY, gs://BUCKET/OBJECT or https://",
}


class _Filler:
    """One pass over a tree. It collects problems, names and secret values."""

    def __init__(self, scope: BindingScope) -> None:
        self._scope = scope
        self.problems: list[Problem] = []
        self.names: set[str] = set()
        self.secret_values: set[str] = set()
        self._known: dict[str, str] = {}
        self._parts_left = MAX_PARTS
        self._letters_left = MAX_LETTERS

    def node(self, node: Node) -> Node:
        """Fill a node. An unchanged node is returned itself, because most of a file has no
        bindings."""
        if isinstance(node, Scalar):
            return self._fill_scalar(node)
        if isinstance(node, Sequence):
            items = tuple([self.node(item) for item in node.items])
            return node if items == node.items else node._replace(items=items)
        entries = tuple([self._fill_entry(entry) for entry in node.entries])
        return node if entries == node.entries else node._replace(entries=entries)

    def _fill_entry(self, entry: KeyValue) -> KeyValue:
        value = self.node(entry.value)
        return entry if value is entry.value else entry._replace(value=value)

    def _fill_scalar(self, node: Scalar) -> Scalar:
        if not isinstance(node.value, str) or "${" not in node.value:
            return node
        try:
            filled = self._fill(node.value, 0)
        except BindingError as error:
            found = error.problem
            where = place_of(node)
            self.problems.append(Problem(found.code, found.message, found.hint, where))
            return node
        if filled is None:
            return node
        is_secret = filled.is_secret or node.secret
        text = filled.text
        node = node._replace(reference=filled.is_reference or node.reference)
        return node._replace(value=text, text=text, bound=True, secret=is_secret, written=node.text)

    def _fill(self, text: str, depth: int) -> _PlainText | None:
        """None when nothing in the text is a binding."""
        parts = tuple(islice(split_bindings(text, depth), self._parts_left + 1))
        self._parts_left -= len(parts)
        if not any(isinstance(part, _Binding) for part in parts):
            return None
        pieces = [self._fill_piece(part, depth) for part in parts]
        self.secret_values.update(piece.text for piece in pieces if piece.is_secret and piece.text)
        self._letters_left -= sum(len(piece.text) for piece in pieces)
        if self._parts_left < 0 or self._letters_left < 0:
            raise BindingError(
                "config/binding-limit", "the values of the bindings in this file are too large"
            )
        return _PlainText(
            "".join(piece.text for piece in pieces),
            is_secret=any(piece.is_secret for piece in pieces),
            is_reference=any(piece.is_reference for piece in pieces),
        )

    def _fill_piece(self, part: _Part, depth: int) -> _PlainText:
        if isinstance(part, _Literal):
            return _PlainText(part.text)
        match part.word:
            case "env":
                return self._fill_variable(part, depth)
            case "secret":
                return _PlainText(self._fill_secret(part.name, depth), is_secret=True)
            case "param":
                return self._fill_param(part, depth)
            case "file":
                return self._fill_file(part, depth)
            case word:
                return self._fill_plain(word, part, depth)

    def _fill_plain(self, word: str, part: _Binding, depth: int) -> _PlainText:
        if word == "service":
            return self._fill_output(part, depth)
        if word == "function" and part.name.endswith(".url"):
            return _PlainText(format_placeholder(name_function_url(part.name[: -len(".url")])))
        if word in _LATE:
            return _PlainText(format_placeholder(f"{word}:{part.name}"))
        is_stage = word == "stage"
        return _PlainText(self._scope.stage) if is_stage else self._fill_lookup(part, depth)

    def _fill_variable(self, part: _Binding, depth: int) -> _PlainText:
        self.names.add(part.name)
        value = self._scope.env.get(part.name)
        if value is not None:
            return _PlainText(value, is_secret_name(part.name))
        name = format_excerpt(part.name)
        message = f"variable `{name}` {self._scope.missing(part.name)} and has no default"
        hint = f"set {name}, or write ${{env:{name},default}}"
        if part.name in self._scope.withheld:
            hint = f"write ${{env:{name},default}}, or start the server with --resolve-env"
        return self._fill_default(part, depth, BindingError("config/unset-variable", message, hint))

    def _fill_default(self, part: _Binding, depth: int, otherwise: BindingError) -> _PlainText:
        if part.default is None:
            raise otherwise
        return self._fill(part.default, depth + 1) or _PlainText(part.default)

    def _fill_param(self, part: _Binding, depth: int) -> _PlainText:
        """Fill a param: from the command line, then from the stage's config."""
        given = self._scope.given.get(part.name)
        if given is not None:
            return _PlainText(given, _holds_secret(part.name, given))
        own = self._scope.params.get(part.name)
        if own is not None:
            found = self._fill(own.text, depth + 1) or _PlainText(own.text)
            is_secret = found.is_secret or _holds_secret(part.name, found.text)
            return found._replace(is_secret=is_secret)
        name = format_excerpt(part.name)
        message = f"parameter `{name}` is not set and has no default"
        hint = f"set --param {name}=…, or add it to `params` (or `stages.<stage>.params`)"
        return self._fill_default(part, depth, BindingError("config/unset-param", message, hint))

    def _fill_file(self, part: _Binding, depth: int) -> _PlainText:
        try:
            text = self._scope.read_text(part.name)
        except FabricError as error:
            found = error.first
            raise BindingError(found.code, found.message, found.hint) from error
        if text is not None:
            return _PlainText(text, is_secret_name(part.name))
        message = f"file `{format_excerpt(part.name)}` not found in the project"
        hint = "use a path relative to the directory of fabric.yml"
        return self._fill_default(part, depth, BindingError("config/missing-file", message, hint))

    def _fill_lookup(self, part: _Binding, depth: int) -> _PlainText:
        """Fill a reference: first the bindings in its name."""
        self._refuse_reference(part)
        part = part._replace(name=self._fill_reference_name(part, depth))
        return self._read_lookup(part, depth)._replace(is_reference=True)

    def _fill_output(self, part: _Binding, depth: int) -> _PlainText:
        """Fill an output of another service with its placeholder, which contains the default."""
        self._refuse_reference(part)
        name = f"service:{part.name}"
        if part.default is None:
            return _PlainText(format_placeholder(name))
        default = self._fill(part.default, depth + 1) or _PlainText(part.default)
        if default.is_secret or find_late_names(default.text):
            message = f"the default of `${{{name}}}` contains a secret or a late value"
            raise BindingError("config/bad-binding", message, "write a plain default")
        return _PlainText(format_placeholder(add_default(name, default.text)))

    def _refuse_reference(self, part: _Binding) -> None:
        """Raise if a caller without an API key would read values of the server's account."""
        if self._scope.secret_use is SecretUse.REFUSED:
            shown = f"${{{part.word}:{format_excerpt(part.name, 60)}}}"
            message = f"`{shown}` is not available in requests without an API key"
            hint = "start the server with --api-key-file"
            raise BindingError("config/unresolved-reference", message, hint)

    def _read_lookup(self, part: _Binding, depth: int) -> _PlainText:
        """Read a reference. If none are read, it gets its default or stays unchanged."""
        if self._scope.read_lookup is None:
            if part.default is None:
                return _PlainText(NamedLookup(LookupKind(part.word), part.name).text)
            return self._fill(part.default, depth + 1) or _PlainText(part.default)
        try:
            kind = LookupKind(part.word)
            found = self._scope.read_lookup(kind, part.name)
        except FabricError as error:
            first = error.first
            raise BindingError(first.code, first.message, first.hint) from error
        if found is not None:
            pin = found.pin and self._with_default(found.pin, part, depth)
            return _PlainText(format_pin(pin) if pin else found.text, found.is_secret)
        shown = NamedLookup(kind, format_excerpt(part.name, 60)).text
        message = f"`{shown}` does not exist and has no default"
        hint = f"create it, or write {shown[:-1]},default}}"
        missing = BindingError("config/unresolved-reference", message, hint)
        return self._fill_default(part, depth, missing)

    def _with_default(self, pin: SecretPin, part: _Binding, depth: int) -> SecretPin:
        """Add the default to a pin: only the deploy sees whether the secret has the key."""
        if part.default is None:
            return pin
        default = self._fill(part.default, depth + 1) or _PlainText(part.default)
        return replace(pin, default=default.text)

    def _fill_reference_name(self, part: _Binding, depth: int) -> str:
        """Fill the bindings in the name of a reference. Names are shown, so they have no secret."""
        filled = self._fill(part.name, depth + 1) or _PlainText(part.name)
        if filled.is_secret or filled.is_reference:
            shown = f"${{{part.word}:{format_excerpt(part.name, 60)}}}"
            message = f"the name in `{shown}` contains a secret or another reference"
            hint = "use ${stage}, ${env:NAME} or ${param:NAME} in names of references"
            raise BindingError("config/bad-binding", message, hint)
        _check_reference_name(part.word, filled.text)
        return filled.text

    def _fill_secret(self, key: str, depth: int) -> str:
        if depth > MAX_DEPTH:
            message = (
                f"secret `{format_excerpt(key)}` has more than {MAX_DEPTH} levels of references"
            )
            raise BindingError("config/secret-depth", message, "check its references for a loop")
        if key not in self._known:
            self._known[key] = self._read_secret_value(key, depth)
        return self._known[key]

    def _read_secret_value(self, key: str, depth: int) -> str:
        own = self._scope.secrets.get(key)
        if own is None:
            return self._read_secret_variable(key)
        filled = self._fill(own.text, depth + 1)
        if filled is not None:
            return filled.text
        reference = _SCHEME.fullmatch(own.text)
        if reference is None:
            return own.text  # it stands in the config itself
        if reference[1] == "secret":
            return self._fill_secret(reference[2], depth + 1)
        return self._read_managed_secret(key, *reference.groups())

    def _read_managed_secret(self, key: str, scheme: str, reference: str) -> str:
        self._refuse_secret(key)
        try:
            return self._scope.read_secret(scheme, reference)
        except FabricError as error:
            found = error.first
            message = f"secret `{format_excerpt(key)}`: {found.message}"
            raise BindingError(found.code, message, found.hint) from error

    def _read_secret_variable(self, key: str) -> str:
        self.names.add(key)
        value = self._scope.env.get(key)
        if key in self._scope.withheld:
            message = (
                f"secret `{format_excerpt(key)}` is not in `secrets` and cannot be used in requests"
            )
            hint = "add it to `secrets`, with a reference that the server can resolve"
            raise BindingError("config/unset-secret", message, hint)
        if value is None:
            message = (
                f"secret `{format_excerpt(key)}` is not in `secrets`, and no variable has this name"
            )
            hint = f"add it to `secrets`, or set the variable {format_excerpt(key)}"
            raise BindingError("config/unset-secret", message, hint)
        self._refuse_secret(key)
        return value if self._scope.secret_use is SecretUse.READ else REDACTED

    def _refuse_secret(self, key: str) -> None:
        if self._scope.secret_use is SecretUse.REFUSED:
            message = (
                f"secret `{format_excerpt(key)}` is not available in requests without an API key"
            )
            hint = "start the server with --api-key-file"
            raise BindingError("config/unset-secret", message, hint)


def _holds_secret(name: str, value: str) -> bool:
    """Return whether a param holds a secret, by its name."""
    return is_secret_name(name) and not is_arn(value)


def is_reference(text: str) -> bool:
    """Return whether the text is a reference to an external secret."""
    return _SCHEME.fullmatch(text) is not None
