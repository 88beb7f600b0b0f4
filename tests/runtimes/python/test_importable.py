"""Entries that a provider's runtime would take for something else are refused, with the reason."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.python.builder import PythonRuntime
from tests.support.runtimes_project import names, python, write

RUNTIME = PythonRuntime()
HANDLER = "def handler(event, context): ...\n"


def refused(folder: Path, entry: str, *others: str) -> Problem:
    write(folder, {f"api/{entry}": HANDLER, **dict.fromkeys(others, "")})
    with pytest.raises(FabricError) as caught:
        RUNTIME.build(folder, python(entry))
    return caught.value.first


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ("queue/x.py", "`queue`"),
        ("email/x.py", "`email`"),
        ("json.py", "`json`"),
        ("types.py", "`types`"),
        ("a.b/x.py", "`a.b`"),
        ("a/x.y.py", "`x.y`"),
    ],
)
def test_an_entry_that_comes_out_as_another_module_is_refused(
    entry: str, named: str, tmp_path: Path
) -> None:
    found = refused(tmp_path, entry)
    assert found.code == "build/entry-not-importable"
    assert named in found.message
    assert found.hint.startswith(("rename", "replace"))
    assert found.where
    assert found.where.file == f"api/{entry}"


def test_init_file_does_not_help_if_python_preloads_the_module(tmp_path: Path) -> None:
    found = refused(tmp_path, "email/x.py", "api/email/__init__.py")
    assert found.code == "build/entry-not-importable"


@pytest.mark.parametrize("entry", ["src/json.py", "my-jobs/queue.py", "1st/lambda.py", "tools.py"])
def test_other_names_are_importable(entry: str, tmp_path: Path) -> None:
    write(tmp_path, {f"api/{entry}": HANDLER})
    assert names(RUNTIME.build(tmp_path, python(entry))) == [entry]


def test_module_names_depend_on_the_target_python_version(tmp_path: Path) -> None:
    write(tmp_path, {"api/imp/x.py": HANDLER})
    inputs = python("imp/x.py")
    with pytest.raises(FabricError):
        RUNTIME.build(tmp_path, inputs)
    newer = type(inputs)("shop", "hello", "api", "imp/x.py", "python3.12")
    assert names(RUNTIME.build(tmp_path, newer)) == ["imp/x.py"]


@pytest.mark.parametrize(
    ("entry", "file"),
    [
        ("src.api.orders.handler", "src/api/orders.py"),
        ("src.api.handler", "src/api/__init__.py"),
        ("orders.handler", "orders.py"),
    ],
)
def test_an_entry_may_be_named_as_python_names_it(entry: str, file: str, tmp_path: Path) -> None:
    write(tmp_path, {f"api/{file}": HANDLER})
    built = RUNTIME.build(tmp_path, python(entry))
    assert names(built) == [file]
    assert built.handler == f"{file.removesuffix('.py')}.handler"


def test_a_file_of_the_whole_name_wins_over_the_dotted_one(tmp_path: Path) -> None:
    write(tmp_path, {"api/src/a.py": HANDLER, "api/src.py": "class a: handler = print\n"})
    built = RUNTIME.build(tmp_path, python("src.a"))
    assert names(built) == ["src.py"]


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        (b"x = 1\ny = '\xff'\n", 2, "utf-8"),
        (b"# coding: foo\nx = 1\n", 1, "unknown encoding"),
        (b"x = 1\n\0\n", 2, "NUL"),
        (b"# one\n# coding: ascii\nx = 1\ny = '\xe9'\n", 4, "ascii"),
        (b"x = 1\nif x\n", 2, "syntax error"),
    ],
)
def test_a_file_that_python_cannot_read_is_named_with_its_line(
    source: bytes, line: int, words: str, tmp_path: Path
) -> None:
    write(tmp_path, {"api/src/hello.py": f"import helper\n{HANDLER}"})
    (tmp_path / "api/helper.py").write_bytes(source)
    with pytest.raises(FabricError) as caught:
        RUNTIME.build(tmp_path, python())
    found = caught.value.first
    assert found.code == "build/failed"
    assert found.where
    assert (found.where.file, found.where.line) == ("api/helper.py", line)
    assert words in found.message


AZURE = "import azure.functions as func\napp = func.FunctionApp()\n"
DECORATED = "@app.route(route='hello')\ndef handler(req): ...\n"


@pytest.mark.parametrize(
    ("source", "entry"),
    [
        (AZURE + DECORATED, "src/hello.handler"),
        (AZURE + "@app.function_name('x')\n@app.route()\ndef other(req): ...\n", "src/hello.py"),
        ("from azure.functions import Blueprint\nbp = Blueprint()\n", "src/hello.bp"),
    ],
)  # fmt: skip
def test_functions_that_register_themselves_are_refused(
    source: str, entry: str, tmp_path: Path
) -> None:
    write(tmp_path, {"api/src/hello.py": source})
    with pytest.raises(FabricError) as caught:
        RUNTIME.build(tmp_path, python(entry))
    assert caught.value.first.code == "build/self-registered"


@pytest.mark.parametrize(
    "source",
    [
        AZURE + HANDLER + DECORATED.replace("handler", "other"),
        "import azure.functions as func\n" + HANDLER,
        HANDLER + "# azure.functions\napp = FunctionApp\n",
    ],
)
def test_plain_functions_beside_them_are_taken(source: str, tmp_path: Path) -> None:
    write(tmp_path, {"api/src/hello.py": source})
    assert names(RUNTIME.build(tmp_path, python())) == ["src/hello.py"]
