"""Files that belong together change together, and nobody's work is lost."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.system.files.file_changes import FileChange, change_files


def config_in(folder: Path) -> Path:
    path = folder / "fabric.yml"
    path.write_bytes(b"old")
    return path


def refusal(*changes: FileChange, top: Path) -> str:
    with pytest.raises(FabricError) as caught:
        change_files(changes, top)
    return caught.value.first.code


def test_all_files_are_written_with_their_modes(tmp_path: Path) -> None:
    path = config_in(tmp_path)
    path.chmod(0o600)
    new = tmp_path / "a/b/c.ts"
    change_files((FileChange(new, None, b"c"), FileChange(path, b"old", b"new")), tmp_path)
    assert (new.read_bytes(), path.read_bytes()) == (b"c", b"new")
    assert [one.stat().st_mode & 0o777 for one in (new, path)] == [0o644, 0o600]


def test_concurrently_changed_file_is_not_overwritten(tmp_path: Path) -> None:
    path = config_in(tmp_path)
    new = tmp_path / "src/c.ts"
    changes = (FileChange(new, None, b"c"), FileChange(path, b"older", b"new"))
    assert refusal(*changes, top=tmp_path) == "disk/changed"
    assert path.read_bytes() == b"old"
    assert not new.parent.exists()


def test_concurrently_created_file_is_not_overwritten(tmp_path: Path) -> None:
    path = config_in(tmp_path)
    new = tmp_path / "c.ts"
    new.write_bytes(b"theirs")
    changes = (FileChange(new, None, b"c"), FileChange(path, b"old", b"new"))
    assert refusal(*changes, top=tmp_path) == "disk/changed"
    assert (new.read_bytes(), path.read_bytes()) == (b"theirs", b"old")


def test_written_files_are_rolled_back_if_another_write_fails(tmp_path: Path) -> None:
    path, kept = config_in(tmp_path), tmp_path / "kept.ts"
    kept.write_bytes(b"kept")
    long = tmp_path / ("x" * 250)
    long.write_bytes(b"old")  # the name of its temporary file is too long
    changes = (
        FileChange(tmp_path / "a/b/c.ts", None, b"c"),
        FileChange(kept, b"kept", b"replaced"),
        FileChange(long, b"old", b"new"),
        FileChange(path, b"old", b"new"),
    )
    assert refusal(*changes, top=tmp_path) == "disk/cannot-write"
    assert {one.name for one in tmp_path.iterdir()} == {"fabric.yml", "kept.ts", long.name}
    assert (kept.read_bytes(), path.read_bytes()) == (b"kept", b"old")


def test_non_file_target_is_reported(tmp_path: Path) -> None:
    path = config_in(tmp_path)
    (tmp_path / "c.ts").mkdir()
    changes = (FileChange(tmp_path / "c.ts", None, b"c"), FileChange(path, b"old", b"new"))
    assert refusal(*changes, top=tmp_path) == "disk/cannot-write"


def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    path = config_in(tmp_path)
    path.chmod(0o444)
    assert refusal(FileChange(path, b"old", b"new"), top=tmp_path) == "disk/read-only"
    assert path.read_bytes() == b"old"


def test_a_file_that_went_meanwhile_is_not_made_again(tmp_path: Path) -> None:
    path = config_in(tmp_path)
    path.unlink()
    assert refusal(FileChange(path, b"old", b"new"), top=tmp_path) == "disk/changed"
    assert not path.exists()
