"""The journal of routes that are led elsewhere: read back whole, or an error that loses nothing."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.records.record import Diversion, RecordRef
from fabric.state.dev_journal import (
    DevJournal,
    build_journal_path,
    drop_journal,
    find_diversion_problem,
    keep_journal,
    list_stage_journals,
    read_journal,
)
from fabric.system.process.process_identity import identify_this_process

REF = RecordRef("shop", "dev", "cloud1-lambda")
DEAD = replace(identify_this_process(), started=1)
BEFORE = (("api", "a1"), ("route:r1", "integrations/i1"))


def journal(before: tuple[tuple[str, str], ...] = BEFORE) -> DevJournal:
    way = Diversion("https://name.example.net", "m1", before)
    return DevJournal(REF, "cloud1-lambda", "eu-1", DEAD, "2026-01-01T00:00:00.000Z", way)


def damage(home: Path) -> str:
    with pytest.raises(FabricError) as raised:
        read_journal(home, REF)
    assert raised.value.first.code == "dev/damaged-journal"
    assert raised.value.first.where
    return raised.value.first.message


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_it_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, before: list[tuple[str, str]]
) -> None:
    home = tmp_path_factory.mktemp("home")
    written = journal(tuple(before))
    keep_journal(home, written)
    assert read_journal(home, REF) == written
    assert build_journal_path(home, REF).stat().st_mode & 0o777 == 0o600
    drop_journal(home, REF)
    assert read_journal(home, REF) is None
    assert list(home.iterdir()) == []


@given(st.data())
def test_damaged_journal_is_an_error_and_is_not_deleted(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    home = tmp_path_factory.mktemp("home")
    keep_journal(home, journal())
    path = build_journal_path(home, REF)
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 2))
    byte = data.draw(st.integers(0x21, 0x7E))
    cut = whole[:place]
    changed = cut + bytes([byte]) + whole[place + 1 :]
    for content in (cut, changed):
        path.write_bytes(content)
        if content != whole and not _is_layout(whole, place):
            damage(home)
            assert find_diversion_problem(home, REF)
        assert path.read_bytes() == content


def _is_layout(whole: bytes, place: int) -> bool:
    """A byte that says nothing: spaces between names and values."""
    return whole[place : place + 1].isspace()


def test_journal_of_another_record_or_user_is_not_used(tmp_path: Path) -> None:
    keep_journal(tmp_path, journal())
    other = replace(REF, stage="test")
    path = build_journal_path(tmp_path, other)
    path.parent.mkdir(parents=True)
    path.write_bytes(build_journal_path(tmp_path, REF).read_bytes())
    with pytest.raises(FabricError, match="it belongs to"):
        read_journal(tmp_path, other)
    build_journal_path(tmp_path, REF).chmod(0o666)
    assert "another user" in damage(tmp_path)


def test_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    build_journal_path(tmp_path, REF).mkdir(parents=True)
    damage(tmp_path)


def test_running_session_is_distinguished_from_a_killed_one(tmp_path: Path) -> None:
    assert find_diversion_problem(tmp_path, REF) is None
    keep_journal(tmp_path, journal())
    left = find_diversion_problem(tmp_path, REF)
    assert left
    assert (left.code, "--restore --stream-from dev" in left.hint) == ("dev/left-wired", True)
    keep_journal(tmp_path, replace(journal(), process=identify_this_process()))
    at_work = find_diversion_problem(tmp_path, REF)
    assert at_work
    assert (at_work.code, str(os.getpid()) in at_work.hint) == ("dev/wired", True)


def test_journals_of_a_stage_are_listed(tmp_path: Path) -> None:
    assert list(list_stage_journals(tmp_path, "shop", "dev")) == []
    keep_journal(tmp_path, journal())
    assert list(list_stage_journals(tmp_path, "shop", "dev")) == [REF]
    assert list(list_stage_journals(tmp_path, "shop", "test")) == []
