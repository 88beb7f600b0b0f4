"""The stacks of a service: parsed from `extensions.cloud1-lambda.stack`, and their rules."""

import contextlib
import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from fabric.config.resolve.binding_scope import BindingScope, ReadText
from fabric.config.resolve.stages import is_protected, list_named_entries, list_overlays
from fabric.config.schema.check import Finding
from fabric.config.schema.stacks import PHASES, STACK
from fabric.config.sections import Section, find_json
from fabric.config.template import find_template, list_texts
from fabric.config.triggers import list_typed_triggers
from fabric.config.values import Stack, StackPolicy, Template
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, Scalar, find_child, place_of
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.catalog import find_provider_facts
from fabric.model.late_values import (
    OWN_API,
    STACK_OUTPUT,
    find_late_names,
    find_url_owner,
    late_value_problem,
)
from fabric.model.names import TriggerKind
from fabric.model.problems import FabricError, Problem
from fabric.model.text.spelling import suggest_spelling

_POLICY = Section(StackPolicy, STACK)
_STACK = Section(
    Stack,
    STACK,
    keys={"imports": "import"},
    readers={"imports": find_json},
    given=("phase", "template", "policy", "name"),
)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,127}")
_RESERVED = ("aws:", "fabric:")
_OF_IAM = frozenset(
    f"AWS::IAM::{one}"
    for one in (
        *("AccessKey", "Group", "InstanceProfile", "ManagedPolicy", "Policy", "Role", "User"),
        "UserToGroupAddition",
    )
)
_CUSTOM = ("Custom::", "AWS::CloudFormation::CustomResource")


def list_stack_nodes(root: Node) -> Iterator[tuple[str, Mapping]]:
    """List the stacks of the chosen provider, each with its phase."""
    provider = read.read_text(find_child(root, "provider"), "name")
    facts = find_provider_facts(provider)
    if facts is None or not facts.traits.deploys_stacks:
        return
    for phase in PHASES:
        node = find_child(root, "extensions", provider, "stack", phase)
        if isinstance(node, Mapping):
            yield phase, node


def parse_stacks(root: Mapping, scope: BindingScope) -> tuple[Stack, ...]:
    return tuple(_parse_stack(root, scope, phase, node) for phase, node in list_stack_nodes(root))


def _parse_stack(root: Mapping, scope: BindingScope, phase: str, node: Mapping) -> Stack:
    suffix = "" if phase == "before" else f"-{phase}"
    default = f"{read.read_text(root, 'service')}-{scope.stage}{suffix}".replace("_", "-")
    return _STACK.read(
        node,
        phase=phase,
        name=read.read_text(node, "name", default),
        template=_find_template(node, scope.read_text) or Template(""),
        policy=_POLICY.read(node),
    )


def _find_template(node: Mapping, read_file: ReadText) -> Template | None:
    with contextlib.suppress(FabricError):
        return find_template(find_child(node, "template"), read_file)
    return None


def check_stacks(root: Mapping, scope: BindingScope) -> Iterator[Finding]:
    """Check the stacks, and that every output that the config uses exists."""
    nodes = dict(list_stack_nodes(root))
    yield from _check_protected_mode(root, scope.stage)
    for phase, node in nodes.items():
        yield from _check_template(phase, node, scope.read_text)
        yield from _check_names(root, scope, phase, node)
        yield from _check_own_outputs(phase, node)
    yield from _check_same_name(root, scope, nodes)
    before = nodes.get("before")
    known = _find_template(before, scope.read_text) if before else None
    yield from _check_own_api(root, nodes.get("after"))
    if before is None or known is not None:
        yield from _check_outputs(root, known)


def _check_protected_mode(root: Mapping, stage: str) -> Iterator[Finding]:
    """Check that a protected stage has express mode only if the stage itself sets it: a failed
    express deploy can need a manual repair."""
    if not is_protected(root, stage):
        return
    overlays = list_overlays(root, stage)
    provider = read.read_text(find_child(root, "provider"), "name")
    for phase, node in list_stack_nodes(root):
        keys = ("extensions", provider, "stack", phase, "mode")
        is_set_there = any(find_child(one, *keys) is not None for one in overlays)
        mode = find_child(node, "mode")
        if mode is not None and read.read_text(node, "mode") == "express" and not is_set_there:
            message = f"`stack.{phase}.mode: express` is not set in the protected stage `{stage}`"
            hint = f"set it below `stages.{stage}.extensions.{provider}.stack.{phase}`"
            yield _error("config/stack", message, hint, mode)


def _check_template(phase: str, node: Mapping, read_file: ReadText) -> Iterator[Finding]:
    template = find_child(node, "template")
    if template is None:
        # An overlay of a stage can omit it, so the shape does not require it.
        yield _error("config/missing-key", f"`stack.{phase}.template` is required", "", node)
        return
    try:
        found = find_template(template, read_file)
    except FabricError as error:
        for one in error.problems:
            yield Finding(replace(one, where=place_of(template), frame=""))
        return
    yield from _check_express(node, found)
    yield from _check_capabilities(phase, node, found)
    yield from _check_imports(node, found)
    yield from _check_parameters(phase, node, found)
    known = {one.id for one in found.resources}
    allowed = find_child(node, "allowReplace")
    for leaf in list_texts(allowed):
        text = format_excerpt(leaf.text)
        if not re.fullmatch("[A-Za-z0-9]+", leaf.text):
            hint = f"use the name of a resource, such as `{min(known)}`"
            yield _error("config/stack", f"`{text}` is not a logical id", hint, leaf)
        elif leaf.text not in known and not found.is_open:
            # It can be one that this deploy deletes: that is still in the stack.
            message = f"`{text}` of `allowReplace` is not a resource of the template"
            hint = suggest_spelling(leaf.text, known) or "correct it, or remove it after the deploy"
            problem = Problem("config/stack", message, hint, place_of(leaf))
            yield Finding(problem, is_fatal=False)


def _check_parameters(phase: str, node: Mapping, template: Template) -> Iterator[Finding]:
    """Check that the template has each parameter, and that each without a default has a value."""
    given = find_child(node, "parameters")
    entries = given.entries if isinstance(given, Mapping) else ()
    known = template.parameters
    for entry in entries:
        if entry.key not in known:
            message = f"`{format_excerpt(entry.key)}` is not a parameter of the template"
            listed = f"use one of {', '.join(known[:12])}" if known else "remove it"
            hint = suggest_spelling(entry.key, known) or listed
            yield _error("config/stack", message, hint, entry.value)
    missing = [one for one in template.required if one not in {each.key for each in entries}]
    if missing:
        message = f"parameter `{missing[0]}` of the template has no value"
        hint = f"set `stack.{phase}.parameters.{missing[0]}`, or add a `Default` to the template"
        yield _error("config/stack", message, hint, given or node)


def _check_capabilities(phase: str, node: Mapping, template: Template) -> Iterator[Finding]:
    """Check that a template with IAM resources has a capability, which AWS requires."""
    one = next((one for one in template.resources if one.type in _OF_IAM), None)
    if one is not None and find_child(node, "capabilities") is None:
        message = f"`{one.id}` ({one.type}) requires a capability"
        hint = f"set `stack.{phase}.capabilities: [CAPABILITY_NAMED_IAM]`"
        yield _error("config/stack", message, hint, find_child(node, "template") or node)


def _check_express(node: Mapping, template: Template) -> Iterator[Finding]:
    """Check that the template has nothing that AWS refuses in express mode."""
    mode = find_child(node, "mode")
    if mode is None or read.read_text(node, "mode") != "express":
        return
    hint = "remove `mode: express`"
    for one in template.resources:
        if one.type.startswith(_CUSTOM):
            message = f"`{one.id}` is a custom resource, which AWS does not support in express mode"
            yield _error("config/stack", message, hint, mode)
    if template.is_open:
        message = "the template has a transform, which AWS does not support in express mode"
        yield _error("config/stack", message, hint, mode)


def _check_imports(node: Mapping, template: Template) -> Iterator[Finding]:
    """Check that each resource to import is in the template, and is kept if it is deleted there."""
    known = {one.id: one for one in template.resources}
    imports = find_child(node, "import")
    for entry in imports.entries if isinstance(imports, Mapping) else ():
        found = known.get(entry.key)
        if found is None:
            message = f"`{format_excerpt(entry.key)}` is not a resource of the template"
            listed = f"use one of {', '.join(sorted(known)[:12])}"
            hint = suggest_spelling(entry.key, known) or listed
            yield _error("config/stack", message, hint, entry.value)
        elif not found.has_deletion_policy:
            message = f"`{entry.key}` has no `DeletionPolicy`, which AWS requires for an import"
            hint = "add `DeletionPolicy: Retain` to the resource"
            yield _error("config/stack", message, hint, entry.value)


def _check_names(
    root: Mapping, scope: BindingScope, phase: str, node: Mapping
) -> Iterator[Finding]:
    name = _parse_stack(root, scope, phase, node).name
    if not _NAME.fullmatch(name) and not find_late_names(name):
        message = f"invalid name of a stack: `{format_excerpt(name)}`"
        hint = "use letters, digits and `-`, at most 128, starting with a letter"
        yield _error("config/stack", message, hint, find_child(node, "name") or node)
    tags = find_child(node, "tags")
    for entry in tags.entries if isinstance(tags, Mapping) else ():
        if entry.key.startswith(_RESERVED):
            message = f"the tag `{format_excerpt(entry.key)}` has a reserved prefix"
            yield _error("config/stack", message, "use another name", entry.value)


def _check_same_name(
    root: Mapping, scope: BindingScope, nodes: dict[str, Mapping]
) -> Iterator[Finding]:
    """Check that the stacks have two names: the second would replace the resources of the first."""
    phases = {_parse_stack(root, scope, phase, node).name: phase for phase, node in nodes.items()}
    if len(phases) < len(nodes):
        [(name, phase)] = phases.items()
        message = f"both stacks have the name `{format_excerpt(name)}`"
        hint = f"use another name for `stack.{phase}`, or remove the name"
        yield _error(
            "config/stack", message, hint, find_child(nodes[phase], "name") or nodes[phase]
        )


def _check_own_outputs(phase: str, node: Mapping) -> Iterator[Finding]:
    """Check that only parameters use late values, and outputs only in those of `after`."""
    for entry in node.entries:
        for leaf in list_texts(entry.value):
            for name in find_late_names(leaf.text):
                is_known = phase == "after" or not name.startswith((STACK_OUTPUT, OWN_API))
                if entry.key != "parameters" or not is_known:
                    found = late_value_problem(f"stack.{phase}.{entry.key}", name)
                    hint = "use late values only in `parameters`, and outputs in those of `after`"
                    yield _error(found.code, found.message, hint, leaf)


def _check_own_api(root: Mapping, after: Mapping | None) -> Iterator[Finding]:
    """Check that the service has the API, and the functions the URLs, that the parameters use."""
    functions = list_named_entries(find_child(root, "functions"))
    triggers = {one for _, item in functions for one, _ in list_typed_triggers(item)}
    for leaf in list_texts(find_child(after, "parameters")):
        for name in find_late_names(leaf.text):
            owner = find_url_owner(name)
            if owner:
                yield from _check_function_url(functions, owner, leaf)
            elif name.startswith(OWN_API) and TriggerKind.HTTP not in triggers:
                message = f"`${{{name}}}` needs an API, and no function has an `http` trigger"
                hint = "add a trigger of the type `http`, or remove the parameter"
                yield _error("config/unresolved-reference", message, hint, leaf)


def _check_function_url(
    functions: Sequence[tuple[str, Mapping]], owner: str, leaf: Scalar
) -> Iterator[Finding]:
    shown = f"`${{function:{owner}.url}}`"
    known = dict(functions)
    message = f"{shown} is not a function of this service"
    hint = suggest_spelling(owner, known) or f"use one of {', '.join([*known][:12])}"
    if owner in known:
        url = find_child(known[owner], "url")
        if url is not None and getattr(url, "value", True) is not False:
            return
        message = f"{shown} needs the setting `url` of the function"
        hint = f"add `url: true` to the function `{owner}`"
    yield _error("config/unresolved-reference", message, hint, leaf)


def _check_outputs(root: Mapping, template: Template | None) -> Iterator[Finding]:
    for leaf in list_texts(root):
        for late in find_late_names(leaf.text):
            name = late.removeprefix(STACK_OUTPUT)
            if name == late or (template and (template.is_open or name in template.outputs)):
                continue
            message = f"`${{{late}}}` is not an output of `stack.before`"
            hint = "add `extensions.cloud1-lambda.stack.before` with a template"
            if template:
                listed = ", ".join(template.outputs[:12])
                hint = f"use one of {listed}" if listed else "add `Outputs` to the template"
            yield _error("config/unresolved-reference", message, hint, leaf)


def _error(code: str, message: str, hint: str, node: Node) -> Finding:
    where = place_of(node) if isinstance(node, Scalar | Mapping) else None
    return Finding(Problem(code, message, hint, where))
