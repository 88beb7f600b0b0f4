"""The resources of a source as CloudFormation stacks before and after the functions.

Resources that name a function belong to the stack after the release, with everything that names
them. All others belong to the stack before the functions. Values that only fabric knows become
parameters of the stack.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from fabric.config.yaml.nodes import KeyValue, Mapping, Node, Scalar, Sequence
from fabric.importing.credential_names import is_credential_name
from fabric.importing.intrinsics import (
    Intrinsics,
    LogicalNames,
    NotCarriedError,
    OutputRequests,
    build_function,
    get_function,
    list_ids,
    list_names,
    refuse_extensions,
    refuse_unknown_conditions,
    split_attribute,
)
from fabric.importing.source import At, Ledger
from fabric.model.problems import FabricError, Problem
from fabric.scaffold.yaml_text import build_tree

_BINDINGS = re.compile(
    r"\$\{(?:stage|(?:env|param|ssm|cfn(?:\([^{}()]*\))?|secretsmanager|file|aws|tf|stack|function)"
    r":(?!:)[^{}]*)\}"
)
_PLAIN_REFERENCE = re.compile(r"\$\{(?=[A-Za-z])")
_SUBSTITUTED = re.compile(r"\$\{([A-Za-z0-9]+|AWS::StackName)(?:\.([A-Za-z0-9.]+))?\}")
# Types that name the function that they are about by its ARN with the alias.
_BY_ARN = ("AWS::Lambda::Permission", "AWS::Lambda::EventSourceMapping")
_IAM = (
    "AWS::IAM::Role",
    "AWS::IAM::User",
    "AWS::IAM::Group",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::InstanceProfile",
)
_NAMED = ("RoleName", "UserName", "GroupName", "ManagedPolicyName", "InstanceProfileName")
# Types that name an API and change nothing in it.
_BESIDE_API = (
    *("AWS::ApiGateway::BasePathMapping", "AWS::ApiGateway::UsagePlan"),
    *("AWS::ApiGatewayV2::ApiMapping", "AWS::ApiGateway::BasePathMappingV2"),
)
_SECTIONS = ("Mappings", "Conditions", "Rules", "Metadata")
_DYNAMIC = re.compile(r"\{\{resolve:")


class StackTemplate(Struct, frozen=True):
    """One template, with the values of its parameters and the capabilities that it requires."""

    root: Mapping
    parameters: dict[str, str]
    capabilities: tuple[str, ...] = ()


class Split(Struct, frozen=True):
    """The logical ids of both stacks."""

    before: frozenset[str]
    after: frozenset[str]


# Types that name a function only by its ARN, which is known before the function exists.
_NAME_ONLY = (
    *("AWS::StepFunctions::StateMachine", "AWS::IAM::Role", "AWS::IAM::Policy"),
    *("AWS::IAM::ManagedPolicy", "AWS::Events::Rule", "AWS::Scheduler::Schedule"),
    *("AWS::SNS::Topic", "AWS::CloudWatch::Alarm", "AWS::SSM::Parameter", "AWS::SNS::Subscription"),
)


def split_resources(resources: Iterable[At], names: LogicalNames, used: frozenset[str]) -> Split:
    """Decide which stack each resource belongs to, by the direction of references.

    A resource that functions use stays before them if it needs only their ARNs.
    """
    listed = {one.key: one for one in resources if one.node is not None}
    found = {key: list_ids(one.node) for key, one in listed.items() if one.node is not None}
    needed = _follow(used & listed.keys(), found)
    early = {key for key in needed if _read_type(listed[key]) in _NAME_ONLY}
    early -= {key for key in early if found[key] & names.apis}
    late = names.functions.keys() | names.apis | names.log_groups.keys() | names.urls.keys()
    after = {key for key, one in found.items() if one & late} - early
    while new := {key for key, one in found.items() if key not in after and one & after} - early:
        after |= new
    return Split(frozenset(listed.keys() - after), frozenset(after))


def _follow(start: Iterable[str], found: dict[str, frozenset[str]]) -> set[str]:
    """Find everything that resources need."""
    seen: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += [one for one in found.get(name, ()) if one in found]
    return seen


class TemplateBuilder:
    """Builds the template of one stack from parts of a source."""

    def __init__(
        self,
        names: LogicalNames,
        ledger: Ledger,
        own: frozenset[str],
        others: frozenset[str] | None,
        sections: Mapping,
    ) -> None:
        self._names = names
        self._ledger = ledger
        self._own = own
        # Resources of the stack that is deployed before; None in that stack itself.
        self._others = others or frozenset[str]()
        self._is_late = others is not None
        self._sections = sections
        self._parameters: dict[str, str] = {}
        self._declared: dict[str, Node] = {}
        # Outputs of the other stack that this one uses.
        self.requests = OutputRequests()
        self._intrinsics = Intrinsics(names, self.requests)

    def build(
        self, resources: Iterable[At], outputs: dict[str, Node], kept: Iterable[At]
    ) -> StackTemplate | None:
        """Build the template. Resources that cannot be carried are reported."""
        entries = [entry for one in resources if (entry := self._build_resource(one)) is not None]
        if not entries:
            return None
        conditions = {one.key: text for one in resources if (text := one.get("Condition").text)}
        made = [
            KeyValue(name, 0, 0, self._build_requested(value, conditions))
            for name, value in outputs.items()
        ]
        made += [
            entry
            for one in kept
            if (entry := self._build_output(one)) is not None and one.key not in outputs
        ]
        body = [KeyValue("Resources", 0, 0, Mapping(tuple(entries), 0, 0))]
        if made:
            body.append(KeyValue("Outputs", 0, 0, Mapping(tuple(made), 0, 0)))
        sections = self._list_used_sections(body)
        head = [
            KeyValue(
                "Parameters", 0, 0, Mapping(tuple(self._list_parameters(body, sections)), 0, 0)
            )
        ]
        root = Mapping(
            (*(one for one in head if one.value != Mapping((), 0, 0)), *sections, *body), 0, 0
        )
        return StackTemplate(root, self._parameters, _list_capabilities(entries))

    def _build_resource(self, at: At) -> KeyValue | None:
        try:
            node = at.node or Mapping((), 0, 0)
            refuse_extensions(node)
            refuse_unknown_conditions(node, self._names.conditions)
            value = self._rewrite(node, _read_type(at))
        except NotCarriedError as error:
            self._ledger.lose(at, error.reason, error.hint)
            return None
        self._ledger.carry(at)
        return KeyValue(at.key, at.line, at.column, _remove_foreign_depends(value, self._own))

    def _build_requested(self, value: Node, conditions: dict[str, str]) -> Node:
        """Build an output, under the conditions of the resources that it names."""
        found = () if _has_choice(value) else sorted(list_names(value) & conditions.keys())
        first, *others = [*dict.fromkeys(conditions[one] for one in found)] or [""]
        made = self._rewrite(value)
        for one in others:
            parts = (build_tree(one), made, build_tree(""))
            made = Mapping((KeyValue("Fn::If", 0, 0, Sequence(parts, 0, 0)),), 0, 0)
        entry = KeyValue("Value", 0, 0, made)
        if not first:
            return Mapping((entry,), 0, 0)
        return Mapping((KeyValue("Condition", 0, 0, build_tree(first)), entry), 0, 0)

    def _build_output(self, at: At) -> KeyValue | None:
        if at.node is None or not self._takes_output(at, list_names(at.node)):
            return None
        try:
            value = self._rewrite(at.node)
        except NotCarriedError:
            return None
        self._ledger.carry(at)
        return KeyValue(at.key, at.line, at.column, value)

    def _takes_output(self, at: At, names: frozenset[str]) -> bool:
        """Return whether an output belongs to this stack. The later one has those of its resources,
        and exports, also with values that only fabric knows."""
        known = self._own | self._names.parameters.keys() | self._names.conditions
        if all(one in known or one.startswith("AWS::") for one in names):
            return True
        return self._is_late and (bool(names & self._own) or not at.get("Export").is_missing)

    def _rewrite(self, node: Node, kind: str = "") -> Node:
        """Replace values that the template cannot know by parameters."""
        if isinstance(node, Scalar):
            return self._rewrite_text(node)
        if isinstance(node, Sequence):
            return node._replace(items=tuple(self._rewrite(one, kind) for one in node.items))
        match get_function(node):
            case "Ref" if isinstance(inner := node.entries[0].value, Scalar):
                return self._rewrite_reference(node, inner.text, kind)
            case "Fn::GetAtt":
                return self._refer(node, *split_attribute(node.entries[0].value))
            case "Fn::Sub":
                return self._rewrite_substitution(node, kind)
            case _:
                entries = (
                    one._replace(value=self._rewrite(one.value, kind)) for one in node.entries
                )
                return node._replace(entries=tuple(entries))

    def _refer(self, node: Node, name: str, attribute: str) -> Node:
        if name == "AWS::StackName" and self._is_late:
            # The name of the other stack, which is that of the source.
            binding = self._intrinsics.refer(name)
            return build_function("Ref", self._add_parameter("SourceStackName", binding))
        if name.startswith("AWS::") or name in self._own:
            return node
        if name in self._names.parameters:
            self._pass_parameter(name)
            return node
        if name in self._names.urls and attribute == "FunctionUrl":
            return self._refer_late(
                name, f"{name}{attribute}", f"${{function:{self._names.urls[name]}.url}}"
            )
        if name in self._names.resources and name not in self._others:
            raise NotCarriedError(f"`{name}`, which it names, is not carried")
        binding = self._intrinsics.refer(name, attribute)
        return build_function("Ref", self._add_parameter(f"{name}{attribute or 'Ref'}", binding))

    def _rewrite_reference(self, node: Node, name: str, kind: str) -> Node:
        if name in self._names.apis:
            return self._refer_api(name, kind)
        is_arn = kind in _BY_ARN and name in self._names.functions
        return self._refer(node, name, "Arn" if is_arn else "")

    def _refer_api(self, name: str, kind: str) -> Node:
        """Refer to the API of the service, which a release replaces with all its parts."""
        if kind.startswith("AWS::ApiGateway") and kind not in _BESIDE_API:
            raise NotCarriedError(f"`{kind}` changes the API, which fabric imports as a whole")
        return self._refer_late(name, "ApiId", "${api:id}")

    def _refer_late(self, name: str, parameter: str, binding: str) -> Node:
        """Refer to a value that exists after the release."""
        if not self._is_late:
            raise NotCarriedError(self._names.describe(name))
        return build_function("Ref", self._add_parameter(parameter, binding))

    def _rewrite_substitution(self, node: Mapping, kind: str) -> Node:
        inner = node.entries[0].value
        text = inner.items[0] if isinstance(inner, Sequence) and inner.items else inner
        given = (
            inner.items[1]
            if isinstance(inner, Sequence) and len(inner.items) > 1
            else Mapping((), 0, 0)
        )
        if not isinstance(text, Scalar):
            raise NotCarriedError("`Fn::Sub` without a text")
        own = {one.key for one in given.entries} if isinstance(given, Mapping) else set()

        def replace(found: re.Match[str]) -> str:
            name, attribute = found[1], found[2] or ""
            if name in own or name in self._own or name in self._declared:
                return found[0]
            is_api = name in self._names.apis and not attribute
            made = self._refer_api(name, kind) if is_api else self._refer(node, name, attribute)
            if made is node:
                return found[0]
            return f"${{{_get_reference(made)}}}"

        with_parameters = self._replace_bindings(text.text)
        new = Scalar(
            changed := _SUBSTITUTED.sub(replace, with_parameters), changed, text.line, text.column
        )
        value: Node = new
        if isinstance(inner, Sequence):
            value = inner._replace(
                items=(new, *(self._rewrite(one, kind) for one in inner.items[1:]))
            )
        return node._replace(entries=(node.entries[0]._replace(value=value),))

    def _rewrite_text(self, node: Scalar) -> Node:
        """A text with bindings becomes `Fn::Sub` or `Ref` of parameters."""
        if not isinstance(node.value, str) or not _BINDINGS.search(node.text):
            return node
        if _BINDINGS.fullmatch(node.text):
            return build_function("Ref", self._add_binding(node.text))
        parts: list[str] = []
        position = 0
        for found in _BINDINGS.finditer(node.text):
            parts.append(_PLAIN_REFERENCE.sub("${!", node.text[position : found.start()]))
            parts.append(f"${{{self._add_binding(found[0])}}}")
            position = found.end()
        parts.append(_PLAIN_REFERENCE.sub("${!", node.text[position:]))
        return build_function("Fn::Sub", "".join(parts))

    def _replace_bindings(self, text: str) -> str:
        return _BINDINGS.sub(lambda found: f"${{{self._add_binding(found[0])}}}", text)

    def _add_binding(self, binding: str) -> str:
        inside = binding[2:-1].partition(",")[0]
        if inside.startswith("aws:"):
            return {"region": "AWS::Region", "accountId": "AWS::AccountId"}.get(
                inside[4:], "AWS::Partition"
            )
        words = re.split(r"[^A-Za-z0-9]+", inside.removeprefix("param:"))
        return self._add_parameter("".join(one[:1].upper() + one[1:] for one in words), binding)

    def _add_parameter(self, name: str, value: str) -> str:
        base, number = re.sub(r"[^A-Za-z0-9]", "", name), 2
        name = base
        while self._parameters.get(name, value) != value or name in self._own:
            name, number = f"{base}{number}", number + 1
        self._parameters[name] = value
        self._declared.setdefault(name, build_tree({"Type": "String"}))
        return name

    def _list_used_sections(self, body: list[KeyValue]) -> list[KeyValue]:
        """List the mappings and conditions of the source that the resources use."""
        text = repr(body)
        found = []
        for name in _SECTIONS:
            entry = next((one for one in self._sections.entries if one.key == name), None)
            if entry is not None and name in ("Mappings", "Conditions") and _is_used(entry, text):
                found.append(entry._replace(value=self._rewrite_section(entry)))
        return found

    def _rewrite_section(self, entry: KeyValue) -> Node:
        try:
            refuse_extensions(entry.value)
            return self._rewrite(entry.value)
        except NotCarriedError as error:
            message = f"`{entry.key}` of the template cannot be converted: {error.reason}"
            raise FabricError(Problem("import/unreadable", message, error.hint)) from error

    def _list_parameters(
        self, body: list[KeyValue], sections: list[KeyValue]
    ) -> Iterable[KeyValue]:
        """List the declarations: those of the source that are used, and new ones."""
        given = next((one.value for one in self._sections.entries if one.key == "Parameters"), None)
        own = {one.key: one for one in given.entries} if isinstance(given, Mapping) else {}
        used = {name for one in (*body, *sections) for name in list_names(one.value)}
        for name, entry in own.items():
            if name in used and name in self._names.parameters:
                self._pass_parameter(name)
                yield entry._replace(value=self._hide_parameter(name, entry.value))
        for name, node in self._declared.items():
            if name not in own:
                yield KeyValue(name, 0, 0, self._hide_parameter(name, node))

    def _pass_parameter(self, name: str) -> None:
        """Pass the value of a parameter. A default name of SSM stays in the template."""
        value = self._names.named.get(name, self._names.parameters[name])
        if value:
            self._parameters.setdefault(name, value)

    def _hide_parameter(self, name: str, node: Node) -> Node:
        """Let CloudFormation hide the value of a credential, which has no default."""
        if name in self._names.named:
            return node
        value = self._parameters[name]
        binding = _SECRET_BINDING.match(value)
        is_secret = binding is not None and (
            binding[1] == "secret" or is_credential_name(binding[2])
        )
        if not (is_secret or is_credential_name(name)) or not isinstance(node, Mapping):
            return node
        entries = [
            one
            for one in node.entries
            if one.key != "NoEcho" and not (one.key == "Default" and "${" in At(one.value).text)
        ]
        flag = KeyValue("NoEcho", node.line, node.column, _TRUE)
        return node._replace(entries=(*entries, flag))


_TRUE = Scalar(value=True, text="true", line=0, column=0)
# A secret, or a variable of the environment.
_SECRET_BINDING = re.compile(r"\$\{(secret|env):([A-Za-z0-9_.-]+)")


def _is_used(entry: KeyValue, text: str) -> bool:
    """Return whether one of the names in a section occurs in the resources."""
    entries = entry.value.entries if isinstance(entry.value, Mapping) else ()
    return any(repr(one.key) in text for one in entries)


def _has_choice(node: Node) -> bool:
    """Return whether a value depends on a condition, and can omit the resources that it names."""
    return "Fn::If" in repr(node)


def _read_type(at: At) -> str:
    return at.get("Type").text


def _get_reference(node: Node) -> str:
    inner = node.entries[0].value if isinstance(node, Mapping) else None
    return inner.text if isinstance(inner, Scalar) else ""


def _remove_foreign_depends(resource: Node, own: frozenset[str]) -> Node:
    """Remove dependencies on resources of the other stack, which is deployed before."""
    if not isinstance(resource, Mapping):
        return resource
    entries = []
    for entry in resource.entries:
        kept: Node | None = entry.value
        if entry.key == "DependsOn":
            names = At(entry.value).list_items()
            known = tuple(one.node for one in names if one.node is not None and one.text in own)
            kept = Sequence(known, entry.line, entry.column) if known else None
        if kept is not None:
            entries.append(entry._replace(value=kept))
    return resource._replace(entries=tuple(entries))


def _list_capabilities(resources: Iterable[KeyValue]) -> tuple[str, ...]:
    """List what CloudFormation requires for a template that creates roles."""
    kinds = {At(one.value).get("Type").text: At(one.value) for one in resources}
    found = [at for kind, at in kinds.items() if kind in _IAM or kind == "AWS::IAM::Policy"]
    if not found:
        return ()
    roles = [At(one.value) for one in resources if At(one.value).get("Type").text in _IAM]
    named = any(not one.get("Properties", key).is_missing for one in roles for key in _NAMED)
    return ("CAPABILITY_NAMED_IAM",) if named else ("CAPABILITY_IAM",)
