"""Rows of locks with markers: poetry.lock and pylock.toml."""

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.packages.git_sources import parse_git_line
from fabric.runtimes.packages.locks.ranges import (
    list_pipfile_requirements,
    list_poetry_requirements,
)
from tests.support.lock_texts import ARM, INTEL, OLD, digest_of, read, versions


def poetry_package(name: str, version: str = "1.0", rest: str = "") -> str:
    file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    groups = "" if "groups =" in rest else 'groups = ["main"]\n'
    return (
        f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
        f'files = [\n    {{file = "{file}", hash = "sha256:{digest_of(file)}"}},\n]\n{groups}{rest}'
    )


POETRY_TAIL = '[metadata]\nlock-version = "2.1"\npython-versions = "^3.11"\n'
POETRY_LOCK = POETRY_TAIL + "".join(
    (
        poetry_package("app", rest='optional = false\n[package.dependencies]\narm = "*"\n'),
        poetry_package("arm", rest="markers = 'platform_machine == \"aarch64\"'\n"),
        poetry_package("core", rest='[package.source]\ntype = "directory"\nurl = "../core"\n'),
        poetry_package("never", rest='markers = "<empty>"\n'),
        poetry_package("tool", rest='groups = ["dev"]\n'),
        poetry_package("fast", rest="optional = true\nmarkers = 'extra == \"fast\"'\n"),
        poetry_package(
            "both",
            rest='optional = true\nmarkers = \'python_version < "3.12" or extra == "fast"\'\n',
        ),
        poetry_package(
            "late",
            rest='groups = ["main", "dev"]\n'
            "markers = {main = 'python_version >= \"3.12\"', dev = 'python_version < \"3\"'}\n",
        ),
        poetry_package(
            "mine", rest='[package.source]\ntype = "legacy"\nurl = "https://own.example"\n'
        ),
        poetry_package("solo", rest="markers = 'python_version == \"3.11\"'\n"),
        poetry_package("solo", "2.0", rest="markers = 'python_version >= \"3.12\"'\n"),
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
    found = read(POETRY_LOCK, target, name="poetry.lock")  # type: ignore[arg-type]
    assert versions(found) == expected
    assert found is not None
    assert found.folders == (("core", "../core"),)


POETRY_GROUPS = (
    POETRY_TAIL.replace("[meta", '[extras]\nfast = ["a"]\nslow = ["b"]\n[meta')
    + poetry_package("app")
    + poetry_package("fast", rest="markers = 'extra == \"fast\"'\n")
    + poetry_package("both", rest='markers = \'extra == "fast" and extra == "slow"\'\n')
    + poetry_package("tool", rest='groups = ["Dev"]\n')
    + poetry_package(
        "late",
        rest='groups = ["main", "Dev"]\n'
        "markers = {main = 'extra == \"slow\"', Dev = 'python_version >= \"3.12\"'}\n",
    )
)


@pytest.mark.parametrize(
    ("groups", "extras", "expected"),
    [
        ((), (), "app"),
        (("dev",), (), "app late tool"),
        ((), ("fast",), "app fast"),
        ((), ("fast", "slow"), "app both fast late"),
    ],
)
def test_groups_and_extras_of_poetry_are_read(
    groups: tuple[str, ...], extras: tuple[str, ...], expected: str
) -> None:
    found = read(POETRY_GROUPS, name="poetry.lock", groups=groups, extras=extras)
    assert sorted(versions(found)) == expected.split()
    with pytest.raises(FabricError) as caught:
        read(POETRY_GROUPS, name="poetry.lock", groups=("prod",), extras=("huge",))
    assert "`poetry.lock` has `fast`, `slow`" in caught.value.problems[0].message
    assert "`poetry.lock` has `dev`" in caught.value.problems[1].message


@pytest.mark.parametrize(
    ("kind", "origin"),
    [
        ("git", "is not pinned to a commit"),
        ("url", "a URL"),
        ("file", "a file"),
        ("x", "another source"),
    ],
)
def test_sources_of_poetry_that_are_not_read_are_refused(kind: str, origin: str) -> None:
    rest = f'[package.source]\ntype = "{kind}"\nurl = "https://git.example/x"\n'
    with pytest.raises(FabricError) as caught:
        read(POETRY_TAIL + poetry_package("x", rest=rest), name="poetry.lock")
    assert caught.value.first.code == "input/package-source"
    assert origin in caught.value.first.message


@pytest.mark.parametrize("version", ["1.1", "2.0", "3.0", ""])
def test_other_versions_of_poetry_locks_are_refused(version: str) -> None:
    with pytest.raises(FabricError) as caught:
        read(POETRY_LOCK.replace('"2.1"', f'"{version}"'), name="poetry.lock")
    assert caught.value.first.code == "input/bad-lock"
    assert "poetry lock" in caught.value.first.hint


def test_a_dependency_that_an_extra_has_too_is_locked_for_the_extra() -> None:
    assert "fast" not in versions(read(POETRY_LOCK, name="poetry.lock", dependencies=["fast"]))
    with pytest.raises(FabricError) as caught:
        read(POETRY_LOCK, name="poetry.lock", dependencies=["flask"])
    assert caught.value.first.code == "input/lock-outdated"
    assert caught.value.first.hint == "run: poetry lock"


@pytest.mark.parametrize("dependency", ["tool", "app>=2"])
def test_a_project_that_needs_more_than_the_main_group_has_is_refused(dependency: str) -> None:
    with pytest.raises(FabricError) as caught:
        read(POETRY_LOCK, name="poetry.lock", dependencies=[dependency])
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
    expected = ["alpha<3,>=2", "beta<1.3,>=1.2", "gamma"]
    assert list(list_poetry_requirements(text)) == expected
    text += '[tool.poetry.group.Dev.dependencies]\ntool = "1.2"\n'
    assert list(list_poetry_requirements(text)) == expected
    assert list(list_poetry_requirements(text, ["dev"])) == [*expected, "tool==1.2"]


def package(name: str, version: str = "1.0", rest: str = "") -> str:
    file = f"{name}-{version}-py3-none-any.whl"
    wheel = (
        f'{{ url = "https://files.example/{file}", hashes = {{ sha256 = "{digest_of(file)}" }} }}'
    )
    return f'[[packages]]\nname = "{name}"\nversion = "{version}"\n{rest}wheels = [{wheel}]\n'


LOCK_HEAD = (
    'lock-version = "1.0"\nrequires-python = ">=3.11"\ndefault-groups = ["main"]\n'
    'dependency-groups = ["main", "dev"]\nextras = ["fast"]\n'
)
LOCK = LOCK_HEAD + "".join(
    (
        package("app"),
        package("arm", rest="marker = \"platform_machine == 'aarch64'\"\n"),
        package("fast", rest="marker = \"'fast' in extras\"\n"),
        package("main", rest="marker = \"'main' in dependency_groups\"\n"),
        package("tool", rest="marker = \"'dev' in dependency_groups\"\n"),
        package("solo", rest="marker = \"python_full_version < '3.12'\"\n"),
        package("solo", "2.0", rest="marker = \"python_full_version >= '3.12'\"\n"),
        '[[packages]]\nname = "core"\ndirectory = { path = "libs/core", editable = true }\n',
        '[[packages]]\nname = "api"\ndirectory = { path = "." }\n',
    )
)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (INTEL, {"app": "1.0", "main": "1.0", "solo": "2.0"}),
        (ARM, {"app": "1.0", "arm": "1.0", "main": "1.0", "solo": "2.0"}),
        (OLD, {"app": "1.0", "main": "1.0", "solo": "1.0"}),
    ],
    ids=lambda one: getattr(one, "title", None),
)
def test_rows_are_read_for_the_target_without_extras(
    target: object, expected: dict[str, str]
) -> None:
    found = read(LOCK, target, name="pylock.toml")  # type: ignore[arg-type]
    assert versions(found) == expected
    assert found is not None
    assert found.folders == (("core", "libs/core"),)


def test_groups_and_extras_of_pylock_are_chosen_by_markers() -> None:
    found = versions(read(LOCK, name="pylock.toml", groups=("dev",), extras=("fast",)))
    assert {*found} == {"app", "fast", "main", "solo", "tool"}
    with pytest.raises(FabricError, match="`pylock.toml` has `dev`, `main`"):
        read(LOCK, name="pylock.toml", groups=("worker",))
    # The lock with the name of a group is of this group.
    assert {*versions(read(LOCK, name="pylock.worker.toml", groups=("worker",)))} == {
        "app",
        "main",
        "solo",
    }


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ('vcs = { type = "git", url = "https://git.example/x" }', "not pinned to a commit"),
        ('vcs = { type = "git", path = "../x" }', "unsupported URL of repository `x`: `../x`"),
        ('vcs = { type = "hg", url = "https://hg.example/x" }', "a repository"),
        ('archive = { url = "https://files.example/x.zip" }', "a file"),
    ],
)
def test_sources_that_are_not_read_are_refused(source: str, origin: str) -> None:
    row = f'lock-version = "1.0"\n[[packages]]\nname = "x"\n{source}\n'
    with pytest.raises(FabricError) as caught:
        read(row, name="pylock.toml")
    assert caught.value.first.code == "input/package-source"
    assert origin in caught.value.first.message


@pytest.mark.parametrize("text", ["", 'lock-version = "2.0"\n'])
def test_other_versions_of_the_format_are_refused(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        read(text, name="pylock.toml")
    assert caught.value.first.code == "input/bad-lock"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("environments = [\"sys_platform == 'win32'\"]\n", "input/bad-lock"),
        ("environments = [\"sys_platform == 'linux'\"]\n", ""),
        (package("late", rest='requires-python = ">=3.13"\n'), "input/lock-python"),
        (package("odd", rest="marker = \"sys_platform ~= 'linux'\"\n"), "input/bad-lock"),
    ],
)
def test_a_lock_for_other_environments_is_refused(change: str, code: str) -> None:
    before, start, rest = LOCK.partition("[[packages]]")
    text = before + change + start + rest if "environments" in change else LOCK + change
    if not code:
        assert versions(read(text, name="pylock.toml"))["app"] == "1.0"
        return
    with pytest.raises(FabricError) as caught:
        read(text, name="pylock.toml")
    assert caught.value.first.code == code


def test_a_row_needs_no_version_beside_its_wheel() -> None:
    text = LOCK + package("more").replace('version = "1.0"\n', "")
    assert versions(read(text, name="pylock.toml"))["more"] == "1.0"


HASHES = [digest_of("a"), digest_of("b")]
PIPENV_LOCK = f"""{{
    "_meta": {{
        "hash": {{"sha256": "0"}},
        "pipfile-spec": 6,
        "requires": {{"python_version": "3.12"}},
        "sources": []
    }},
    "default": {{
        "app": {{
            "extras": ["more"],
            "hashes": ["sha256:{HASHES[0]}", "sha256:{HASHES[1]}", "md5:1"],
            "version": "==2.0"
        }},
        "arm": {{
            "hashes": ["sha256:{HASHES[0]}"],
            "markers": "platform_machine == 'aarch64'",
            "version": "==1.0"
        }},
        "core": {{"editable": true, "path": "./core"}}
    }},
    "develop": {{
        "app": {{"hashes": ["sha256:{HASHES[0]}", "sha256:{HASHES[1]}"], "version": "==2.0"}},
        "Tool": {{"hashes": ["sha256:{HASHES[0]}"], "version": "==1.0"}}
    }},
    "worker": {{
        "app": {{
            "hashes": ["sha256:{HASHES[0]}"], "version": "==3.0"
        }}
    }},
    "own": {{
        "kit": {{
            "git": "https://git.example/x", "ref": "abc"
        }}
    }}
}}
"""


def test_a_lock_of_pipenv_has_all_hashes_of_a_version() -> None:
    found = read(PIPENV_LOCK, name="Pipfile.lock")
    assert found is not None
    assert [(one.name, one.version, one.hashes) for one in found.pins] == [
        ("app", "2.0", tuple(sorted(HASHES)))
    ]
    assert found.folders == (("core", "./core"),)
    assert {*versions(read(PIPENV_LOCK, ARM, name="Pipfile.lock"))} == {"app", "arm"}
    chosen = read(PIPENV_LOCK, name="Pipfile.lock", groups=("develop",))
    assert versions(chosen) == {"app": "2.0", "tool": "1.0"}


@pytest.mark.parametrize(
    ("text", "groups", "code", "message"),
    [
        (PIPENV_LOCK, ("dev",), "input/unknown-group", "`develop`, `own`, `worker`"),
        (PIPENV_LOCK, ("worker",), "input/bad-lock", "two versions of `app`, 2.0 and 3.0"),
        (PIPENV_LOCK, ("own",), "input/package-source", "`kit` is not pinned"),
        (PIPENV_LOCK.replace("3.12", "3.11"), (), "input/lock-python", "for Python ==3.11"),
        (
            PIPENV_LOCK.replace('spec": 6', 'spec": 5'),
            (),
            "input/bad-lock",
            "version of its format",
        ),
        (PIPENV_LOCK.replace("==2.0", "*"), (), "input/bad-lock", "no version of `app`"),
        ("", (), "input/bad-lock", "Input data was truncated"),
        ("[" * 5000, (), "input/bad-lock", "Pipfile.lock"),
    ],
)
def test_a_lock_of_pipenv_that_cannot_be_read_is_refused(
    text: str, groups: tuple[str, ...], code: str, message: str
) -> None:
    with pytest.raises(FabricError) as caught:
        read(text, name="Pipfile.lock", groups=groups)
    assert caught.value.first.code == code
    assert message in caught.value.first.message


def test_requirements_of_a_pipfile_are_those_of_its_category() -> None:
    text = """[packages]
alpha = "*"
beta = {version = ">=1", extras = ["x"]}
gamma = {version = "*", markers = "os_name == 'nt'"}
[dev-packages]
tool = "==2"
[Worker]
queue = "*"
[scripts]
x = "y"
"""
    assert list(list_pipfile_requirements(text)) == ["alpha", "beta>=1"]
    assert list(list_pipfile_requirements(text, ["develop", "worker"]))[2:] == ["tool==2", "queue"]


def pdm_package(name: str, rest: str = "", groups: str = '"default"') -> str:
    file = f"{name}-1.0-py3-none-any.whl"
    return (
        f'[[package]]\nname = "{name}"\nversion = "1.0"\ngroups = [{groups}]\n{rest}'
        f'files = [\n    {{file = "{file}", hash = "sha256:{digest_of(file)}"}},\n]\n'
    )


PDM_LOCK = """[metadata]
groups = ["default", "fast", "worker"]
strategy = ["inherit_metadata"]
lock_version = "4.5.0"
content_hash = "sha256:0"
[[metadata.targets]]
requires_python = ">=3.12"
""" + "".join(
    (
        pdm_package("app"),
        pdm_package("app", 'extras = ["more"]\n'),
        pdm_package("arm", "marker = \"platform_machine == 'aarch64'\"\n"),
        pdm_package("quick", groups='"fast"'),
        pdm_package("queue", groups='"default", "worker"', rest="marker = \"os_name == 'nt'\"\n"),
        pdm_package("tool", groups='"worker"'),
        '[[package]]\nname = "core"\nversion = "1"\npath = "./core"\ngroups = ["default"]\n',
    )
)


def test_groups_and_extras_of_pdm_are_groups_of_its_lock() -> None:
    found = read(PDM_LOCK, name="pdm.lock")
    assert versions(found) == {"app": "1.0"}
    assert found is not None
    assert (len(found.pins), found.folders) == (1, (("core", "./core"),))
    assert {*versions(read(PDM_LOCK, ARM, name="pdm.lock"))} == {"app", "arm"}
    chosen = read(PDM_LOCK, name="pdm.lock", groups=("worker",), extras=("fast",))
    assert {*versions(chosen)} == {"app", "quick", "tool"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (PDM_LOCK.replace("inherit_metadata", "cross_platform"), "input/bad-lock"),
        (PDM_LOCK.replace("4.5.0", "3"), "input/bad-lock"),
        (PDM_LOCK.replace(">=3.12", ">=3.13"), "input/lock-python"),
    ],
)
def test_a_lock_of_pdm_that_cannot_be_read_is_refused(text: str, code: str) -> None:
    with pytest.raises(FabricError) as caught:
        read(text, name="pdm.lock")
    assert caught.value.first.code == code


COMMIT = "0123456789abcdef0123456789abcdef01234567"
POETRY_GIT = f"""
[package.source]
type = "git"
url = "https://git.example/x"
reference = "main"
resolved_reference = "{COMMIT}"
subdirectory = "lib"
"""
PYLOCK_GIT = f"""lock-version = "1.0"
[[packages]]
name = "x"
[packages.vcs]
type = "git"
url = "https://git.example/x"
requested-revision = "main"
commit-id = "{COMMIT}"
subdirectory = "lib"
"""
PDM_GIT = f'git = "https://git.example/x"\nrevision = "{COMMIT}"\nsubdirectory = "lib"\n'
PIPENV_GIT = PIPENV_LOCK.replace('"ref": "abc"', f'"ref": "{COMMIT}", "subdirectory": "lib"')


@pytest.mark.parametrize(
    ("name", "text", "groups"),
    [
        ("poetry.lock", POETRY_TAIL + poetry_package("x", rest=POETRY_GIT), ()),
        ("pylock.toml", PYLOCK_GIT, ()),
        ("pdm.lock", PDM_LOCK + pdm_package("x", PDM_GIT), ()),
        ("Pipfile.lock", PIPENV_GIT.replace('"kit"', '"x"'), ("own",)),
    ],
)
def test_a_repository_is_read_with_its_commit(
    name: str, text: str, groups: tuple[str, ...]
) -> None:
    found = read(text, name=name, groups=groups)
    assert found is not None
    line = f"x @ git+https://git.example/x@{COMMIT}#subdirectory=lib"
    assert [one.line for one in found.repositories] == [line]
    assert f"{line}\n" in found.text


def pylock_git(name: str, commit: str, subdirectory: str = "lib") -> str:
    row = PYLOCK_GIT.partition("[[packages]]")[2].replace(COMMIT, commit)
    named = row.replace('name = "x"', f'name = "{name}"')
    return f"[[packages]]{named}".replace('"lib"', f'"{subdirectory}"')


@pytest.mark.parametrize(
    ("rows", "code", "message"),
    [
        (
            pylock_git("x", "a" * 40) + pylock_git("x", "b" * 40),
            "input/bad-lock",
            "two versions of `x`, git+https://git.example/x@aaaa",
        ),
        (package("x") + pylock_git("x", COMMIT), "input/bad-lock", "two versions of `x`, 1.0 and"),
        (pylock_git("x y", COMMIT), "input/bad-lock", "invalid package name `x y`"),
        (pylock_git("x", COMMIT, "a\\nsix==1"), "input/bad-lock", "invalid subdirectory"),
    ],
)
def test_a_bad_row_of_a_repository_is_refused(rows: str, code: str, message: str) -> None:
    with pytest.raises(FabricError) as caught:
        read(f'lock-version = "1.0"\n{rows}', name="pylock.toml")
    assert caught.value.first.code == code
    assert message in caught.value.first.message


def test_a_subdirectory_is_quoted() -> None:
    text = f'lock-version = "1.0"\n{pylock_git("x", COMMIT, "my lib+a;b")}'
    found = read(text, name="pylock.toml")
    assert found is not None
    assert [*found.repositories] == [parse_git_line(one.line) for one in found.repositories]
