"""An append-only file whose damaged end is not read."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.system.files.append_log import AppendLog, read_lines


def written(path: Path, *lines: str) -> bytes:
    log = AppendLog(path)
    log.append(*lines)
    log.close()
    return path.read_bytes()


def test_lines_are_read_in_their_order(tmp_path: Path) -> None:
    log = AppendLog(tmp_path / "deep" / "a.log")
    log.open("first")
    log.append("ü", "", durable=False)
    log.append("last")
    log.close()
    assert read_lines(tmp_path / "deep" / "a.log") == ["first", "ü", "", "last"]


def test_a_log_that_was_closed_is_continued(tmp_path: Path) -> None:
    written(tmp_path / "a.log", "one")
    written(tmp_path / "a.log", "two")
    assert read_lines(tmp_path / "a.log") == ["one", "two"]


@pytest.mark.parametrize("missing", range(1, 12))
def test_a_line_that_was_cut_off_is_not_read(tmp_path: Path, missing: int) -> None:
    path = tmp_path / "a.log"
    content = written(path, "one", "two")
    path.write_bytes(content[:-missing])
    assert read_lines(path) == ["one"]


def test_no_line_after_a_damaged_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    content = written(path, "one", "two", "three")
    path.write_bytes(content.replace(b"two", b"twu"))
    assert read_lines(path) == ["one"]


@pytest.mark.parametrize("name", ["a.log", "file/a.log"])
def test_a_missing_log_has_no_lines(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    assert read_lines(tmp_path / name) == []


def test_only_the_user_can_read_a_log(tmp_path: Path) -> None:
    written(tmp_path / "a.log", "one")
    assert (tmp_path / "a.log").stat().st_mode & 0o777 == 0o600


def test_a_link_in_the_place_of_a_log_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    (tmp_path / "a.log").symlink_to("other")
    with pytest.raises(FabricError):
        written(tmp_path / "a.log", "one")
    assert (tmp_path / "other").read_bytes() == b""
