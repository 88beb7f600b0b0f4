"""The history and the target state of a router."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.app.router.files import RouterFiles
from fabric.model.outcomes.routed import DriftRow, RoutedShare, SyncEntry, TargetState
from fabric.model.problems import FabricError

DRIFT = DriftRow(0, 0, 1, 0, drift_detected=False)
SHARES = (RoutedShare("a", "https://a.example", 100),)
ENTRY = SyncEntry("1", "sync", "cli", False, "now", SHARES, (), SHARES, DRIFT)  # noqa: FBT003
STATE = TargetState("shop", "dev", ())


def files(folder: Path, service: str = "shop") -> RouterFiles:
    return RouterFiles(folder, service, "dev")


def test_the_history_is_newest_first(tmp_path: Path) -> None:
    for number in "123":
        assert files(tmp_path).add(replace(ENTRY, id=number)) is None
    assert [one.id for one in files(tmp_path).history()] == ["3", "2", "1"]


def test_without_files_there_is_no_history_and_no_state(tmp_path: Path) -> None:
    assert files(tmp_path).history() == ()
    assert files(tmp_path).state() is None


def test_a_damaged_history_is_moved_and_a_new_one_begins(tmp_path: Path) -> None:
    one = files(tmp_path)
    for number in (1, 2):
        one.history_path.write_text("{")
        assert one.readable_history() == ()
        with pytest.raises(FabricError):
            one.history()
        damage = one.add(replace(ENTRY, id=str(number)))
        assert damage
        assert "a new file was started" in damage.message
        assert [entry.id for entry in one.history()] == [str(number)]
    assert len(list(tmp_path.glob("*.damaged*"))) == 2


def test_files_of_another_service_are_refused(tmp_path: Path) -> None:
    files(tmp_path).add(ENTRY)
    files(tmp_path).write_state(STATE)
    other = files(tmp_path, "cart")
    for read in (other.history, other.readable_history, other.state):
        with pytest.raises(FabricError) as caught:
            read()
        assert caught.value.first.code == "router/other-service"


def test_the_previous_state_is_restored_or_deleted(tmp_path: Path) -> None:
    one = files(tmp_path)
    one.write_state(STATE)
    assert one.state() == STATE
    one.put_back(None)
    assert one.state() is None
    one.put_back(STATE)
    assert one.state() == STATE


def test_a_damaged_state_is_reported(tmp_path: Path) -> None:
    files(tmp_path).state_path.write_text("[]")
    with pytest.raises(FabricError) as caught:
        files(tmp_path).state()
    assert caught.value.first.code == "router/damaged-state"
