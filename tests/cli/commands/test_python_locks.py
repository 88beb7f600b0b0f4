"""Locks of other tools, by whole commands: each function has its own closure, and its own key."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.model.hashing import hash_bytes
from tests.support.in_process import project
from tests.support.lock_texts import HEAD, uv_package
from tests.support.package_index import PackageIndex, serve_index
from tests.support.project import Project
from tests.support.wheels import write_wheel

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.12}
functions:
  - {name: one, entry: one/main.handler}
  - {name: two, entry: two/main.handler}
"""
HANDLER = "import core\ndef handler(event, context):\n    return core.NAME\n"
PYPROJECT = '[project]\nname = "NAME"\nversion = "1"\ndependencies = ["alpha"]\n'
SOURCES = "[tool.uv.sources]\ncore = {workspace = true}\n"
CORE = '[project]\nname = "core"\nversion = "1"\n[build-system]\nbuild-backend = "uv_build"\n'
FILES = {
    "pyproject.toml": "[tool.uv.workspace]\nmembers = ['one', 'two', 'core']\n",
    "one/pyproject.toml": PYPROJECT.replace('"alpha"', '"core"').replace("NAME", "one") + SOURCES,
    "one/main.py": HANDLER,
    "two/pyproject.toml": PYPROJECT.replace("NAME", "two"),
    "two/main.py": HANDLER.replace("import core\n", "core = None\n"),
    "core/pyproject.toml": CORE,
    "core/src/core/__init__.py": "NAME = 'ours'\n",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PackageIndex]:
    """An index that has a package for every name, also for those of the members."""
    for name in ("alpha", "beta", "gamma", "core", "one", "two"):
        write_wheel(tmp_path / "index", name)
        write_wheel(tmp_path / "index", name, version="2.0")
    with serve_index(tmp_path / "index") as served:
        yield served


def lock(folder: Path, **versions: str) -> str:
    """`one` needs `core`, which needs `beta`; `two` needs `alpha`; `gamma` is for nothing here."""

    def package(name: str) -> str:
        version = versions.get(name, "1.0")
        file = f"{name}-{version}-py3-none-any.whl"
        digest = hash_bytes((folder / "index" / name / file).read_bytes())
        return uv_package(name, version=version, files={file: digest})

    members = (
        uv_package("one", 'virtual = "one"', needs=["core"]),
        uv_package("two", 'virtual = "two"', needs=["alpha"]),
        uv_package("core", 'editable = "core"', needs=["beta"]),
    )
    return HEAD + "".join((*members, *map(package, ("alpha", "beta", "gamma"))))


def shop(folder: Path) -> Project:
    return project(folder, CONFIG, {**FILES, "uv.lock": lock(folder)})


def rebuilt(made: Project, index: PackageIndex) -> set[str]:
    """The functions whose archives are made again."""
    index.requests.clear()
    done = made.json("package", env=index.settings)
    assert done.code == 0, done.err
    return {one["function"] for one in done.result["artifacts"] if not one["cached"]}


def modules(made: Project, function: str) -> set[str]:
    names = zipfile.ZipFile(made.root / f".fabric/build/shop/{function}.zip").namelist()
    own = ("one/", "two/")
    return {name for name in names if not name.startswith(own) and ".dist-info/" not in name}


@pytest.mark.slow
def test_each_member_has_its_closure_and_members_are_never_looked_up(
    tmp_path: Path, index: PackageIndex
) -> None:
    write_wheel(tmp_path / "index", "beta", ["core"])
    made = shop(tmp_path)
    done = made.json("package", env=index.settings)
    assert (done.code, "vendor/incomplete" in done.err) == (0, False)
    assert modules(made, "one") == {"core/__init__.py", "beta.py"}
    assert modules(made, "two") == {"alpha.py"}
    assert {path.split("/")[1] for path in index.requests} == {"alpha", "beta"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bumped", "functions"), [("gamma", set()), ("alpha", {"two"}), ("beta", {"one"})]
)
def test_a_bumped_package_rebuilds_the_functions_that_need_it(
    tmp_path: Path, index: PackageIndex, bumped: str, functions: set[str]
) -> None:
    made = shop(tmp_path)
    assert rebuilt(made, index) == {"one", "two"}
    made.write({"uv.lock": lock(tmp_path, **{bumped: "2.0"}) + "# a comment\n"})
    assert rebuilt(made, index) == functions
    assert {path.split("/")[1] for path in index.requests} == ({bumped} if functions else set())


@pytest.mark.slow
def test_an_edit_of_a_member_rebuilds_the_functions_that_need_it(
    tmp_path: Path, index: PackageIndex
) -> None:
    made = shop(tmp_path)
    assert rebuilt(made, index) == {"one", "two"}
    made.write({"core/src/core/more.py": ""})
    assert rebuilt(made, index) == {"one"}
    assert "core/more.py" in modules(made, "one")


@pytest.mark.slow
def test_a_comment_in_requirements_with_hashes_fetches_nothing(
    tmp_path: Path, index: PackageIndex
) -> None:
    made = shop(tmp_path)
    wheel = tmp_path / "index/alpha/alpha-1.0-py3-none-any.whl"
    line = f"alpha==1.0 --hash=sha256:{hash_bytes(wheel.read_bytes())}\n"
    made.write({"two/requirements.lock": line})
    rebuilt(made, index)
    made.write({"two/requirements.lock": f"# a comment\n{line}"})
    assert rebuilt(made, index) == set()
    assert index.requests == []


@pytest.mark.slow
def test_an_edit_of_a_wheel_in_the_index_is_a_hash_mismatch(
    tmp_path: Path, index: PackageIndex
) -> None:
    made = shop(tmp_path)
    write_wheel(tmp_path / "index", "alpha", ["beta"])
    done = made.json("package", env=index.settings)
    assert done.error["code"] == "vendor/hash-mismatch"
    assert "`alpha" in done.error["message"]


def test_a_lock_that_is_passed_over_is_reported_with_the_reason(tmp_path: Path) -> None:
    for name in ("alpha", "beta", "gamma"):
        write_wheel(tmp_path / "index", name)
    made = shop(tmp_path)
    made.write({"one/requirements.txt": "beta==1.0\n", "two/poetry.lock": ""})
    (made.root / "one/pyproject.toml").unlink()
    done = made.json("plan")
    assert done.result["services"][0]["warnings"] == [
        "ignoring `uv.lock`: versions come from `requirements.txt`",
        "ignoring `two/poetry.lock`: versions come from `uv.lock`",
    ]
    assert "delete `requirements.txt` to use it" in done.err
    assert "delete `uv.lock` to use it" in done.err


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"uv.lock": "version = 3\n"}, "input/bad-lock"),
        ({"uv.lock": "= 3\n"}, "input/bad-toml"),
        ({"two/pyproject.toml": PYPROJECT.replace("alpha", "alpha>2")}, "input/lock-outdated"),
        ({"fabric.yml": CONFIG.replace("3.12", "3.10")}, "input/lock-python"),
        ({"core/src/core/__init__.py": None, "core/pyproject.toml": CORE}, "input/package-source"),
    ],
)
def test_a_lock_that_cannot_be_used_is_refused(
    tmp_path: Path, index: PackageIndex, change: dict[str, str | None], code: str
) -> None:
    made = shop(tmp_path)
    made.write({name: text for name, text in change.items() if text is not None})
    for name, text in change.items():
        if text is None:
            (made.root / name).unlink()
    done = made.json("package", env=index.settings)
    assert (done.code != 0, done.error["code"]) == (True, code)
    assert done.error["hint"] or code == "input/bad-toml"


@pytest.mark.usefixtures("index")
def test_a_package_outside_the_project_is_refused(tmp_path: Path) -> None:
    made = shop(tmp_path)
    text = (made.root / "uv.lock").read_text()
    made.write({"uv.lock": text.replace('editable = "core"', 'editable = "../core"')})
    done = made.json("plan")
    assert (done.code != 0, done.error["code"]) == (True, "input/package-source")
    assert "outside the workspace: `../core`" in done.error["message"]
