"""All of the files, or none."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.system.files.new_files import write_new_files


def test_files_and_their_folders_are_made(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    write_new_files(folder, [("src/one.py", b"1"), (".fabric/x", b"2"), ("two", b"")])
    assert (folder / "src/one.py").read_bytes() == b"1"
    assert (folder / ".fabric").stat().st_mode & 0o777 == 0o700


def test_failed_write_creates_no_files(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    files = [("new/src/one.py", b"1"), ("there", b"2"), ("three", b"3")]
    with pytest.raises(FabricError) as caught:
        write_new_files(tmp_path, files)
    assert caught.value.first.code == "disk/cannot-write"
    assert [one.name for one in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there").read_text() == "mine"


def test_whatever_ends_it_nothing_stays(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="null"):
        write_new_files(tmp_path / "top", [("src/one", b"1"), ("\0", b"2")])
    assert not (tmp_path / "top").exists()
