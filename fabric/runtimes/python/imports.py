"""The imports of one Python source, as values; reads text, never runs it."""

import ast
import threading
from collections.abc import Iterable, Iterator

from msgspec import Struct

# Where statements stand in others, by kind; each in the order of the node's own fields.
_BODIES: dict[type[ast.AST], tuple[str, ...]] = {
    **dict.fromkeys((ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), ("body",)),
    **dict.fromkeys((ast.With, ast.AsyncWith, ast.ExceptHandler, ast.match_case), ("body",)),
    **dict.fromkeys((ast.If, ast.While, ast.For, ast.AsyncFor), ("body", "orelse")),
    **dict.fromkeys((ast.Try, ast.TryStar), ("body", "handlers", "orelse", "finalbody")),
    ast.Match: ("cases",),
}
# Calls that import: without one of these words, an import can only be a statement.
_WORDS = (b"import_module", b"__import__", b"coding")


# Python 3.11 counts how deep it is in a tree once for all threads: if a finaliser lets another
# thread parse in the middle, both end with a SystemError.
_PARSING = threading.Lock()


class ImportedName(Struct, frozen=True):
    """`module` is dotted and may be empty; `names` may be submodules of it; `level` counts dots."""

    module: str
    names: tuple[str, ...] = ()
    level: int = 0


class SourceImports(Struct, frozen=True):
    """Every import at any depth; and `__all__`: a star import loads those that are submodules."""

    names: tuple[ImportedName, ...]
    listed: tuple[str, ...]


def parsed(source: bytes) -> ast.Module:
    """The tree of a source. Raises SyntaxError or ValueError as the parser does."""
    with _PARSING:
        return ast.parse(source)


def read_imports(source: bytes) -> SourceImports:
    """Raises SyntaxError or ValueError as the parser does."""
    tree = parsed(source)
    nodes = ast.walk(tree) if _may_call(source) else _statements(tree)
    return SourceImports(tuple(name for node in nodes for name in _of_node(node)), _all(tree))


def _may_call(source: bytes) -> bool:
    """Beyond ASCII, and in another encoding, one word may be written in many ways."""
    return not source.isascii() or any(word in source for word in _WORDS)


def _statements(tree: ast.Module) -> Iterable[ast.AST]:
    """All statements, in the order of `ast.walk`, which looks at every expression as well."""
    found: list[ast.AST] = [tree]
    for node in found:  # it grows while it is gone through
        for name in _BODIES.get(type(node), ()):
            found += getattr(node, name)
    return found


def _all(tree: ast.Module) -> tuple[str, ...]:
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple() as names
            ):
                return tuple(
                    item.value
                    for item in names.elts
                    if isinstance(item, ast.Constant) and isinstance(item.value, str)
                )
    return ()


def _of_node(node: ast.AST) -> Iterator[ImportedName]:
    match node:
        case ast.Import(names=names):
            yield from (ImportedName(alias.name) for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            yield ImportedName(module or "", tuple(alias.name for alias in names), level)
        case ast.Call(func=func, args=[ast.Constant(value=str() as name), *_]) if _imports(func):
            yield ImportedName(name) if not name.startswith(".") else _relative(name)


def _imports(func: ast.expr) -> bool:
    match func:
        case ast.Name(id="__import__" | "import_module") | ast.Attribute(attr="import_module"):
            return True
    return False


def _relative(name: str) -> ImportedName:
    bare = name.lstrip(".")
    return ImportedName(bare, level=len(name) - len(bare))
