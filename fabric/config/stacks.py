"""The stacks of a service: parsed from `extensions.cloud1-lambda.stack`, and their rules."""

import contextlib
import re
from collections.abc import Iterator

from msgspec.structs import replace

from fabric.config.resolve.binding_scope import BindingScope, ReadText
from fabric.config.resolve.stages import list_named_entries
from fabric.config.schema.check import Finding
from fabric.config.schema.stacks import PHASES, STACK
from fabric.config.sections import Section
from fabric.config.template import find_template, list_texts
from fabric.config.values import Stack, StackPolicy, Template
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, Scalar, find_child, place_of
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.catalog import find_provider_facts
from fabric.model.late_values import OWN_ARNS, STACK_OUTPUT, find_late_names
from fabric.model.problems import FabricError, Problem

_POLICY = Section(StackPolicy, STACK)
_STACK = Section(Stack, STACK, given=("phase", "template", "policy", "name"))
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,127}")
_RESERVED = ("aws:", "fabric:")


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
    for phase, node in nodes.items():
        yield from _check_template(node, scope.read_text)
        yield from _check_names(root, scope, phase, node)
        yield from _check_own_outputs(phase, node)
    yield from _check_other_extensions(root)
    before = nodes.get("before")
    known = _find_template(before, scope.read_text) if before else None
    if before is None or known is not None:
        yield from _check_outputs(root, known)


def _check_template(node: Mapping, read_file: ReadText) -> Iterator[Finding]:
    template = find_child(node, "template")
    if template is None:
        return  # its absence is reported with the shape
    try:
        found = find_template(template, read_file)
    except FabricError as error:
        for one in error.problems:
            yield Finding(replace(one, where=place_of(template), frame=""))
        return
    known = {one.id for one in found.resources}
    allowed = find_child(node, "allowReplace")
    for leaf in list_texts(allowed):
        # A resource that was deleted from the template is still in the stack.
        if not re.fullmatch("[A-Za-z0-9]+", leaf.text):
            message = f"`{format_excerpt(leaf.text)}` is not a logical id"
            hint = f"use the name of a resource, such as `{min(known)}`"
            yield _error("config/stack", message, hint, leaf)


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


def _check_own_outputs(phase: str, node: Mapping) -> Iterator[Finding]:
    """Check that only the parameters of `after` use outputs, and only those of `before`."""
    for entry in node.entries:
        for leaf in list_texts(entry.value):
            names = find_late_names(leaf.text)
            is_own = all(one.startswith(STACK_OUTPUT) for one in names)
            if names and not (is_own and phase == "after" and entry.key == "parameters"):
                message = (
                    f"`stack.{phase}.{entry.key}` must be known before the run, but "
                    f"`{names[0]}` is known after a deploy"
                )
                hint = "use outputs of `stack.before` in the `parameters` of `stack.after`"
                yield _error("config/late-value", message, hint, leaf)


def _check_other_extensions(root: Mapping) -> Iterator[Finding]:
    """Check that no other extension uses outputs, because deployers read them before the run."""
    for provider, node in list_named_entries(find_child(root, "extensions")):
        for entry in node.entries:
            for leaf in list_texts(entry.value) if entry.key != "stack" else ():
                names = find_late_names(leaf.text)
                if any(one.startswith((STACK_OUTPUT, *OWN_ARNS)) for one in names):
                    message = (
                        f"`extensions.{provider}.{entry.key}` must be known before the run, but "
                        f"`{names[0]}` is known after a deploy"
                    )
                    hint = "use outputs of `stack.before` in `env`"
                    yield _error("config/late-value", message, hint, leaf)


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
