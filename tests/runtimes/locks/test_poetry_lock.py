"""poetry.lock: the rows of the main group on the target."""

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.locks.ranges import list_poetry_requirements
from tests.support.lock_texts import ARM, INTEL, OLD, digest_of, read, versions


def package(name: str, version: str = "1.0", rest: str = "") -> str:
    file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    groups = "" if "groups =" in rest else 'groups = ["main"]\n'
    return (
        f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
        f'files = [\n    {{file = "{file}", hash = "sha256:{digest_of(file)}"}},\n]\n{groups}{rest}'
    )


TAIL = '[metadata]\nlock-version = "2.1"\npython-versions = "^3.11"\n'
LOCK = TAIL + "".join(
    (
        package("app", rest='optional = false\n[package.dependencies]\narm = "*"\n'),
        package("arm", rest="markers = 'platform_machine == \"aarch64\"'\n"),
        package("core", rest='[package.source]\ntype = "directory"\nurl = "../core"\n'),
        package("never", rest='markers = "<empty>"\n'),
        package("tool", rest='groups = ["dev"]\n'),
        package("fast", rest="optional = true\nmarkers = 'extra == \"fast\"'\n"),
        package(
            "both",
            rest='optional = true\nmarkers = \'python_version < "3.12" or extra == "fast"\'\n',
        ),
        package(
            "late",
            rest='groups = ["main", "dev"]\n'
            "markers = {main = 'python_version >= \"3.12\"', dev = 'python_version < \"3\"'}\n",
        ),
        package("mine", rest='[package.source]\ntype = "legacy"\nurl = "https://own.example"\n'),
        package("solo", rest="markers = 'python_version == \"3.11\"'\n"),
        package("solo", "2.0", rest="markers = 'python_version >= \"3.12\"'\n"),
    )
)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (INTEL, {"app": "1.0", "late": "1.0", "mine": "1.0", "solo": "2.0"}),
        (ARM, {"app": "1.0", "arm": "1.0", "late": "1.0", "mine": "1.0", "solo": "2.0"}),
        (OLD, {"app": "1.0", "both": "1.0", "mine": "1.0", "solo": "1.0"}),
    ],
    ids=lambda one: getattr(one, "title", None),
)
def test_the_main_group_is_read_for_the_target(target: object, expected: dict[str, str]) -> None:
    found = read(LOCK, target, name="poetry.lock")  # type: ignore[arg-type]
    assert versions(found) == expected
    assert found is not None
    assert found.folders == (("core", "../core"),)


@pytest.mark.parametrize(
    ("kind", "origin"),
    [("git", "a git repository"), ("url", "a URL"), ("file", "a file"), ("x", "another source")],
)
def test_sources_that_are_not_read_are_refused(kind: str, origin: str) -> None:
    rest = f'[package.source]\ntype = "{kind}"\nurl = "https://git.example/x"\n'
    with pytest.raises(FabricError) as caught:
        read(TAIL + package("x", rest=rest), name="poetry.lock")
    assert caught.value.first.code == "input/package-source"
    assert origin in caught.value.first.message


@pytest.mark.parametrize("version", ["1.1", "2.0", "3.0", ""])
def test_other_versions_of_the_format_are_refused(version: str) -> None:
    with pytest.raises(FabricError) as caught:
        read(LOCK.replace('"2.1"', f'"{version}"'), name="poetry.lock")
    assert caught.value.first.code == "input/bad-lock"
    assert "poetry lock" in caught.value.first.hint


def test_a_dependency_that_an_extra_has_too_is_locked_for_the_extra() -> None:
    assert "fast" not in versions(read(LOCK, name="poetry.lock", dependencies=["fast"]))
    with pytest.raises(FabricError) as caught:
        read(LOCK, name="poetry.lock", dependencies=["flask"])
    assert caught.value.first.code == "input/lock-outdated"
    assert caught.value.first.hint == "run: poetry lock"


@pytest.mark.parametrize("dependency", ["tool", "app>=2"])
def test_a_project_that_needs_more_than_the_main_group_has_is_refused(dependency: str) -> None:
    with pytest.raises(FabricError) as caught:
        read(LOCK, name="poetry.lock", dependencies=[dependency])
    assert caught.value.first.code == "input/lock-outdated"


def test_dependencies_of_poetry_are_requirements() -> None:
    text = """[tool.poetry.dependencies]
python = "^3.12"
alpha = "^2"
beta = { version = "~1.2", extras = ["x"] }
gamma = "1.* || 3.*"
delta = { path = "../delta" }
late = { version = "*", optional = true }
"""
    assert list(list_poetry_requirements(text)) == ["alpha<3,>=2", "beta<1.3,>=1.2", "gamma"]
