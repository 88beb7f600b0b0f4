"""The imports of one Python source as values. The source is read, never run."""

import ast
import threading
from collections.abc import Iterable, Iterator

from msgspec import Struct

from fabric.runtimes.python.django_names import find_django_names

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
# Who catches one of these can do without what is imported.
_CAUGHT = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
# Where a condition asks for one of these, what it guards is not for every place.
_ASKED = frozenset(
    {"TYPE_CHECKING", "version_info", "platform", "find_spec", "hexversion", "__name__"}
)
_GUARDS = (ast.Try, ast.TryStar, ast.If, ast.With)


# Python 3.11 counts how deep it is in a tree once for all threads: if a finaliser lets another
# thread parse in the middle, both end with a SystemError.
_PARSING = threading.Lock()


class ImportedName(Struct, frozen=True):
    """An import. `module` is dotted, possibly empty; `names` are possibly submodules; `level`
    counts dots."""

    module: str
    names: tuple[str, ...] = ()
    level: int = 0
    line: int = 0
    # True for an import in `try`, or only for type checkers.
    is_optional: bool = False


class SourceImports(Struct, frozen=True):
    """Every import at any depth, and `__all__`, because a star import loads its submodules."""

    names: tuple[ImportedName, ...]
    listed: tuple[str, ...]


def parse_source(source: bytes) -> ast.Module:
    """Parse a source. Raises SyntaxError or ValueError like the parser."""
    with _PARSING:
        return ast.parse(source)


def read_imports(source: bytes) -> SourceImports:
    """Read the imports. Raises SyntaxError or ValueError like the parser."""
    tree = parse_source(source)
    nodes = _list_nodes(tree, calls=_has_possible_call(source))
    names = [
        name for node, optional in nodes for name in _list_node_imports(node, is_optional=optional)
    ]
    named = [
        ImportedName(one.module, one.names, 0, one.line, is_optional=True)
        for one in find_django_names(source, tree)
    ]
    return SourceImports((*names, *named), _read_all_names(tree))


def _has_possible_call(source: bytes) -> bool:
    """Return whether the text can contain an import call. In other encodings, one word has several
    spellings."""
    return not source.isascii() or any(word in source for word in _WORDS)


def _list_nodes(tree: ast.Module, *, calls: bool) -> Iterable[tuple[ast.AST, bool]]:
    """Return all statements, and with `calls` all expressions, in the order of `ast.walk`. Each is
    paired with whether it is guarded."""
    found: list[tuple[ast.AST, bool]] = [(tree, False)]
    for node, guarded in found:  # it grows while it is gone through
        inner = guarded or (isinstance(node, _GUARDS) and _is_guard(node))
        inside = ast.iter_child_nodes(node) if calls else _list_statements(node)
        found += [(child, inner) for child in inside]
    return found


def _list_statements(node: ast.AST) -> Iterator[ast.AST]:
    for name in _BODIES.get(type(node), ()):
        yield from getattr(node, name)


def _is_guard(node: ast.Try | ast.TryStar | ast.If | ast.With) -> bool:
    match node:
        case ast.If(test=test):
            return not _ASKED.isdisjoint(_list_words(test))
        case ast.With(items=items):
            asked = [word for item in items for word in _list_words(item.context_expr)]
            return "suppress" in asked and not _CAUGHT.isdisjoint(asked)
    types = [handler.type for handler in node.handlers]
    return any(one is None or not _CAUGHT.isdisjoint(_list_words(one)) for one in types)


def _list_words(expression: ast.expr) -> Iterator[str]:
    for node in ast.walk(expression):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word):
                yield word


def _read_all_names(tree: ast.Module) -> tuple[str, ...]:
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


def _list_node_imports(node: ast.AST, *, is_optional: bool) -> Iterator[ImportedName]:
    match node:
        case ast.Import(names=names, lineno=line):
            yield from (ImportedName(one.name, (), 0, line, is_optional) for one in names)
        case ast.ImportFrom(module=module, names=names, level=level, lineno=line):
            inner = tuple(alias.name for alias in names)
            yield ImportedName(module or "", inner, level, line, is_optional)
        case ast.Call(func=func, args=[ast.Constant(value=str() as name), *_]) if (
            _is_import_function(func)
        ):
            bare = name.lstrip(".")
            yield ImportedName(bare, (), len(name) - len(bare), node.lineno, is_optional)


def _is_import_function(func: ast.expr) -> bool:
    match func:
        case ast.Name(id="__import__" | "import_module") | ast.Attribute(attr="import_module"):
            return True
    return False
