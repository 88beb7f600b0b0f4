"""The names that a loaded Python module has. The source is read, never run."""

import ast
import re
from collections.abc import Iterator

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.python.imports import parse_source
from fabric.runtimes.recorded_inputs import place

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def has_certain_name(source: bytes, name: str) -> bool:
    """Return whether a top-level statement of the module binds the name."""
    if re.search(
        rb"^(?:async\s+)?(?:def|class)\s+%b\b" % re.escape(name.encode()), source, re.MULTILINE
    ):
        return True
    return name in set(_list_bound_names(parse_source(source).body))


def has_possible_name(source: bytes, name: str) -> bool:
    """Return whether the module can have a name; False only if it certainly has not."""
    return has_certain_name(source, name) or _has_hidden_names(parse_source(source))


def list_functions(source: bytes) -> tuple[str, ...]:
    """List the top-level functions in source order."""
    body = parse_source(source).body
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return tuple(node.name for node in body if isinstance(node, functions))


def _has_hidden_names(tree: ast.Module) -> bool:
    """Return whether names can appear invisibly: by a star import or `globals()`."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]) | ast.Global():
                return True
            case ast.Name(id="globals" | "vars" | "locals" | "setattr" | "exec"):
                return True
            case ast.Attribute(attr="__dict__" | "modules"):
                return True
            case ast.FunctionDef(name="__getattr__"):
                return True
    return False


def _list_bound_names(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that top-level statements bind, without those inside functions."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield from _list_node_names(node)
        if not isinstance(node, (*_SCOPES, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


def _list_node_names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0]
        case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
            yield name
        case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
            yield name


# Find the handler name of a module and check that it exists. The source is read, never run.


def find_handler_name(entry: EntryFile, inputs: BuildInputs, source: bytes) -> str:
    """Return the export that the entry names; otherwise `handler`, otherwise the provider's default
    names."""
    names = (entry.export,) if entry.export else ("handler", *inputs.handlers)
    for is_there in (has_certain_name, has_possible_name):
        for name in names:
            if is_there(source, name):
                return name
    raise _missing_handler_error(entry, names, source)


def _missing_handler_error(entry: EntryFile, names: tuple[str, ...], source: bytes) -> FabricError:
    shown = place(entry.workspace, entry.path)
    there = ", ".join(f"`{one}`" for one in list_functions(source))
    return FabricError(
        Problem(
            "build/no-export",
            f"`{shown}` has no {' or '.join(f'`{name}`' for name in names)}",
            hint=(f"it has {there}; " if there else "")
            + "define the handler, or correct `entry`: `<module>.<export>`",
            where=Place(shown),
        )
    )
