"""Functions in an unknown state, and records that were not written: files on this machine."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode
from fabric.model.records.record_json import decode, encode
from fabric.state.records.unsure import (
    build_unsure_path,
    build_unwritten_path,
    drop_note,
    drop_unwritten,
    find_unwritten_problem,
    keep_note,
    keep_unwritten,
    mark_unknown,
    read_unsure_names,
    with_note,
)
from tests.support.records import function, record

REF = record().ref
TWO = record(mode=Mode.REAL, functions=(function(), function("world")), release_key="key")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"functions": "ab"}', '{"functions": [1]}'])
def test_damaged_unsure_file_reads_as_empty(text: str, tmp_path: Path) -> None:
    path = build_unsure_path(tmp_path, REF)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert read_unsure_names(tmp_path, REF) == ()


def test_a_note_is_merged_with_an_earlier_one(tmp_path: Path) -> None:
    keep_note(tmp_path, REF, ["b", "a"])
    keep_note(tmp_path, REF, ["c", "a"])
    assert read_unsure_names(tmp_path, REF) == ("a", "b", "c")
    assert build_unsure_path(tmp_path, REF).stat().st_mode & 0o777 == 0o600


def test_every_read_of_a_record_includes_the_note(tmp_path: Path) -> None:
    keep_note(tmp_path, REF, ["world"])
    found = with_note(tmp_path, TWO)
    assert [one.key for one in found.functions] == ["k", ""]
    assert found.release_key == ""


def test_simulated_functions_are_never_unknown(tmp_path: Path) -> None:
    keep_note(tmp_path, REF, ["hello"])
    assert with_note(tmp_path, record()) == record()


def test_functions_that_are_not_recorded_yet_are_marked_too() -> None:
    assert [one.name for one in mark_unknown(TWO, ["new"]).functions] == ["hello", "new", "world"]


def test_a_note_is_deleted_only_if_the_record_contains_all_of_it(tmp_path: Path) -> None:
    keep_note(tmp_path, REF, ["a", "b"])
    drop_note(tmp_path, REF, ["a"])
    assert read_unsure_names(tmp_path, REF) == ("a", "b")
    drop_note(tmp_path, REF, ["a", "b", "c"])
    assert not build_unsure_path(tmp_path, REF).exists()
    assert list(tmp_path.iterdir()) == []


def test_an_unwritten_record_is_stored_with_the_command_to_push_it(tmp_path: Path) -> None:
    home = tmp_path / ".fabric"
    cause = FabricError(Problem("backend/unreachable", "cannot reach it"))
    error = keep_unwritten(home, TWO, cause)
    path = build_unwritten_path(home, REF)
    assert decode(path.read_bytes(), "here") == TWO
    assert [one.code for one in error.problems] == ["state/not-written", "backend/unreachable"]
    assert f"fabric state push -c {tmp_path} --file {path}" in error.first.hint
    problem = find_unwritten_problem(home, REF)
    assert problem
    assert problem.code == "state/errored"


def test_an_unwritten_record_is_deleted_once_exactly_it_is_stored(tmp_path: Path) -> None:
    keep_unwritten(tmp_path, TWO, FabricError(Problem("backend/unreachable", "")))
    drop_unwritten(tmp_path, REF, encode(record()))
    assert find_unwritten_problem(tmp_path, REF)
    drop_unwritten(tmp_path, REF, encode(TWO))
    assert find_unwritten_problem(tmp_path, REF) is None
