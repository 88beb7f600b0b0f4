"""Which names a source imports; what was remembered of one never changes the answer."""

import ast
import gc
import sys
import textwrap
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.runtimes.python.imports import ImportedName, ImportMemory, SourceImports, read_imports

SIMPLE = (
    "import a",
    "import a.b as c, d",
    "from . import e",
    "from ..f import g, h",
    "from i import *",
    "__all__ = ['j', 'k', 3]",
    "__import__('l')",
    "importlib.import_module('.m', 'n')",
    "find = [import_module('o') for _ in 'p']",
    "\N{FULLWIDTH LATIN SMALL LETTER I}mport_module('q')",
    "x = lambda: 1  # ä",
    "pass",
)
BROKEN = ("import", "x = = 1", "def", "return )", "a\0b")
HEADS = ("", "# coding: utf-8\n", "\N{BYTE ORDER MARK}", '"""Says nothing."""\n')
AROUND = (
    "if x:\n{0}\nelif y:\n{1}\nelse:\n{2}",
    "for x in y:\n{0}\nelse:\n{1}",
    "while x:\n{0}\nelse:\n{1}",
    "try:\n{0}\nexcept E:\n{1}\nelse:\n{2}\nfinally:\n{0}",
    "try:\n{0}\nexcept* E:\n{1}",
    "with x as y:\n{0}",
    "def x(y=1):\n{0}",
    "async def x():\n    async with y:\n        async for z in y:\n            pass\n{0}",
    "@x\nclass Y(z):\n{0}",
    "match x:\n  case 1:\n{0}\n  case _ if y:\n{1}",
)


def bodies(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def built(frame: str, parts: list[str]) -> str:
        return frame.format(*(textwrap.indent(part, "    ") for part in parts))

    return st.builds(built, st.sampled_from(AROUND), st.lists(inner, min_size=3, max_size=3))


CODE = st.recursive(st.sampled_from(SIMPLE), bodies, max_leaves=6)
SOURCES = st.builds(
    lambda head, parts: (head + "\n".join(parts)).encode(),
    st.sampled_from(HEADS),
    st.lists(st.one_of(CODE, st.sampled_from(SIMPLE)), max_size=5),
)
ANY = st.one_of(SOURCES, st.sampled_from(BROKEN).map(str.encode))


def slow(source: bytes) -> list[ImportedName]:
    """Every node looked at, whatever the source says."""
    calls = read_imports(source + b"\n# import_module").names
    assert all(isinstance(name, ImportedName) for name in calls)
    return list(calls)


def answer(read: ImportMemory | None, source: bytes) -> SourceImports | str:
    try:
        return read.read_imports(source) if read else read_imports(source)
    except (SyntaxError, ValueError) as error:
        return repr(error)


@given(SOURCES)
def test_statement_walk_finds_the_same_imports_as_a_full_walk(source: bytes) -> None:
    ast.parse(source)
    assert list(read_imports(source).names) == slow(source)


@given(st.lists(ANY, max_size=8), st.integers(1, 4))
def test_import_cache_never_changes_the_result(sources: list[bytes], most: int) -> None:
    memory = ImportMemory(most)
    for source in [*sources, *sources, *reversed(sources)]:
        assert answer(memory, source) == answer(None, source)
        assert len(memory) <= most


def test_many_threads_get_the_answers_of_one() -> None:
    memory = ImportMemory(most=8)
    sources = [f"import a{number % 20}".encode() for number in range(2000)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(memory.read_imports, sources))
    assert [one.names[0].module for one in found] == [f"a{number % 20}" for number in range(2000)]


@pytest.mark.parametrize("source", ["__all__ = ['a', 'b']", "__all__ = ('a', 'b', x)"])
def test_star_import_names_come_from_dunder_all(source: str) -> None:
    assert read_imports(source.encode()).listed == ("a", "b")


def test_names_that_are_computed_are_not_guessed() -> None:
    assert read_imports(b"__all__ = [x for x in y]").listed == ()


class Cycle:
    """Garbage whose end is heard of, so that threads change where it is collected."""

    def __init__(self) -> None:
        self.itself = self
        weakref.finalize(self, int)


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads change, and garbage is collected, as often as can be."""
    seconds, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(100)
    yield
    gc.set_threshold(*threshold)
    sys.setswitchinterval(seconds)


@pytest.mark.usefixtures("restless")
def test_threads_that_parse_at_once_do_not_meet() -> None:
    source = b"def f(a, b=(1, [2, {3: 4}])):\n    return [x for x in (a.b.c(d, *e)) if x]\n" * 60

    def read(_: int) -> SourceImports:
        littered = [Cycle() for _ in range(50)]
        del littered
        return read_imports(source)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(read, range(20))) == {SourceImports((), ())}
