"""Packages of Python functions, by whole commands: whose requirements count, and where."""

import zipfile
from pathlib import Path

import pytest

from fabric.model.problems import ExitCode
from tests.support.in_process import project
from tests.support.project import Project
from tests.support.wheels import environment, write_wheel

CONFIG = """\
service: shop
provider: {name: PROVIDER, runtime: python3.12}
functions:
  - {name: one, entry: a/one.handler}
  - {name: two, entry: b/two.handler}
"""
HANDLER = "def handler(event, context):\n    return 1\n"
SOURCES = {"a/one.py": HANDLER, "b/two.py": HANDLER}
# Those that start pip.
pips = pytest.mark.slow


def shop(folder: Path, files: dict[str, str], provider: str = "cloud1-lambda") -> Project:
    for name in ("alpha", "beta", "boto3"):
        write_wheel(folder / "index", name)
    write_wheel(folder / "index", "beta", version="2.0")
    return project(folder, CONFIG.replace("PROVIDER", provider), {**SOURCES, **files})


def packaged(made: Project) -> dict[str, set[str]]:
    """The modules at the top of each archive."""
    env = pip_settings(made)
    assert made.fabric("package", env=env).code == 0
    archives = (made.root / ".fabric/build/shop").glob("*.zip")
    return {
        path.stem: {name for name in zipfile.ZipFile(path).namelist() if "/" not in name}
        for path in archives
    }


def pip_settings(made: Project) -> dict[str, str]:
    found = environment(made.root.parent / "index")
    return {name: text for name, text in found.items() if name.startswith("PIP_")}


@pips
def test_each_function_has_the_packages_of_its_own_requirements(tmp_path: Path) -> None:
    made = shop(tmp_path, {"requirements.txt": "alpha==1.0\n", "b/requirements.txt": "beta==1.0\n"})
    assert packaged(made) == {"one": {"alpha.py"}, "two": {"beta.py"}}
    made.write({"a/requirements.txt": "beta==2.0\n"})
    assert packaged(made) == {"one": {"beta.py"}, "two": {"beta.py"}}
    (made.root / "b/requirements.txt").unlink()
    assert packaged(made) == {"one": {"beta.py"}, "two": {"alpha.py"}}


@pips
def test_requirements_beside_a_handler_are_locked_beside_it(tmp_path: Path) -> None:
    made = shop(tmp_path, {"b/requirements.txt": "beta<2\n"})
    assert packaged(made)["two"] == {"beta.py"}
    assert "beta==1.0" in (made.root / "b/requirements.lock").read_text()
    assert not (made.root / "requirements.lock").exists()
    assert not (made.root / "b/.fabric").exists()


@pips
def test_constraints_bound_versions_and_count_when_they_change(tmp_path: Path) -> None:
    made = shop(tmp_path, {"requirements.txt": "beta\n-c bounds.txt\n", "bounds.txt": "beta<2\n"})
    assert packaged(made)["one"] == {"beta.py"}
    assert "beta==1.0" in (made.root / "requirements.lock").read_text()
    made.write({"bounds.txt": "beta>1\n"})
    packaged(made)
    assert "beta==2.0" in (made.root / "requirements.lock").read_text()


@pytest.mark.parametrize("verb", ["plan", "build", "package", "deploy"])
def test_a_file_that_requirements_name_has_to_be_there(verb: str, tmp_path: Path) -> None:
    made = shop(tmp_path, {"requirements.txt": "# first\n-r more.txt\n"})
    done = made.json(verb)
    assert done.code == ExitCode.INVALID
    assert done.error["code"] == "input/requirements-missing"
    assert done.error["where"] == {"file": "requirements.txt", "line": 2, "column": 0}
    assert not (made.root / ".fabric/state").exists()


@pips
def test_a_named_file_that_comes_or_changes_is_noticed(tmp_path: Path) -> None:
    made = shop(tmp_path, {"requirements.txt": "-r more.txt\n"})
    assert made.json("package").code == ExitCode.INVALID
    made.write({"more.txt": ""})
    assert packaged(made)["one"] == set()
    made.write({"more.txt": "alpha==1.0\n"})
    assert packaged(made)["one"] == {"alpha.py"}
    (made.root / "more.txt").unlink()
    assert made.json("package").error["code"] == "input/requirements-missing"


@pips
def test_sdk_is_packaged_if_pinned_or_not_provided(tmp_path: Path) -> None:
    bare, pinned = {"requirements.txt": "boto3\n"}, {"requirements.txt": "boto3==1.0\n"}
    assert packaged(shop(tmp_path / "a", bare))["one"] == set()
    assert packaged(shop(tmp_path / "b", pinned))["one"] == {"boto3.py"}
    assert packaged(shop(tmp_path / "c", bare, "cloud4-fc"))["one"] == {"boto3.py"}


@pips
def test_locks_with_and_without_the_sdk_stand_side_by_side(tmp_path: Path) -> None:
    made = shop(tmp_path, {"requirements.txt": "boto3\nalpha\n"})
    assert packaged(made)["one"] == {"alpha.py"}
    lean = (made.root / "requirements.without-boto3.lock").read_text()
    made.write({"fabric.yml": CONFIG.replace("PROVIDER", "cloud4-fc")})
    assert packaged(made)["one"] == {"alpha.py", "boto3.py"}
    made.write({"fabric.yml": CONFIG.replace("PROVIDER", "cloud1-lambda")})
    assert packaged(made)["one"] == {"alpha.py"}
    assert (made.root / "requirements.without-boto3.lock").read_text() == lean


def test_a_plan_refuses_an_entry_that_no_provider_could_import(tmp_path: Path) -> None:
    made = project(
        tmp_path,
        CONFIG.replace("PROVIDER", "cloud1-lambda").replace("a/one", "queue/one"),
        {"queue/one.py": HANDLER, "b/two.py": HANDLER},
    )
    for verb in ("plan", "build", "deploy"):
        done = made.json(verb)
        assert done.code in (ExitCode.FAILED, ExitCode.PARTIAL)
        assert done.error["code"] == "build/entry-not-importable"
        assert done.error["where"]["file"] == "queue/one.py"
    assert not (made.root / ".fabric/state").exists()


def test_a_deployed_function_may_be_named_as_python_names_it(tmp_path: Path) -> None:
    made = project(
        tmp_path,
        CONFIG.replace("PROVIDER", "cloud1-lambda").replace("b/two", "my-jobs/types"),
        {"a/one.py": HANDLER, "my-jobs/types.py": HANDLER},
    )
    text = (made.root / "fabric.yml").read_text()
    made.write({"fabric.yml": text.replace("a/one.handler", "a.one.handler")})
    assert made.fabric("deploy").code == 0
    for name in ("one", "two"):
        assert made.json("invoke", "run", "--function", name).result["response"] == 1


@pips
def test_functions_of_one_project_have_different_groups(tmp_path: Path) -> None:
    made = shop(tmp_path, {})
    two = "  - {name: two, entry: b/two.handler, build: {groups: [worker]}}\n"
    head = CONFIG.replace("PROVIDER", "cloud1-lambda").partition("  - {name: two")[0]
    project_file = '[project]\ndependencies = ["alpha"]\n[dependency-groups]\nworker = ["beta<2"]\n'
    made.write({"fabric.yml": head + two, "pyproject.toml": project_file})
    assert packaged(made) == {"one": {"alpha.py"}, "two": {"alpha.py", "beta.py"}}
    locks = {path.name for path in made.root.glob("*.lock")}
    assert locks == {"requirements.lock", "requirements.with-group-worker.lock"}
    made.write({"fabric.yml": (head + two).replace("worker", "wrker")})
    assert made.json("plan").error["code"] == "input/unknown-group"


@pips
def test_a_directory_in_requirements_is_packed_with_its_dependencies(tmp_path: Path) -> None:
    made = shop(tmp_path, {"requirements.txt": "beta==1.0\n-e ./libs/core\n"})
    core = '[project]\nname = "core"\ndependencies = ["alpha"]\n'
    made.write({"libs/core/pyproject.toml": core, "libs/core/src/core.py": "NAME = 'ours'\n"})
    assert packaged(made)["one"] == {"alpha.py", "beta.py", "core.py"}
    assert "alpha==1.0" in (made.root / "requirements.lock").read_text()
    made.write({"libs/core/src/more.py": ""})
    assert packaged(made)["two"] == {"alpha.py", "beta.py", "core.py", "more.py"}
