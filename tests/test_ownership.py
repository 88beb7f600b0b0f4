"""Whose files count above a project: ours, as far as nobody else may write on the way."""

import os
from pathlib import Path

import pytest

from fabric import stage_zero
from fabric.ownership import is_ours, is_safe_place, nearest_own, reach
from tests.support.users import taken_over


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A private folder with three more in one another."""
    folder = tmp_path / "a" / "b" / "c"
    folder.mkdir(parents=True)
    tmp_path.chmod(0o700)
    return folder


def reached(folder: Path, top: Path) -> list[str]:
    found = (Path(one) for one in reach(str(folder)))
    return [one.relative_to(top).as_posix() for one in found if one.is_relative_to(top)]


def test_all_folders_of_ours_are_reached(deep: Path, tmp_path: Path) -> None:
    assert reached(deep, tmp_path) == ["a/b/c", "a/b", "a", "."]


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o707])
def test_folder_writable_by_others_stops_the_search(deep: Path, tmp_path: Path, mode: int) -> None:
    (tmp_path / "a" / "b").chmod(mode)
    assert reached(deep, tmp_path) == ["a/b/c"]


def test_folder_owned_by_another_user_stops_the_search(deep: Path, tmp_path: Path) -> None:
    taken_over(tmp_path / "a")
    assert reached(deep, tmp_path) == ["a/b/c", "a/b"]


def test_start_folder_is_used_regardless_of_its_owner(deep: Path, tmp_path: Path) -> None:
    taken_over(deep)
    assert reached(deep, tmp_path) == ["a/b/c"]


def test_file_writable_by_others_is_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(mode=0o600)
    assert is_ours(str(path))
    path.chmod(0o602)
    assert not is_ours(str(path))
    assert not is_ours(str(tmp_path / "nothing"))


def test_shared_group_counts_as_others(tmp_path: Path) -> None:
    """Group 4 has members, or is not known here: either way it is not ours alone."""
    path = tmp_path / "file"
    path.touch(mode=0o600)
    path.chmod(0o620)
    if os.geteuid() == 0:
        os.chown(path, 0, 4_747)
        assert not is_ours(str(path))


def test_the_nearest_own_folder_ends_the_search(deep: Path, tmp_path: Path) -> None:
    (tmp_path / ".fabric").mkdir()
    assert nearest_own(str(deep)) == str(tmp_path / ".fabric")
    (tmp_path / "a" / ".fabric").mkdir()
    assert nearest_own(str(deep)) == str(tmp_path / "a" / ".fabric")
    taken_over(tmp_path / "a" / ".fabric")
    assert nearest_own(str(deep)) == ""


def test_stage_zero_reads_only_the_nearest_project_folder(deep: Path, tmp_path: Path) -> None:
    answers = tmp_path / ".fabric" / "cache" / "answers"
    answers.mkdir(parents=True)
    assert str(answers) in stage_zero.answer_folders(str(deep), {})
    (deep / ".fabric").mkdir()
    assert stage_zero.answer_folders(str(deep), {}) == (f"{deep}/.fabric/answers",)


def test_stage_zero_ignores_a_cache_writable_by_others(tmp_path: Path) -> None:
    answers = tmp_path / ".fabric" / "cache" / "answers"
    answers.mkdir(parents=True)
    for folder in (answers, answers.parent, answers.parent.parent):
        folder.chmod(0o777)
        assert str(answers) not in stage_zero.answer_folders(str(tmp_path), {})
        folder.chmod(0o700)
    chosen = {"FABRIC_CACHE_DIR": str(tmp_path / ".fabric" / "cache")}
    assert stage_zero.answer_folders(str(tmp_path), chosen) == (str(answers),)
    answers.parent.chmod(0o777)
    assert stage_zero.answer_folders(str(tmp_path), chosen) == ()


def test_a_place_in_a_folder_for_everybody_is_safe_if_it_is_ours(tmp_path: Path) -> None:
    shared = tmp_path / "tmp"
    own = shared / "own"
    own.mkdir(parents=True)
    shared.chmod(0o1777)
    assert is_safe_place(str(own))
    assert is_safe_place(str(own / "not" / "there"))
    shared.chmod(0o777)
    assert not is_safe_place(str(own))
    shared.chmod(0o755)
    taken_over(own)
    assert not is_safe_place(str(own))
    assert not is_safe_place(str(own / "not" / "there"))
