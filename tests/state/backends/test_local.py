"""The folder of states: who may read it, what is kept beside it, what a killed writer leaves."""

import stat
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.state.backends.local import Local
from fabric.system.files.disk import keep_copy

KEY = "api/dev/cloud1-lambda.state.json"


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_states_and_their_folders_are_for_the_owner_only(tmp_path: Path) -> None:
    root = tmp_path / ".fabric" / "state"
    Local(root).write(KEY, b"one", None)
    assert permissions(root / KEY) == 0o600
    folders = (tmp_path / ".fabric", root, root / "api", root / "api" / "dev")
    assert {permissions(folder) for folder in folders} == {0o700}


def test_reading_makes_nothing(tmp_path: Path) -> None:
    local = Local(tmp_path / "state")
    assert local.read(KEY) is None
    assert local.list("") == ()
    assert list(tmp_path.iterdir()) == []


def test_previous_state_is_stored_as_a_backup(tmp_path: Path) -> None:
    local = Local(tmp_path)
    backup = tmp_path / f"{KEY}.bak"
    first = local.write(KEY, b"one", None)
    assert not backup.exists()
    second = local.write(KEY, b"two", first)
    assert backup.read_bytes() == b"one"
    local.write(KEY, b"three", second)
    assert backup.read_bytes() == b"two"
    assert permissions(backup) == 0o600
    assert local.list("") == (KEY,)


def test_a_backup_that_is_the_state_itself_is_replaced_next_time(tmp_path: Path) -> None:
    local = Local(tmp_path)
    first = local.write(KEY, b"one", None)
    # A writer was killed between its backup and its rename.
    keep_copy(tmp_path / KEY, tmp_path / f"{KEY}.bak")
    local.write(KEY, b"two", first)
    assert (tmp_path / f"{KEY}.bak").read_bytes() == b"one"
    assert leftovers(tmp_path) == []


def test_locks_and_archives_have_no_backup(tmp_path: Path) -> None:
    local = Local(tmp_path)
    version = local.write(".locks/api/dev/x.json", b"one", None)
    local.write(".locks/api/dev/x.json", b"two", version)
    assert not list(tmp_path.rglob("*.bak"))


def test_a_deleted_state_takes_its_backup_and_empty_folders_along(tmp_path: Path) -> None:
    root = tmp_path / "state"
    local = Local(root)
    local.write("api/prod/cloud1-lambda.state.json", b"other", None)
    version = local.write(KEY, b"two", local.write(KEY, b"one", None))
    local.delete(KEY, version)
    assert not (root / "api" / "dev").exists()
    assert local.list("") == ("api/prod/cloud1-lambda.state.json",)
    other = local.read("api/prod/cloud1-lambda.state.json")
    assert other is not None
    local.delete("api/prod/cloud1-lambda.state.json", other.version)
    assert [path.name for path in root.iterdir()] == [".lock"]


def test_temporary_file_of_a_killed_writer_is_ignored_and_cleaned_up(tmp_path: Path) -> None:
    local = Local(tmp_path)
    version = local.write(KEY, b"one", None)
    (tmp_path / "api" / "dev" / ".cloud1-lambda.state.json.1-2-dead.tmp").write_bytes(b"ha")
    assert local.list("") == (KEY,)
    local.write(KEY, b"two", version)
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("key", ["../x.state.json", "/etc/passwd", "a//b", "a/../../b", ""])
def test_a_key_does_not_leave_the_folder(key: str, tmp_path: Path) -> None:
    local = Local(tmp_path / "state")
    with pytest.raises(FabricError) as caught:
        local.write(key, b"", None)
    assert caught.value.first.code == "state/bad-key"
    assert list(tmp_path.iterdir()) == []


def leftovers(folder: Path) -> list[Path]:
    return list(folder.rglob("*.tmp"))
