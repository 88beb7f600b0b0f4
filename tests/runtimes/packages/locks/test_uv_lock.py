"""uv.lock: the rows that one workspace member needs on its target."""

import pytest

from fabric.model.problems import FabricError
from tests.support.lock_texts import ARM, HEAD, INTEL, OLD, digest_of, read, uv_package, versions

ROOT = 'virtual = "."'
LOCK = HEAD + "".join(
    (
        uv_package("root", ROOT, needs=["solo"]),
        uv_package("api", 'virtual = "api"', needs=['{ name = "app", extra = ["more"] }', "core"]),
        uv_package(
            "app",
            needs=[
                '{ name = "arm", marker = "platform_machine == \'aarch64\'" }',
                '{ name = "late", marker = "python_full_version >= \'3.12\'" }',
            ],
        )
        + '[package.optional-dependencies]\nmore = [{ name = "extra-only" }]\n',
        uv_package("arm"),
        uv_package(
            "core",
            'editable = "libs/core"',
            needs=[
                '{ name = "solo", version = "1.0", marker = "python_full_version < \'3.12\'" }',
                '{ name = "solo", version = "2.0", marker = "python_full_version >= \'3.12\'" }',
                "plain",
            ],
        ),
        uv_package("plain", 'directory = "../plain"'),
        uv_package("extra-only"),
        uv_package("late"),
        uv_package("unrelated"),
        uv_package("solo") + "resolution-markers = [\"python_full_version < '3.12'\"]\n",
        uv_package("solo", version="2.0")
        + "resolution-markers = [\"python_full_version >= '3.12'\"]\n",
    )
)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (INTEL, {"app": "1.0", "extra-only": "1.0", "late": "1.0", "solo": "2.0"}),
        (ARM, {"app": "1.0", "arm": "1.0", "extra-only": "1.0", "late": "1.0", "solo": "2.0"}),
        (OLD, {"app": "1.0", "extra-only": "1.0", "solo": "1.0"}),
    ],
    ids=lambda one: getattr(one, "title", None),
)
def test_a_member_has_its_dependencies_on_the_target(
    target: object, expected: dict[str, str]
) -> None:
    found = read(LOCK, target, project="/w/api")  # type: ignore[arg-type]
    assert versions(found) == expected
    assert found is not None
    assert found.folders == (("core", "libs/core"), ("plain", "../plain"))


def test_versions_for_separate_pythons_are_chosen_by_their_markers() -> None:
    assert versions(read(LOCK)) == {"solo": "2.0"}
    assert versions(read(LOCK, OLD)) == {"solo": "1.0"}


def test_the_text_names_the_chosen_wheels() -> None:
    found = read(LOCK)
    assert found is not None
    assert found.text == f"solo==2.0 --hash=sha256:{digest_of('solo-2.0-py3-none-any.whl')}\n"


EXTRAS = (
    HEAD
    + uv_package("root", ROOT, needs=["app"])
    + "[package.optional-dependencies]\n"
    + 'all = [{ name = "root", extra = ["fast"] }]\nfast = [{ name = "quick" }]\n'
    + "[package.dev-dependencies]\n"
    + 'dev = [{ name = "tool" }, { name = "arm", marker = "platform_machine == \'aarch64\'" }]\n'
    + 'my-worker = [{ name = "queue", extra = ["more"] }]\n'
    + '[package.metadata]\nprovides-extras = ["all", "fast", "empty"]\n'
    + uv_package("queue")
    + '[package.optional-dependencies]\nmore = [{ name = "extra-only" }]\n'
    + "".join(map(uv_package, ("app", "arm", "extra-only", "quick", "tool")))
)


@pytest.mark.parametrize(
    ("groups", "extras", "expected"),
    [
        ((), (), ""),
        (("dev",), (), "tool"),
        (("My_Worker",), (), "extra-only queue"),
        ((), ("all",), "quick"),
        (("dev",), ("fast", "empty"), "quick tool"),
    ],
)
def test_chosen_groups_and_extras_are_followed(
    groups: tuple[str, ...], extras: tuple[str, ...], expected: str
) -> None:
    found = versions(read(EXTRAS, groups=groups, extras=extras))
    assert sorted(found) == sorted(["app", *expected.split()])


def test_unknown_groups_and_extras_are_refused_with_those_of_the_lock() -> None:
    with pytest.raises(FabricError) as caught:
        read(EXTRAS, groups=("prod",), extras=("slow",))
    assert [one.code for one in caught.value.problems] == ["input/unknown-group"] * 2
    assert "`slow`: `uv.lock` has `all`, `empty`, `fast`" in caught.value.problems[0].message
    assert "`prod`: `uv.lock` has `dev`, `my-worker`" in caught.value.problems[1].message


CONFLICTS = (
    HEAD
    + 'conflicts = [[{ package = "root", extra = "cpu" }, { package = "root", group = "gpu" }]]\n'
    + uv_package(
        "root",
        ROOT,
        needs=[
            '{ name = "solo", version = "1.0", marker = "extra == \'extra-4-root-cpu\'" }',
            '{ name = "solo", version = "2.0", marker = "extra == \'group-4-root-gpu\' or '
            "extra != 'extra-4-root-cpu'\" }",
        ],
    )
    + '[package.optional-dependencies]\ncpu = [{ name = "app" }]\n'
    + '[package.dev-dependencies]\ngpu = [{ name = "card" }]\n'
    + uv_package("solo")
    + uv_package("solo", version="2.0")
    + "".join(map(uv_package, ("app", "card")))
)


@pytest.mark.parametrize(
    ("groups", "extras", "expected"),
    [
        ((), (), {"solo": "2.0"}),
        ((), ("cpu",), {"app": "1.0", "solo": "1.0"}),
        (("gpu",), (), {"card": "1.0", "solo": "2.0"}),
    ],
)
def test_conflicting_extras_select_their_versions(
    groups: tuple[str, ...], extras: tuple[str, ...], expected: dict[str, str]
) -> None:
    assert versions(read(CONFLICTS, groups=groups, extras=extras)) == expected


def test_conflicting_extras_are_refused_together() -> None:
    with pytest.raises(FabricError, match="extra `cpu` and group `gpu`") as caught:
        read(CONFLICTS, groups=("gpu",), extras=("cpu",))
    assert caught.value.first.code == "input/conflicting-groups"


def test_a_project_outside_of_the_workspace_is_not_in_the_lock() -> None:
    assert read(LOCK, project="/w/other") is None


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ('git = "https://git.example/x?rev=1#abc"', "is not pinned to a commit"),
        ('git = "http://git.example/x"', "unsupported URL of repository"),
        ('url = "https://files.example/x-1.0.tar.gz"', "a URL"),
        ('path = "wheels/x-1.0-py3-none-any.whl"', "a file"),
    ],
)
def test_sources_that_are_not_read_are_refused_with_their_line(source: str, origin: str) -> None:
    lock = HEAD + uv_package("root", ROOT, needs=["x"]) + uv_package("x", source)
    with pytest.raises(FabricError) as caught:
        read(lock)
    problem = caught.value.first
    assert (problem.code, "`x`" in problem.message) == ("input/package-source", True)
    assert origin in problem.message
    assert problem.hint
    assert problem.where
    assert lock.splitlines()[problem.where.line - 1] == 'name = "x"'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "version = 2\n",
        HEAD + uv_package("root", ROOT, needs=["missing"]),
        HEAD
        + uv_package("root", ROOT, needs=['{ name = "a", marker = "what" }'])
        + uv_package("a"),
    ],
)
def test_a_lock_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        read(text)
    assert caught.value.first.code == "input/bad-lock"
    assert caught.value.first.hint


@pytest.mark.parametrize("text", ["x = " + "[" * 3000, "x = " + "9" * 5000])
def test_toml_without_end_is_reported(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        read(text)
    assert caught.value.first.code == "input/bad-toml"


def test_bad_toml_is_reported_with_the_file() -> None:
    with pytest.raises(FabricError) as caught:
        read("version = \n")
    assert caught.value.first.code == "input/bad-toml"


def test_a_repository_is_read_with_its_commit() -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    source = f'git = "https://git.example/x?subdirectory=lib&rev=main#{commit}"'
    lock = HEAD + uv_package("root", ROOT, needs=["x", "app"]) + uv_package("app")
    found = read(lock + uv_package("x", source))
    assert found is not None
    line = f"x @ git+https://git.example/x@{commit}#subdirectory=lib"
    assert found.text.splitlines() == [found.pins[0].line, line]
