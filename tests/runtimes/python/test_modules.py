"""Which imports something has to answer, and which the archive's own files do."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fabric.runtimes.python.builder import PythonRuntime
from fabric.runtimes.python.standard import list_standard_modules
from fabric.tasks.build import find_unsatisfied_imports
from tests.support.runtimes_project import python, write

HANDLER = "\n\n\ndef handler(event, context): ...\n"
OTHERS = {
    "api/src/a.py": "",
    "api/src/pkg/__init__.py": "",
    "api/src/ns/deep.py": "",
    "api/top.py": "",
}


def unanswered(folder: Path, source: str, more: Mapping[str, str] | None = None) -> list[str]:
    write(folder, {**OTHERS, **(more or {}), "api/src/hello.py": source + HANDLER})
    found = find_unsatisfied_imports(PythonRuntime().build(folder, python()))
    return [f"{one.file}:{one.line} {one.module}" for one in found]


@pytest.mark.parametrize(
    "source",
    [
        "import json, os.path, xml.etree.ElementTree, __future__",
        "import a, top, src.a, src.pkg, src.ns.deep",
        "from src import a\nfrom . import a\nfrom .ns import deep\nfrom .pkg import anything",
        "try:\n    import orjson\nexcept ImportError:\n    import ujson as orjson",
        "try:\n    import x\nexcept (ValueError, ModuleNotFoundError):\n    pass",
        "try:\n    with y:\n        import x\nexcept Exception:\n    pass",
        "try:\n    import x\nexcept:\n    pass",
        "import typing\nif typing.TYPE_CHECKING:\n    import x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from x import y",
        "import sys\nif sys.version_info >= (3, 11):\n    import tomllib\nelse:\n    import tomli",
        "if __name__ == '__main__':\n    import x",
        "def main():\n    if '__main__' == __name__:\n        import x",
        "import contextlib\nwith contextlib.suppress(ImportError):\n    import x",
        "import importlib.util\nif importlib.util.find_spec('x'):\n    import x",
    ],
)
def test_available_or_optional_modules_are_not_reported(source: str, tmp_path: Path) -> None:
    assert unanswered(tmp_path, source) == []


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import reqests", ["1 reqests"]),
        ("x = 1\nfrom yaml import safe_load", ["2 yaml"]),
        ("def late():\n    import x.y", ["2 x.y"]),
        ("import src.missing", ["1 src.missing"]),
        ("from .missing import x", ["1 .missing"]),
        ("import importlib\nimportlib.import_module('plugin')", ["2 plugin"]),
        ("try:\n    import x\nexcept ValueError:\n    pass", ["2 x"]),
        ("if True:\n    import x", ["2 x"]),
        ("import x\nimport x", ["1 x"]),
    ],
)
def test_unresolved_module_is_reported_with_its_line(
    source: str, told: list[str], tmp_path: Path
) -> None:
    assert unanswered(tmp_path, source) == [f"api/src/hello.py:{one}" for one in told]


def test_a_module_of_the_project_is_looked_through_as_well(tmp_path: Path) -> None:
    found = unanswered(tmp_path, "import top", {"api/top.py": "\nimport nowhere\n"})
    assert found == ["api/top.py:2 nowhere"]


@pytest.mark.parametrize(
    ("version", "there", "gone"),
    [
        ("python3.10", {"distutils", "imp"}, {"tomllib"}),
        ("python3.11", {"tomllib", "imp"}, set()),
        ("python", {"tomllib", "imp"}, set()),
        ("python3.12", {"cgi"}, {"imp", "distutils"}),
        ("python3.13", {"json"}, {"cgi", "imp"}),
        ("python3.14", {"annotationlib", "json"}, {"cgi"}),
    ],
)
def test_the_library_is_that_of_the_target(version: str, there: set[str], gone: set[str]) -> None:
    names = list_standard_modules(version)
    assert there <= names
    assert not gone & names
