"""Functions of CloudFormation, such as `!Ref Table`, to texts with bindings of fabric."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from fabric.config.yaml.nodes import (
    EMPTY,
    KeyValue,
    Mapping,
    Node,
    Scalar,
    Sequence,
    convert_to_plain,
)
from fabric.importing.source import At, list_leaves

_SUBSTITUTED = re.compile(r"\$\{(!?)([A-Za-z0-9:._-]+)\}")
# Bindings of fabric, which variables of the source became.
_BINDING = re.compile(
    r"stage|(?:env|param|ssm|cfn(?:\([^()]*\))?|secretsmanager|file|aws|tf|stack|function):(?!:).*"
)
_PSEUDO = {
    "AWS::Region": "${aws:region}",
    "AWS::AccountId": "${aws:accountId}",
    "AWS::Partition": "${aws:partition}",
    "AWS::URLSuffix": "amazonaws.com",
}
# Functions that only the transform AWS::LanguageExtensions evaluates, and those that return a list,
# which an output cannot have.
_EXTENDED = ("Fn::ToJsonString", "Fn::Length", "Fn::ForEach")
_LISTS = ("Fn::Split", "Fn::GetAZs", "Fn::Cidr")
# Attributes that an output of a stack would show.
_SECRET_ATTRIBUTES = ("ClientSecret", "SecretAccessKey")
_OUTPUT = re.compile(r"\$\{stack:([A-Za-z0-9]+)")
_RESOLVE = re.compile(r"\{\{resolve:(ssm|ssm-secure|secretsmanager):([^}]+)\}\}")
_NOT_IN_OUTPUT = re.compile(r"[^A-Za-z0-9]")


class NotCarriedError(Exception):
    """A value that fabric has no equivalent for."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class LogicalNames(Struct, frozen=True, kw_only=True):
    """The logical ids of a template by their meaning."""

    service: str
    # Logical id to the name of the function.
    functions: dict[str, str]
    # Functions whose ARN is used, which is that of the alias in fabric.
    aliased: set[str] = field(default_factory=set)
    # Ids of the API and of roles, which fabric creates itself.
    generated: set[str] = field(default_factory=set)
    # Ids of the API of the service, which resources and outputs after the release can use.
    apis: frozenset[str] = frozenset()
    # Parameters of the template to the text that stands for them.
    parameters: dict[str, str] = field(default_factory=dict)
    # Parameters of which CloudFormation reads the value itself, by a name. The name is their
    # default, or this text.
    named: dict[str, str] = field(default_factory=dict)
    # Parameters that are lists, with their items.
    lists: dict[str, list[str]] = field(default_factory=dict)
    # Parameters of the template to their defaults.
    defaults: dict[str, str] = field(default_factory=dict)
    resources: dict[str, Node] = field(default_factory=dict)
    # Log groups of functions to the names of these functions.
    log_groups: dict[str, str] = field(default_factory=dict)
    # URLs of functions to the names of these functions.
    urls: dict[str, str] = field(default_factory=dict)
    conditions: frozenset[str] = frozenset()
    # Texts for other ids, with or without an attribute, such as `Machine.Arn`.
    texts: dict[str, str] = field(default_factory=dict)

    def add_url(self, key: str, function: str) -> None:
        self.urls[key] = function
        self.texts[key] = self.texts[f"{key}.FunctionArn"] = f"${{function:{function}.arn}}"

    def describe(self, name: str) -> str:
        """Describe why a name has no text."""
        if name in self.apis or name in self.urls:
            return f"`{name}` is known only after the release, for resources of the stack `after`"
        if name in self.generated:
            return f"`{name}` is created by fabric, which has no reference to it"
        return f"`{name}` is not in the file"


class OutputRequests:
    """The outputs that a stack needs, so that functions can use its resources."""

    def __init__(self) -> None:
        self.outputs: dict[str, Node] = {}
        # The values that use each output.
        self.users: dict[str, list[At]] = {}
        # Names of outputs by base and expression, and the next number of each base.
        self._known: dict[tuple[str, str], str] = {}
        self._numbers: dict[str, int] = {}
        self.user = At(None)
        # Outputs that could not be created.
        self.lost: set[str] = set()

    def request(self, name: str, expression: Node) -> str:
        base = _NOT_IN_OUTPUT.sub("", name)[:240] or "Output"
        key = (base, repr(convert_to_plain(expression)))
        if key not in self._known:
            self._known[key] = self._choose_name(base)
        name = self._known[key]
        self.outputs.setdefault(name, expression)
        self.users.setdefault(name, []).append(self.user)
        return f"${{stack:{name}}}"

    def _choose_name(self, base: str) -> str:
        """Choose the next name that is free."""
        number = self._numbers.get(base, 1)
        while (name := f"{base}{number}" if number > 1 else base) in self.outputs:
            number += 1
        self._numbers[base] = number + 1
        return name

    def drop_unused(self, values: Iterable[Node]) -> None:
        """Drop the outputs that no value of the config uses."""
        leaves = (leaf for one in values for leaf in list_leaves(At(one)))
        used = {name for leaf in leaves for name in _OUTPUT.findall(leaf.text)}
        for name in self.outputs.keys() - used:
            del self.outputs[name], self.users[name]


class Intrinsics:
    """Converts values of one template."""

    def __init__(self, names: LogicalNames, requests: OutputRequests) -> None:
        self.names = names
        self._requests = requests

    def convert(self, node: Node, hint: str = "Value") -> Node:
        """Convert all functions in a value to texts. `hint` names outputs for other functions."""
        if isinstance(node, Scalar):
            return _with_text(node, convert_dynamic(node.text)) if "{{" in node.text else node
        if isinstance(node, Sequence):
            items = (self.convert(one, f"{hint}{number}") for number, one in enumerate(node.items))
            return node._replace(items=tuple(one for one in items if not is_no_value(one)))
        if get_function(node) is not None:
            return self._convert_function(node, hint)
        entries = (
            one._replace(value=self.convert(one.value, f"{hint}{one.key}")) for one in node.entries
        )
        return node._replace(entries=tuple(one for one in entries if not is_no_value(one.value)))

    def to_text(self, node: Node, hint: str = "Value") -> str:
        found = self.convert(node, hint)
        if not isinstance(found, Scalar) or is_no_value(found):
            raise NotCarriedError("the value is not a text")
        return found.text

    def _convert_function(self, node: Mapping, hint: str) -> Node:
        name, inner = node.entries[0].key, node.entries[0].value
        if name == "Ref" and isinstance(inner, Scalar) and inner.text == "AWS::NoValue":
            return Scalar(None, NO_VALUE, node.line, node.column)
        if name == "Fn::Split" and (parts := self._split(inner, hint)) is not None:
            items = tuple(Scalar(one, one, node.line, node.column) for one in parts)
            return Sequence(items, node.line, node.column)
        return Scalar(text := self._evaluate(name, inner, node, hint), text, node.line, node.column)

    def _evaluate(self, name: str, inner: Node, node: Node, hint: str) -> str:
        match name:
            case "Ref" if isinstance(inner, Scalar):
                return self.refer(inner.text)
            case "Fn::GetAtt":
                return self.refer(*split_attribute(inner))
            case "Fn::Sub":
                return self._substitute(inner, hint)
            case "Fn::Join" if (parts := self._list_joined(inner, hint)) is not None:
                return parts
            case "Fn::ImportValue":
                return f"${{cfn-export:{self.to_text(inner, hint)}}}"
            case _:
                return self._request_expression(node, hint)

    def _list_joined(self, inner: Node, hint: str) -> str | None:
        match inner:
            case Sequence(items=(Scalar(text=separator), Sequence(items=parts))):
                return _unqualify(separator.join(self.to_text(one, hint) for one in parts))
            case _:
                return None

    def _split(self, inner: Node, hint: str) -> list[str] | None:
        """Split a text that is known before the deploy."""
        match inner:
            case Sequence(items=(Scalar(text=separator), source)) if separator:
                text = self.to_text(source, hint)
                return None if "${" in text else text.split(separator)
            case _:
                return None

    def refer(self, name: str, attribute: str = "") -> str:
        """Return the text for `Ref` (without an attribute) or `Fn::GetAtt`."""
        known = f"{name}.{attribute}" if attribute else name
        texts = {
            **_PSEUDO,
            "AWS::StackName": f"{self.names.service}-${{stage}}",
            **self.names.parameters,
            **self.names.texts,
        }
        if known in texts:
            return texts[known]
        if name in self.names.functions:
            return self._refer_function(name, attribute)
        if name not in self.names.resources:
            raise NotCarriedError(self.names.describe(name))
        if attribute in _SECRET_ATTRIBUTES:
            reason = f"`{attribute}` of `{name}` is a secret, which an output of a stack would show"
            raise NotCarriedError(reason, "read it in the function with the SDK of AWS")
        if not attribute:
            return self._requests.request(f"{name}Ref", build_function("Ref", name))
        value = build_function("Fn::GetAtt", f"{name}.{attribute}")
        return self._requests.request(f"{name}{attribute}", value)

    def _refer_function(self, name: str, attribute: str) -> str:
        if attribute not in ("", "Arn"):
            raise NotCarriedError(f"attribute `{attribute}` of a function")
        if attribute:
            self.names.aliased.add(name)
        return f"${{function:{self.names.functions[name]}.{'arn' if attribute else 'name'}}}"

    def _substitute(self, inner: Node, hint: str) -> str:
        text, own = inner, EMPTY
        match inner:
            case Sequence(items=(first, Mapping() as given)):
                text, own = first, given
            case _:
                pass
        if not isinstance(text, Scalar):
            raise NotCarriedError("`Fn::Sub` without a text")
        values = {one.key: self.to_text(one.value, hint + one.key) for one in own.entries}

        def replace(found: re.Match[str]) -> str:
            if found[1] or _BINDING.fullmatch(found[2]):
                return f"${{{found[2]}}}"
            if found[2] in values:
                return values[found[2]]
            name, _, attribute = found[2].partition(".")
            return self.refer(name, attribute)

        return convert_dynamic(_unqualify(_SUBSTITUTED.sub(replace, text.text)))

    def _request_expression(self, node: Node, hint: str) -> str:
        """Let the stack evaluate a function that fabric does not know."""
        refuse_extensions(node)
        refuse_unknown_conditions(node, self.names.conditions)
        if _is_list(node):
            reason = "the items of the list are known only to CloudFormation"
            raise NotCarriedError(reason, "write each item in fabric.yml")
        if "AWS::NoValue" in list_names(node):
            raise NotCarriedError(
                "the value is set only under a condition", "set it with `stages` in fabric.yml"
            )
        own = list_names(node) & (self.names.functions.keys() | self.names.generated)
        if own:
            raise NotCarriedError(f"a function of CloudFormation with `{min(own)}`")
        return self._requests.request(hint, node)


def _unqualify(text: str) -> str:
    """Replace the ARN of an alias by that of its function, if a version or a pattern follows it."""
    return _QUALIFIED.sub(_FUNCTION_ARN, text)


_QUALIFIED = re.compile(r"\$\{function:(?P<name>[\w-]+)\.arn\}(?=[:*])")
_FUNCTION_ARN = (
    r"arn:${aws:partition}:lambda:${aws:region}:${aws:accountId}:function:"
    r"${function:\g<name>.name}"
)


def _is_list(node: Node) -> bool:
    """Return whether a value of a template is a list."""
    name = get_function(node)
    if name is None or not isinstance(node, Mapping):
        return isinstance(node, Sequence)
    inner = node.entries[0].value
    branches = inner.items[1:] if name == "Fn::If" and isinstance(inner, Sequence) else ()
    return name in _LISTS or any(map(_is_list, branches))


def refuse_unknown_conditions(node: Node, known: frozenset[str]) -> None:
    """Raise if a value depends on a condition that the template does not have."""
    unknown = [one for one in _list_conditions(node) if one not in known]
    if unknown:
        raise NotCarriedError(f"the condition `{unknown[0]}` is not in the file")


def _list_conditions(node: Node) -> Iterator[str]:
    if isinstance(node, Sequence):
        for item in node.items:
            yield from _list_conditions(item)
    for entry in node.entries if isinstance(node, Mapping) else ():
        match entry.key, entry.value:
            case "Condition", Scalar(text=text):
                yield text
            case "Fn::If", Sequence(items=(Scalar(text=text), *_)):
                yield text
            case _:
                pass
        yield from _list_conditions(entry.value)


def is_extension(key: str) -> bool:
    """Return whether a key is a function that CloudFormation has only with a transform."""
    return key.startswith(_EXTENDED)


def refuse_extensions(node: Node) -> None:
    """Raise if a value needs the transform AWS::LanguageExtensions."""
    if isinstance(node, Sequence):
        for item in node.items:
            refuse_extensions(item)
    for entry in node.entries if isinstance(node, Mapping) else ():
        if is_extension(entry.key):
            name = entry.key.partition("::")[2].partition("::")[0]
            reason = f"`Fn::{name}` needs the transform AWS::LanguageExtensions"
            raise NotCarriedError(reason, "write out the values")
        refuse_extensions(entry.value)


# Types of parameters whose value is the name of a parameter of SSM.
SSM_VALUE = "AWS::SSM::Parameter::Value<"
NO_VALUE = "AWS::NoValue"


def is_no_value(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None and node.text == NO_VALUE


def get_function(node: Node) -> str | None:
    """Return the name of a function of CloudFormation, or None for other values."""
    if not isinstance(node, Mapping) or len(node.entries) != 1:
        return None
    key = node.entries[0].key
    return key if key == "Ref" or key.startswith("Fn::") else None


def split_attribute(inner: Node) -> tuple[str, str]:
    """Return the logical id and the attribute of `Fn::GetAtt`."""
    match inner:
        case Scalar(text=text):
            name, _, attribute = text.partition(".")
            return name, attribute
        case Sequence(items=(Scalar(text=name), Scalar(text=attribute))):
            return name, attribute
        case _:
            raise NotCarriedError("`Fn::GetAtt` without a name and an attribute")


def build_function(name: str, text: str) -> Node:
    return Mapping((KeyValue(name, 0, 0, Scalar(text, text, 0, 0)),), 0, 0)


def convert_dynamic(text: str) -> str:
    """Convert dynamic references, such as `{{resolve:ssm:/a:1}}`."""

    def replace(found: re.Match[str]) -> str:
        kind, rest = found.groups()
        if kind != "secretsmanager":
            return f"${{ssm:{rest}}}"
        name, _, more = rest.partition(":SecretString")
        key = more.lstrip(":").partition(":")[0]
        return f"${{secretsmanager:{name}{'#' + key if key else ''}}}"

    return _RESOLVE.sub(replace, text)


def list_names(node: Node) -> frozenset[str]:
    """List the logical ids that a value refers to."""
    return frozenset(_list_names(node))


def list_ids(node: Node) -> frozenset[str]:
    """List the logical ids, without attributes that only AWS SAM knows, such as `Api.Stage`."""
    return frozenset(one.partition(".")[0] for one in _list_names(node))


def _list_names(node: Node) -> Iterator[str]:
    if isinstance(node, Sequence):
        for item in node.items:
            yield from _list_names(item)
    for entry in node.entries if isinstance(node, Mapping) else ():
        yield from _list_entry_names(entry.key, entry.value)


def _list_entry_names(key: str, value: Node) -> Iterator[str]:
    match key, value:
        case "Ref" | "DependsOn" | "Condition", Scalar(text=text):
            yield text
        case "DependsOn", Sequence(items=items):
            yield from (one.text for one in items if isinstance(one, Scalar))
        case "Fn::GetAtt", _:
            yield _split_name(value)
        case "Fn::Sub", _:
            yield from _list_substituted(value)
        case _:
            yield from _list_names(value)


def _split_name(value: Node) -> str:
    try:
        return split_attribute(value)[0]
    except NotCarriedError:
        return ""


def _list_substituted(value: Node) -> Iterator[str]:
    text, own = value, EMPTY
    match value:
        case Sequence(items=(first, Mapping() as given)):
            text, own = first, given
        case _:
            pass
    names = {one.key for one in own.entries}
    if isinstance(text, Scalar):
        for found in _SUBSTITUTED.finditer(text.text):
            if not found[1] and found[2] not in names and not _BINDING.fullmatch(found[2]):
                yield found[2].partition(".")[0]
    if isinstance(value, Sequence):
        yield from _list_names(value)


def _with_text(node: Scalar, text: str) -> Scalar:
    return node if text == node.text else node._replace(value=text, text=text)


def convert_at(intrinsics: Intrinsics, at: At, hint: str = "Value") -> At:
    """Convert the functions in a value of the source."""
    return at if at.node is None else at._replace(node=intrinsics.convert(at.node, hint))
