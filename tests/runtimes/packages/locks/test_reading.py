"""A lock is read only if it is current and for the Python of the function."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.model.builds.python_target import PythonTarget
from fabric.model.problems import FabricError
from tests.support.lock_texts import HEAD, INTEL, OLD, read, uv_package, versions

LOCK = (
    HEAD
    + uv_package("root", 'virtual = "."', needs=["click", "core"])
    + uv_package("click", version="8.1.7")
    + uv_package("core", 'editable = "core"', version="0.1")
)


@pytest.mark.parametrize(
    ("dependency", "current"),
    [
        ("Click>=8", True),
        ("click[colors]", True),
        ("core==0.1", True),
        ("flask ; sys_platform == 'win32'", True),
        ("flask", False),
        ("click>=9", False),
    ],
)
def test_a_lock_contains_what_its_project_requires(dependency: str, *, current: bool) -> None:
    if current:
        assert versions(read(LOCK, dependencies=[dependency])) == {"click": "8.1.7"}
        return
    with pytest.raises(FabricError) as caught:
        read(LOCK, dependencies=[dependency])
    assert caught.value.first.code == "input/lock-outdated"
    assert caught.value.first.hint == "run: uv lock"
    assert dependency in caught.value.first.message


def test_an_overridden_version_does_not_have_to_match() -> None:
    lock = LOCK + '[manifest]\noverrides = [{ name = "click", specifier = "==8.1.7" }]\n'
    assert versions(read(lock, dependencies=["click>=9"])) == {"click": "8.1.7"}


@pytest.mark.parametrize(
    ("supported", "works"),
    [
        (">=3.12", False),
        (">=3.11.4", True),
        ("<3.12", True),
        ("^3.12", False),
        ("^3.9", True),
        ("~3.11", True),
        ("~3.10", False),
        (">=3.9,<3.10 || >=3.13", False),
        ("3.9 || 3.*", True),
        ("==3.11.4", True),
        (">=3.11.3,<3.11.9", True),
        ("", True),
    ],
)
def test_a_lock_for_another_python_is_refused(supported: str, *, works: bool) -> None:
    lock = LOCK.replace(">=3.11", supported)
    if works:
        assert versions(read(lock, OLD)) == {"click": "8.1.7"}
        return
    with pytest.raises(FabricError) as caught:
        read(lock, OLD)
    assert caught.value.first.code == "input/lock-python"


NAMES = tuple(f"p{at}" for at in range(7))
# For each package those that it needs: later ones, so that some have many users.
GRAPHS = st.tuples(*(st.sets(st.sampled_from(NAMES[at + 1 :] or (None,))) for at in range(7)))
MEMBERS = st.lists(st.sets(st.sampled_from(NAMES)), min_size=1, max_size=4)


def reachable(start: set[str], needs: dict[str, set[str]]) -> set[str]:
    return set(start).union(*(reachable(needs[name], needs) for name in start))


@given(graph=GRAPHS, members=MEMBERS, bumped=st.sampled_from(NAMES))
def test_a_member_changes_exactly_if_a_package_that_it_needs_is_bumped(
    graph: tuple[set[str | None], ...], members: list[set[str]], bumped: str
) -> None:
    needs = {name: {one for one in graph[at] if one} for at, name in enumerate(NAMES)}

    def texts(versions: dict[str, str]) -> list[str]:
        rows = [
            uv_package(f"m{at}", f'virtual = "m{at}"', needs=sorted(one))
            for at, one in enumerate(members)
        ]
        rows += [
            uv_package(name, version=versions.get(name, "1.0"), needs=sorted(needs[name]))
            for name in NAMES
        ]
        found = [read(HEAD + "".join(rows), project=f"/w/m{at}") for at in range(len(members))]
        return [one.text for one in found if one]

    before, after = texts({}), texts({bumped: "2.0"})
    changed = [old != new for old, new in zip(before, after, strict=True)]
    assert changed == [bumped in reachable(one, needs) for one in members]


def test_wheels_of_other_platforms_do_not_change_the_text() -> None:
    def text(*files: str, target: PythonTarget = INTEL) -> str:
        rows = uv_package("root", 'virtual = "."', needs=["a"]) + uv_package("a", files=files)
        found = read(HEAD + rows, target)
        assert found
        return found.text

    mine = "a-1.0-cp312-cp312-manylinux_2_17_x86_64.whl"
    others = ("a-1.0-cp312-cp312-win_amd64.whl", "a-1.0-cp39-cp39-manylinux_2_17_x86_64.whl")
    assert text(mine) == text(*others, mine)
    assert text(mine) != text("a-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", mine)
