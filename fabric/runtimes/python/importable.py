"""Whether a provider's runtime can import an entry by its path."""

import ast
from collections.abc import Collection

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.python.imports import parse_source
from fabric.runtimes.python.standard import list_standard_modules
from fabric.runtimes.recorded_inputs import place
from fabric.system.files.disk import read_bytes


def refuse_not_importable(entry: EntryFile, inputs: BuildInputs) -> None:
    """Raise for a path that cannot be imported as that module. Also raise for a module that
    registers functions instead of defining a handler."""
    problem = (
        _find_dot_problem(entry)
        or _find_standard_conflict(entry, inputs)
        or _find_registration_problem(entry, inputs)
    )
    if problem is not None:
        raise FabricError(problem)


def _find_dot_problem(entry: EntryFile) -> Problem | None:
    """Find a dot in a path: a directory `a.b` would be imported as `b` in `a`."""
    part = next((one for one in entry.module.split("/") if "." in one), "")
    if not part:
        return None
    return Problem(
        "build/entry-not-importable",
        f"Python cannot import `{entry.name}`: the dot in `{part}` separates packages",
        hint="replace the dot in the name with `_`",
        where=_place(entry),
    )


def _find_standard_conflict(entry: EntryFile, inputs: BuildInputs) -> Problem | None:
    """Find a conflict with a loaded or built-in module. Also, a directory without `__init__.py`
    ranks after all modules of its name."""
    top = entry.module.partition("/")[0]
    if top not in list_standard_modules(inputs.runtime):
        return None
    kind = "folder" if "/" in entry.module else "file"
    return Problem(
        "build/entry-not-importable",
        f"Python has a built-in module `{top}` and would load it instead of the {kind} of "
        f"`{entry.name}`",
        hint=f"rename the {kind}, or move it into a directory with another name",
        where=_place(entry),
    )


def _find_registration_problem(entry: EntryFile, inputs: BuildInputs) -> Problem | None:
    """Find the second programming model of Azure Functions. Its decorators create objects, not
    functions, and only Azure's own worker can call them."""
    tree = _parse_tree(entry)
    app = next(filter(None, map(_find_app_name, tree.body if tree else ())), "")
    names = (entry.export,) if entry.export else ("handler", *inputs.handlers)
    if tree is None or not app or any(_is_plain(node, names) for node in tree.body):
        return None
    return Problem(
        "build/self-registered",
        f"`{entry.name}` registers its functions with `{app}` of `azure.functions`, but fabric "
        "calls a function of the module",
        hint="define the function without decorators, and move its trigger to fabric.yml",
        where=_place(entry),
    )


def _parse_tree(entry: EntryFile) -> ast.Module | None:
    """Return None without the parser package, and for a file whose syntax error the build
    reports."""
    try:
        source = read_bytes(entry.path)
        return parse_source(source) if b"azure.functions" in source else None
    except (OSError, SyntaxError, ValueError):
        return None


def _find_app_name(node: ast.stmt) -> str:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)):
            made = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            return name if made in ("FunctionApp", "Blueprint") else ""
    return ""


def _is_plain(node: ast.stmt, names: Collection[str]) -> bool:
    """Return whether a node is a function with one of the names and no decorator."""
    match node:
        case ast.FunctionDef(name=name, decorator_list=[]):
            return name in names
        case ast.AsyncFunctionDef(name=name, decorator_list=[]):
            return name in names
    return False


def _place(entry: EntryFile) -> Place:
    return Place(place(entry.workspace, entry.path))
