"""Which names a module may have once it is loaded."""

import pytest

from fabric.runtimes.python.builder import has_possible_name


@pytest.mark.parametrize(
    "source",
    [
        "def handler(e, c): ...",
        "async def handler(e, c): ...",
        "class handler: ...",
        "handler = app.handle",
        "handler: object = None",
        "a, (handler, b) = f()",
        "from x import handler",
        "from x import y as handler",
        "import handler.deep",
        "from x import *",
        "if A:\n    def handler(): ...",
        "try:\n    from a import handler\nexcept ImportError:\n    handler = None",
        "with f() as handler: ...",
        "for handler in (): ...",
        "while (handler := f()): ...",
        "match x:\n    case {'a': handler}: ...",
        "def __getattr__(name): ...",
        "globals()['handler'] = 1",
        "setattr(f(), 'handler', 1)",
        "import sys\nsys.modules[__name__] = f()",
        "def f():\n    global handler\n    handler = 1\nf()",
        "@wraps\ndef handler(): ...",
    ],
)
def test_a_name_that_is_or_may_be_bound(source: str) -> None:
    assert has_possible_name(source.encode(), "handler")


@pytest.mark.parametrize(
    "source",
    [
        "",
        "def handle(e, c): ...",
        "def other():\n    handler = 1",
        "class App:\n    def handler(self): ...",
        "print(handler)",
        "import app.handler",
        "x = lambda: (handler := 1)",
    ],
)
def test_a_name_that_is_surely_not_bound(source: str) -> None:
    assert not has_possible_name(source.encode(), "handler")
