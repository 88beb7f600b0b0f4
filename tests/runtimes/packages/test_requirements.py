"""Requirement texts: what counts as pinned, and when a lock is still the right one."""

from pathlib import Path

import pytest

from fabric.model.builds.python_target import PythonTarget
from fabric.runtimes.packages.requirement_files import find_source
from fabric.runtimes.packages.requirements import (
    Pin,
    hash_indexes,
    is_pinned,
    is_target_missing,
    list_hashed_pins,
    list_index_variables,
    list_required_names,
    lock_is_current,
    read_project_requirements,
    render_lock,
    select_lines,
)
from tests.support.runtimes_project import write


@pytest.mark.parametrize(
    ("text", "pinned"),
    [
        ("click==8.1.7", True),
        ("click == 8.1.7  # why", True),
        ("Click[extra]==8.1.7 ; python_version > '3.8'", True),
        ("click==8.1.7 \\\n  --hash=sha256:00", True),
        ("--index-url https://example.org\nclick==8.1.7", True),
        ("", True),
        ("click", False),
        ("click>=8", False),
        ("click==8.*", False),
        ("click==8.1.7\nflask", False),
        ("-e .", False),
        ("./wheels/a.whl", False),
        ("click [extra]==8.1.7", True),
        ("click===8.1.7", True),
        ("click==8.1.7 , <9", False),
        ("click @ https://example.org/click-8.1.7-py3-none-any.whl", False),
    ],
)
def test_pinned_means_one_version_for_each(text: str, *, pinned: bool) -> None:
    assert is_pinned(text) is pinned


def test_a_lock_is_pinned_and_current_for_its_source() -> None:
    lock = render_lock("requirements.txt", "b>=1\nA", [Pin("b", "2", ("ff",)), Pin("A", "1")])
    assert is_pinned(lock)
    assert list_required_names(lock) == {"a", "b"}
    assert lock_is_current(lock, [("requirements.txt", "b>=1  # note\nA\n")])
    assert not lock_is_current(lock, [("requirements.txt", "b>=2\nA\n")])


def test_a_lock_serves_the_targets_that_it_was_made_for() -> None:
    lock = render_lock("requirements.txt", "a", [Pin("a", "1")], ["3.12-x86_64-glibc2.34"])
    assert not is_target_missing(lock, "3.12-x86_64-glibc2.34")
    for other in ("3.13-x86_64-glibc2.34", "3.12-aarch64-glibc2.34", "3.12-x86_64-glibc2.26"):
        assert is_target_missing(lock, other)
    assert is_target_missing(render_lock("requirements.txt", "a", [Pin("a", "1")]), "3.12-x86_64")
    assert not is_target_missing("a==1\n", "3.12-x86_64-glibc2.34")  # of another tool


def test_lock_of_another_tool_is_always_current() -> None:
    assert lock_is_current("click==8.1.7\n", [("requirements.txt", "anything")])


def test_dependencies_of_a_project_are_requirements() -> None:
    assert read_project_requirements('[project]\ndependencies = ["a>=1", "b"]') == "a>=1\nb\n"


def test_the_lock_wins_then_requirements_then_the_project(tmp_path: Path) -> None:
    assert find_source(tmp_path, ".") is None
    for name, text in (
        ("pyproject.toml", '[project]\ndependencies = ["a"]'),
        ("requirements.txt", "b\n-r more/extra.txt\n"),
        ("requirements.lock", "c==1\n"),
    ):
        write(tmp_path, {name: text, "more/extra.txt": "d"})
        found = find_source(tmp_path, ".")
        assert found is not None
        assert found.file == name
        if name == "requirements.txt":
            assert found.text == "b\nd\n"
            assert "more/extra.txt" in found.seen.files


LOCKED = "b==2 --hash=sha256:bb\na==1 ; python_version >= '3.12' --hash=sha256:aa\n"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("# why\n" + LOCKED, True),
        ("\n".join(reversed(LOCKED.splitlines())), True),
        (LOCKED.replace(" --hash", " \\\n    --hash"), True),
        (LOCKED + "c==1 ; python_version < '3.12' --hash=sha256:cc\n", True),
        ("--index-url https://a.example\n" + LOCKED, True),
        (LOCKED.replace("sha256:aa", "sha256:ab"), False),
        (LOCKED.replace("a==1", "a==2"), False),
        (LOCKED.replace("a==1", "a[x]==1"), False),
        (LOCKED + "c==1 --hash=sha256:cc\n", False),
    ],
)
def test_a_pinned_text_selects_the_same_on_a_target(text: str, *, same: bool) -> None:
    target = PythonTarget("3.12", "x86_64")
    assert (select_lines(text, target) == select_lines(LOCKED, target)) is same


def test_without_versions_or_hashes_more_of_the_text_counts() -> None:
    target = PythonTarget("3.12", "x86_64")
    assert select_lines("b>=1  # why\na\n", target) == ""
    assert select_lines("b==1  # why\n-i https://a.example\n", target) == (
        "b==1\n-i https://a.example\n"
    )


@pytest.mark.parametrize(
    ("line", "is_hashed"),
    [
        (f"One.Two[more]==1.0 ; os_name == 'posix' --hash=sha256:{'A' * 64}", True),
        (f"one===1.0 --hash=sha256:{'a' * 64}", False),
        (f"one>=1.0 --hash=sha256:{'a' * 64}", False),
        (f"one==1.0 --hash=sha512:{'a' * 128}", False),
        (f"one==1.0 --hash=sha256:{'a' * 64} --hash=sha512:{'a' * 128}", False),
        ("one==1.0", False),
        ("--pre", False),
    ],
)
def test_wheels_are_known_if_each_line_has_a_version_and_hashes(
    line: str, *, is_hashed: bool
) -> None:
    other = f"other==2.0 --hash=sha256:{'b' * 64} --hash=sha256:{'a' * 64}\n"
    found = list_hashed_pins(f"{other}{line}\n")
    pins = (Pin("other", "2.0", ("a" * 64, "b" * 64)), Pin("one-two", "1.0", ("a" * 64,)))
    assert found == (pins if is_hashed else ())
    assert list_hashed_pins(other + other) == ()


ASKED = ("--index-url https://${NAME}:${WORD}@one.example/${PLACE}/",)


@pytest.mark.parametrize(
    ("lines", "variables", "is_same"),
    [
        (ASKED, {"PLACE": "a", "NAME": "b", "WORD": "c"}, True),
        (ASKED, {"PLACE": "a", "PIP_INDEX_URL": ""}, True),
        (ASKED, {"PLACE": "a", "UV_INDEX_OURS_PASSWORD": "c", "PIP_CACHE_DIR": "/c"}, True),
        (ASKED, {"PLACE": "b"}, False),
        (ASKED, {"PLACE": "a", "PIP_EXTRA_INDEX_URL": "https://two.example"}, False),
        (ASKED, {"PLACE": "a", "PIP_FIND_LINKS": "/links"}, False),
        (ASKED, {"PLACE": "a", "UV_INDEX": "https://two.example"}, False),
        (("--index-url https://one.example/a/",), {}, False),
        ((*ASKED, "--find-links /links"), {"PLACE": "a"}, False),
    ],
)
def test_a_hash_of_indexes_contains_no_password(
    lines: tuple[str, ...], variables: dict[str, str], *, is_same: bool
) -> None:
    assert (hash_indexes(lines, variables) == hash_indexes(ASKED, {"PLACE": "a"})) is is_same


def test_a_password_in_a_setting_does_not_affect_the_hash_of_indexes() -> None:
    found = {
        hash_indexes((), {"PIP_INDEX_URL": f"https://user:{word}@one.example/"})
        for word in ("one", "two")
    }
    assert len(found) == 1
    assert {"PLACE", "PIP_INDEX_URL"} <= list_index_variables(ASKED)
    assert not {"NAME", "WORD"} & list_index_variables(ASKED)
