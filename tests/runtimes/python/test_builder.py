"""Python's own rules: packages, namespaces, relative imports, shared libraries."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.python.builder import PythonRuntime
from tests.support.runtimes_project import digests, names, python, unchanged, write

RUNTIME = PythonRuntime()
HANDLER = "\n\n\ndef handler(event, context): ...\n"


def build_names(workspace: Path) -> list[str]:
    return names(RUNTIME.build(workspace, python()))


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("import src.a", ["src/a.py"]),
        ("import src.pkg.deep", ["src/pkg/__init__.py", "src/pkg/deep.py"]),
        ("from src.pkg import deep", ["src/pkg/__init__.py", "src/pkg/deep.py"]),
        ("from src.pkg import *", ["src/pkg/__init__.py", "src/pkg/listed.py"]),
        ("from . import a", ["src/a.py"]),
        ("from .pkg.deep import x", ["src/pkg/__init__.py", "src/pkg/deep.py"]),
        ("from ..top import x", ["top.py"]),
        ("import a", ["a.py"]),
        ("import a\nfrom . import a", ["a.py", "src/a.py"]),
        ("import pkg.deep", ["pkg/__init__.py", "pkg/deep.py"]),
        ("import html", []),
        ("import top", ["top.py"]),
        ("def late():\n    import top", ["top.py"]),
        ("import importlib\nimportlib.import_module('src.a')", ["src/a.py"]),
        ("import json, requests", []),
    ],
)
def test_the_closure_follows_every_form_of_import(
    code: str, wanted: list[str], tmp_path: Path
) -> None:
    write(
        tmp_path,
        {
            "api/src/hello.py": code + HANDLER,
            "api/src/a.py": "",
            "api/src/html.py": "",
            "api/src/pkg/__init__.py": "__all__ = ['listed']",
            "api/src/pkg/deep.py": "",
            "api/src/pkg/listed.py": "",
            "api/top.py": "",
        },
    )
    assert build_names(tmp_path) == sorted(["src/hello.py", *wanted])


def test_imports_are_followed_from_module_to_module(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "api/src/__init__.py": "import setup_of_package",
            "api/src/hello.py": "import one" + HANDLER,
            "api/one.py": "import two",
            "api/two.py": "import one",
            "api/setup_of_package.py": "",
        },
    )
    assert build_names(tmp_path) == [
        "one.py",
        "setup_of_package.py",
        "src/__init__.py",
        "src/hello.py",
        "two.py",
    ]


@pytest.mark.parametrize(
    "name",
    ["api/one/__init__.py", "api/json.py", "api/requests/__init__.py", "api/src/__init__.py"],
)
def test_a_module_that_would_now_win_is_noticed(name: str, tmp_path: Path) -> None:
    write(tmp_path, {"api/src/hello.py": "import one, json, requests" + HANDLER, "api/one.py": ""})
    seen = RUNTIME.build(tmp_path, python()).seen
    known = digests(tmp_path, seen)
    assert unchanged(tmp_path, seen, known)
    write(tmp_path, {name: ""})
    assert not unchanged(tmp_path, seen, known)


def test_included_shared_library_is_at_the_archive_root(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "api/src/hello.py": "from shared import money" + HANDLER,
            "libs/shared/__init__.py": "",
            "libs/shared/money.py": "import other",
            "libs/other.py": "never taken: only what is included is on the path",
        },
    )
    built = RUNTIME.build(tmp_path, python(include=("../libs/shared/**/*.py",)))
    assert names(built) == ["shared/__init__.py", "shared/money.py", "src/hello.py"]


def test_a_null_byte_is_a_problem_with_its_file(tmp_path: Path) -> None:
    write(tmp_path, {"api/src/hello.py": "x = 1\0"})
    with pytest.raises(FabricError) as caught:
        RUNTIME.build(tmp_path, python())
    assert caught.value.first.code == "build/failed"
    assert str(caught.value.first.where).startswith("api/src/hello.py")


def test_error_in_a_star_imported_package_is_reported_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, {"api/src/hello.py": "from pkg import *", "api/pkg/__init__.py": "def"})
    with pytest.raises(FabricError) as caught:
        RUNTIME.build(tmp_path, python())
    assert str(caught.value.first.where) == "api/pkg/__init__.py:1:4"


def test_changed_file_is_read_again_for_the_next_function(tmp_path: Path) -> None:
    write(tmp_path, {"api/src/hello.py": "import a" + HANDLER, "api/a.py": "", "api/b.py": ""})
    assert build_names(tmp_path) == ["a.py", "src/hello.py"]
    write(tmp_path, {"api/a.py": "import b"})
    assert build_names(tmp_path) == ["a.py", "b.py", "src/hello.py"]


def test_syntax_error_is_reported_for_each_importing_function(tmp_path: Path) -> None:
    write(tmp_path, {"api/src/hello.py": "import a" + HANDLER, "api/a.py": "x = = 1"})
    for _ in range(2):
        with pytest.raises(FabricError) as caught:
            RUNTIME.build(tmp_path, python())
        assert str(caught.value.first.where) == "api/a.py:1:5"
