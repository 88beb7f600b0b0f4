"""The commands of `build.before` and `hooks`, in the order in which they run."""

import shlex
from collections.abc import Iterator

from msgspec import Struct

from fabric.config.resolve.stages import list_named_entries
from fabric.config.schema.build import CACHED_STEP, DEPLOY_HOOK
from fabric.config.sections import Section
from fabric.config.values import Step
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, find_child
from fabric.model.names import CACHED_EVENTS, StepEvent


class StepNode(Struct, frozen=True):
    """One command in the document: a map, or the line alone. Without a name it has a number."""

    name: str
    event: StepEvent
    node: Node


def list_step_nodes(root: Node) -> Iterator[StepNode]:
    """List all commands, those of `build.before` before the hooks of the same event."""
    for event in StepEvent:
        if event is StepEvent.BEFORE_BUILD:
            before = find_child(root, "build", "before")
            yield from (StepNode(name, event, node) for name, node in list_named_entries(before))
        for number, node in enumerate(_list_hooks(root, event), 1):
            yield StepNode(read.read_text(node, "name") or f"{event}-{number}", event, node)


def _list_hooks(root: Node, event: StepEvent) -> Iterator[Node]:
    for key in (event.value, event.replace("-", ":")):
        found = find_child(root, "hooks", key)
        if isinstance(found, Sequence):
            yield from (one for one in found.items if isinstance(one, Mapping | Scalar))
        elif isinstance(found, Scalar):
            yield found


def find_command(node: Node | None, key: str) -> tuple[str, ...] | None:
    line = find_child(node, key)
    return tuple(shlex.split(line.text)) if isinstance(line, Scalar) else read.find_texts(node, key)


def find_commands(node: Node | None, key: str) -> tuple[tuple[str, ...], ...] | None:
    """Find a list of commands, each a list of arguments or one line."""
    rows = find_child(node, key)
    if not isinstance(rows, Sequence):
        return None
    return tuple(map(_split_command, rows.items))


def _split_command(node: Node) -> tuple[str, ...]:
    if isinstance(node, Scalar):
        return tuple(shlex.split(node.text))
    words = node.items if isinstance(node, Sequence) else ()
    return tuple(one.text for one in words if isinstance(one, Scalar))


_CACHED = Section(
    Step,
    CACHED_STEP,
    readers={"command": find_command},
    given=("name", "event", "ignore", "simulated"),
)
_HOOK = Section(
    Step,
    DEPLOY_HOOK,
    readers={"command": find_command},
    given=("name", "event", "ignore", "inputs", "outputs"),
)


def parse_steps(root: Node, ignore: tuple[str, ...]) -> tuple[Step, ...]:
    return tuple(_parse_step(one, ignore) for one in list_step_nodes(root))


def _parse_step(one: StepNode, ignore: tuple[str, ...]) -> Step:
    if isinstance(one.node, Scalar):
        command = tuple(shlex.split(one.node.text))
        return Step(name=one.name, event=one.event, command=command, ignore=ignore)
    section = _CACHED if one.event in CACHED_EVENTS else _HOOK
    return section.read(one.node, name=one.name, event=one.event, ignore=ignore)
