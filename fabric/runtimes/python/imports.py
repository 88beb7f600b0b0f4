"""The imports of one Python source as values. The source is read, never run."""

import ast
import hashlib
import re
import threading
from collections.abc import Iterable, Iterator

from msgspec import Struct

from fabric.model.problems import Place, Problem
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


_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_AT = re.compile(r"in position (\d+)")


def syntax_problem(shown: str, source: bytes, error: SyntaxError | ValueError) -> Problem:
    """Build the problem from the parser's message; without a line, the line is inferred."""
    if b"\0" in source:
        line = _count_line(source, source.index(b"\0"))
        message = "the source contains a NUL byte"
        return Problem("build/failed", message, "save the file as UTF-8", Place(shown, line))
    if not isinstance(error, SyntaxError):
        return Problem("build/failed", str(error), where=Place(shown, 1))
    frame = (error.text or "").rstrip("\n")
    if error.lineno:
        where = Place(shown, error.lineno, max(0, error.offset or 0))
        return Problem("build/failed", f"syntax error: {error.msg}", where=where, frame=frame)
    return Problem(
        "build/failed",
        f"cannot decode the source: {error.msg}",
        hint="save the file as UTF-8, or correct its encoding declaration",
        where=Place(shown, _find_encoding_line(source, error.msg)),
    )


def _find_encoding_line(source: bytes, said: str) -> int:
    """Return the line of the invalid byte, otherwise the line that declares the encoding."""
    if at := _AT.search(said):
        return _count_line(source, int(at[1]))
    heads = source.splitlines()[:2]
    return next((number for number, one in enumerate(heads, 1) if _COOKIE.match(one)), 1)


def _count_line(source: bytes, position: int) -> int:
    return source.count(b"\n", 0, position) + 1


_MOST = 1 << 14


class ImportMemory:
    """A thread-safe cache for one process. The same interpreter always parses, so the content is
    the key.

    It stores hashes, not sources, of at most `most` files, and evicts the least recently used.
    Syntax errors are not cached: they are reported at each place.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: dict[bytes, SourceImports] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def read_imports(self, source: bytes) -> SourceImports:
        """Parse the imports of a source, or return the cached result."""
        key = hashlib.sha256(source).digest()
        with self._lock:
            found = self._known.pop(key, None)
            if found is not None:
                self._known[key] = found
                return found
        found = read_imports(source)
        with self._lock:
            self._known[key] = found
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]
        return found
