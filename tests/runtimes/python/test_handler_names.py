"""Which name of a module is the handler, where the entry names none."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.python.builder import PythonRuntime
from tests.support.runtimes_project import python, write

APPS = ("app", "application")


def handler_of(tmp_path: Path, text: str, entry: str = "src/hello.py") -> str:
    write(tmp_path, {"api/src/hello.py": text})
    return PythonRuntime().build(tmp_path, python(entry, handlers=APPS)).handler


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def handler(e, c): ...\napp = 1", "handler"),
        ("app = f()", "app"),
        ("application = f()", "application"),
        ("from x import *\napplication = f()", "application"),
        ("from x import *", "handler"),
    ],
)
def test_the_first_name_that_is_surely_there_is_the_handler(
    text: str, name: str, tmp_path: Path
) -> None:
    assert handler_of(tmp_path, text) == f"src/hello.{name}"


def test_named_export_is_the_only_handler_candidate(tmp_path: Path) -> None:
    assert handler_of(tmp_path, "app = other = 1", "src/hello.other") == "src/hello.other"
    with pytest.raises(FabricError):
        handler_of(tmp_path, "app = 1", "src/hello.other")


def test_all_searched_handler_names_are_reported(tmp_path: Path) -> None:
    with pytest.raises(FabricError) as caught:
        handler_of(tmp_path, "def serve(): ...")
    problem = caught.value.first
    assert problem.code == "build/no-export"
    assert "has no `handler` or `app` or `application`" in problem.message
    assert "`serve`" in problem.hint
