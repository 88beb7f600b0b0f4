"""Workflows with a definition in the Amazon States Language: parsed and checked.

Of the bindings only ARNs and names of own functions and workflows are filled in definition files.
Other values are `substitutions`.
"""

import contextlib
import json
import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec.structs import replace

from fabric.config.asl import check_machine
from fabric.config.resolve.binding_scope import BindingScope, ReadText
from fabric.config.resolve.stages import list_named_entries
from fabric.config.rules.function import check_schedule
from fabric.config.schema.check import Finding, unknown_key_finding
from fabric.config.schema.entries import WORKFLOW
from fabric.config.schema.shapes import ASIDE
from fabric.config.sections import Section, find_json
from fabric.config.template import list_texts
from fabric.config.triggers import list_typed_triggers, parse_function_triggers
from fabric.config.values import StateMachine
from fabric.config.yaml import read
from fabric.config.yaml.nodes import (
    Mapping,
    Node,
    Scalar,
    convert_to_plain,
    find,
    find_child,
    place_of,
)
from fabric.config.yaml.reader import read as read_tree
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.catalog import find_provider_facts
from fabric.model.late_values import OWN_ADDRESSES, find_late_names, format_placeholder
from fabric.model.names import TriggerKind
from fabric.model.problems import FabricError, Problem
from fabric.model.text.spelling import suggest_spelling

_CODE = "config/workflow"
_MACHINE = Section(
    StateMachine,
    WORKFLOW,
    readers={"permissions": find_json},
    given=("name", "definition", "triggers"),
)
_CLOSED = replace(WORKFLOW, is_open=False)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# The limit of Step Functions.
_LARGEST = 1_048_576
_OWN = re.compile(r"\$\{((?:function|workflow):[A-Za-z0-9_-]+\.(?:arn|name))\}")
SUBSTITUTED = re.compile(r"\$\{([A-Za-z0-9_]+)\}")
_OTHER = re.compile(r"\$\{([A-Za-z]+:[^{}\"]*)\}")


def _list_definitions(root: Node) -> Iterator[tuple[str, Mapping, Node]]:
    """List the entries with a definition, with their names."""
    for name, node in list_named_entries(find_child(root, "workflows")):
        definition = find_child(node, "definition")
        if definition is not None:
            yield name, node, definition


def _can_deploy(root: Node) -> bool:
    facts = find_provider_facts(read.read_text(find_child(root, "provider"), "name"))
    return facts is not None and facts.traits.deploys_machines


def parse_machines(root: Mapping, scope: BindingScope) -> tuple[StateMachine, ...]:
    """Parse the state machines; none if the provider does not deploy any."""
    if not _can_deploy(root):
        return ()
    return tuple(
        _MACHINE.read(
            node,
            name=name,
            definition=_encode_definition(definition, scope.read_text),
            triggers=parse_function_triggers(node),
        )
        for name, node, definition in _list_definitions(root)
    )


def _encode_definition(node: Node, read_file: ReadText) -> str:
    """Encode a definition as JSON, with placeholders for own addresses. Faults were reported."""
    with contextlib.suppress(FabricError):
        plain = convert_to_plain(_find_definition(node, read_file))
        text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False)
        return _OWN.sub(lambda found: format_placeholder(found[1]), text)
    return "{}"


def _find_definition(node: Node, read_file: ReadText) -> Node:
    """Find the tree of a definition. Raises a FabricError if it is not readable."""
    if not isinstance(node, Scalar):
        return node
    text = read_file(node.text)
    if text is None:
        message = f"the definition `{format_excerpt(node.text)}` does not exist"
        hint = "use a path relative to the directory of fabric.yml"
        raise FabricError(Problem("config/missing-file", message, hint))
    return _read_file(node.text, text)


# Rules and the parser read the same file.
@lru_cache(maxsize=32)
def _read_file(path: str, text: str) -> Node:
    try:
        root = read_tree(path, text.encode()).root
    except FabricError as error:
        raise FabricError(*(_name_place(one, path) for one in error.problems)) from error
    return root


def _name_place(one: Problem, path: str) -> Problem:
    """Name the place in the definition, because the problem itself is placed in the config."""
    line = one.where.line if one.where else 0
    return Problem(one.code, f"{_format_title(path, line)}: {one.message}", one.hint)


def _format_title(path: str, line: int) -> str:
    return f"definition `{format_excerpt(path)}`" + (f", line {line}" if line else "")


def check_workflows(root: Mapping, scope: BindingScope, *, has_own: bool) -> Iterator[Finding]:
    """Check the definitions, and that functions and workflows whose addresses are used exist.
    Without `has_own` the config itself uses none."""
    if not _can_deploy(root):
        yield from _warn_of_definitions(root)
    else:
        for name, node, definition in _list_definitions(root):
            yield from _check_keys(name, node)
            yield from _find_unknown_keys(name, node)
            yield from _check_definition(node, definition, scope.read_text)
            for kind, trigger in list_typed_triggers(node):
                if kind is TriggerKind.CRON:
                    yield from check_schedule(f"workflow `{format_excerpt(name)}`", trigger)
    if has_own or any(_list_definitions(root)):
        yield from _check_own_names(root, scope.read_text)


def _warn_of_definitions(root: Mapping) -> Iterator[Finding]:
    for name, node, _ in _list_definitions(root):
        entry = find(node, "definition")
        message = (
            f"the key `definition` in `workflows.{format_excerpt(name)}` is passed to the provider "
            "unchecked"
        )
        where = place_of(entry) if entry else None
        yield Finding(Problem("config/passed-on", message, where=where), is_fatal=False)


def _check_keys(name: str, node: Mapping) -> Iterator[Finding]:
    if not _NAME.fullmatch(name):
        message = f"invalid name of a workflow: `{format_excerpt(name)}`"
        hint = "use letters, digits, `-` and `_`, at most 64"
        yield _error(_CODE, message, hint, node)
    title = f"`workflows.{format_excerpt(name)}`"
    for one, other in (("definition", "steps"), ("permissions", "role")):
        if find(node, one) is not None and find(node, other) is not None:
            message = f"{title} has both `{one}` and `{other}`"
            yield _error(_CODE, message, "remove one of them", find_child(node, other) or node)


def _find_unknown_keys(name: str, node: Mapping) -> Iterator[Finding]:
    """Find keys that nothing reads. Those of workflows without a definition are passed on."""
    for entry in node.entries:
        if entry.key not in _CLOSED.index and not entry.key.startswith(ASIDE):
            yield unknown_key_finding(_CLOSED, entry, ("workflows", name))


def _check_definition(node: Mapping, definition: Node, read_file: ReadText) -> Iterator[Finding]:
    path = definition.text if isinstance(definition, Scalar) else ""
    try:
        machine = _find_definition(definition, read_file)
    except FabricError as error:
        for one in error.problems:
            yield _error(one.code, one.message, one.hint, definition)
        return
    for fault in check_machine(machine):
        title = _format_title(path, fault.node.line) if path else "definition"
        at = f"`{format_excerpt(fault.path.rstrip('.'), 160)}`" if fault.path else "the machine"
        message = f"{title}: {at} {fault.why}"
        problem = Problem(_CODE, message, fault.hint, place_of(definition if path else fault.node))
        yield Finding(problem)
    text = read.encode_node(machine)
    if len(text.encode()) > _LARGEST:
        message = f"the definition has {len(text.encode()):,} bytes"
        yield _error(_CODE, message, f"the maximum is {_LARGEST:,} bytes", definition)
    yield from _check_substitutions(node, definition, machine)


def _check_substitutions(node: Mapping, definition: Node, machine: Node) -> Iterator[Finding]:
    path = definition.text if isinstance(definition, Scalar) else ""
    given = {name for name, _ in read.read_pairs(node, "substitutions")}
    for leaf in list_texts(machine):
        where = definition if path else leaf
        title = f"{_format_title(path, leaf.line)}: " if path else ""
        for name in SUBSTITUTED.findall(leaf.text):
            if name not in given:
                message = f"{title}`${{{name}}}` is not in `substitutions`"
                hint = suggest_spelling(name, given) or f"add `substitutions: {{{name}: …}}`"
                yield _error(_CODE, message, hint, where)
        for name in _OTHER.findall(leaf.text) if path else ():
            if not _OWN.fullmatch(f"${{{name}}}"):
                message = f"{title}`${{{format_excerpt(name)}}}` is not filled in a definition file"
                kind = name.partition(":")[0]
                is_own = name.startswith(OWN_ADDRESSES)
                hint = f"write ${{{kind}:NAME.arn}} or ${{{kind}:NAME.name}}"
                hint = hint if is_own else "add the binding to `substitutions`, and use its name"
                yield _error(_CODE, message, hint, where)


def _check_own_names(root: Mapping, read_file: ReadText) -> Iterator[Finding]:
    """Check that the functions and workflows of bindings such as `${function:NAME.arn}` exist."""
    functions = [name for name, _ in list_named_entries(find_child(root, "functions"))]
    machines = [name for name, _, _ in _list_definitions(root)] if _can_deploy(root) else []
    known = {"function": functions if _can_deploy(root) else [], "workflow": machines}
    leaves = [(leaf, leaf, find_late_names(leaf.text)) for leaf in list_texts(root)]
    for _, _, definition in _list_definitions(root):
        if isinstance(definition, Scalar) and _can_deploy(root):
            with contextlib.suppress(FabricError):
                texts = list_texts(_find_definition(definition, read_file))
                leaves += [(definition, one, tuple(_OWN.findall(one.text))) for one in texts]
    for where, leaf, names in leaves:
        for name in names:
            kind, _, rest = name.partition(":")
            own = rest.rpartition(".")[0]
            if name.startswith(OWN_ADDRESSES) and own not in known[kind]:
                title = "" if where is leaf else f"{_format_title(where.text, leaf.line)}: "
                message = f"{title}`${{{name}}}` is not a {kind} of this service"
                hint = suggest_spelling(own, known[kind]) or _choose_hint(kind, known[kind])
                yield _error("config/unresolved-reference", message, hint, where)


def _choose_hint(kind: str, names: list[str]) -> str:
    if names:
        return f"use one of {', '.join(names[:12])}"
    return f"add a {kind}, with the provider cloud1-lambda"


def _error(code: str, message: str, hint: str, node: Node) -> Finding:
    return Finding(Problem(code, message, hint, place_of(node)))
