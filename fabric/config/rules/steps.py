"""Rules for the commands of `build.before` and `hooks`."""

import shlex
from collections.abc import Iterator

from fabric.config.rules.strangers import is_path_outside
from fabric.config.schema.build import HOOKS
from fabric.config.schema.check import Finding
from fabric.config.steps import StepNode, list_step_nodes
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, find_child, place_of
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.problems import Problem

# Directories that are never outputs: of version control, and of fabric.
_OWN = (".git", ".hg", ".svn", ".fabric")


def check_steps(root: Mapping) -> Iterator[Finding]:
    seen: dict[str, StepNode] = {}
    for one in list_step_nodes(root):
        if one.name in seen:
            message = (
                f"duplicate step `{format_excerpt(one.name)}` "
                f"(lines {seen[one.name].node.line} and {one.node.line})"
            )
            hint = "use a different name for each command of `build.before` and `hooks`"
            yield _make_error("config/duplicate-name", message, one.node, hint)
        seen.setdefault(one.name, one)
        yield from _check_command(one)
        yield from _check_patterns(one)
    yield from _find_unknown_hooks(root)


def _check_command(one: StepNode) -> Iterator[Finding]:
    line = one.node if isinstance(one.node, Scalar) else find_child(one.node, "command")
    if not isinstance(line, Scalar):
        return
    try:
        shlex.split(line.text)
    except ValueError as error:
        message = f"invalid command of the step `{format_excerpt(one.name)}`: {error}"
        yield _make_error("config/bad-command", message, line, "write it as a list")


def _check_patterns(one: StepNode) -> Iterator[Finding]:
    for key in ("inputs", "outputs"):
        found = find_child(one.node, key)
        for leaf in found.items if isinstance(found, Sequence) else ():
            if isinstance(leaf, Scalar):
                yield from check_pattern(key, leaf)


def check_pattern(key: str, leaf: Scalar) -> Iterator[Finding]:
    shown = format_excerpt(leaf.text)
    if key == "inputs":
        if leaf.text.removeprefix("!").startswith(("/", "\\")):
            message = f"the input `{shown}` is an absolute path"
            yield _make_error("config/bad-pattern", message, leaf, "use a path of the workspace")
        return
    parts = {part for part in leaf.text.split("/") if part not in ("", ".")}
    if is_path_outside(leaf.text) or parts & set(_OWN):
        message = f"the output `{shown}` is not in the directory of the service"
        yield _make_error("config/bad-pattern", message, leaf, "name files that the command writes")
    elif leaf.text.startswith("!") or not any(part.strip("*") for part in parts):
        message = f"the output `{shown}` does not name a file or directory"
        yield _make_error("config/bad-pattern", message, leaf, "use a pattern such as dist/**")


def _find_unknown_hooks(root: Mapping) -> Iterator[Finding]:
    hooks = find_child(root, "hooks")
    for entry in hooks.entries if isinstance(hooks, Mapping) else ():
        if entry.key not in HOOKS.index:
            message = f"`hooks.{format_excerpt(entry.key)}` has no effect"
            hint = "use before-build, after-deploy or another hook of the guide"
            problem = Problem("config/no-effect", message, hint, place_of(entry))
            yield Finding(problem, is_fatal=False)


def _make_error(code: str, message: str, node: Node, hint: str) -> Finding:
    return Finding(Problem(code, message, hint, place_of(node)))
