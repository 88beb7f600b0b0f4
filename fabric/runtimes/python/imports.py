"""The imports of one Python source, as values; reads text, never runs it."""

import ast
from collections.abc import Iterator

from msgspec import Struct


class ImportedName(Struct, frozen=True):
    """`module` is dotted and may be empty; `names` may be submodules of it; `level` counts dots."""

    module: str
    names: tuple[str, ...] = ()
    level: int = 0


def read_imports(source: bytes) -> tuple[ImportedName, ...]:
    """Every import at any depth. Raises SyntaxError or ValueError as the parser does."""
    tree = ast.parse(source)
    return tuple(name for node in ast.walk(tree) for name in _of_node(node))


def read_all(source: bytes) -> tuple[str, ...]:
    """The names in `__all__`: a star import loads those of them that are submodules."""
    for node in ast.parse(source).body:
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
