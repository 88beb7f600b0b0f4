"""A log that never grows beyond a few files."""

import threading
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.system.files.rotating_log import RotatingLog, read_last_lines


def contents(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in sorted(folder.iterdir())}


def test_oldest_of_three_files_is_deleted(tmp_path: Path) -> None:
    log = RotatingLog(tmp_path / "log", largest=100)
    for number in range(40):
        log.write(f"line {number:02} {'x' * 20}")
    log.close()
    assert list(contents(tmp_path)) == ["log", "log.1", "log.2"]
    assert max(contents(tmp_path).values()) <= 100
    assert read_last_lines(tmp_path / "log", 1)[0].startswith("line 39")
    assert read_last_lines(tmp_path / "log.1", 1)[0].startswith("line 3")


def test_log_file_is_private_and_appended_to(tmp_path: Path) -> None:
    path = tmp_path / ".fabric" / "log"
    for word in ("one", "two"):
        log = RotatingLog(path)
        log.write(word)
        log.close()
    assert path.read_text() == "one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_two_writers_keep_the_newest_lines_in_order(tmp_path: Path) -> None:
    """Each puts files aside that the other holds."""
    path = tmp_path / "log"
    logs = [RotatingLog(path, largest=100) for _ in range(2)]
    for number in range(40):
        logs[number % 2].write(f"line {number:02} {'x' * 20}")
    for log in logs:
        log.close()
    found = [
        line.split()[1]
        for name in ("log.2", "log.1", "log")
        for line in (tmp_path / name).read_text().splitlines()
    ]
    assert found == [f"{number:02}" for number in range(40 - len(found), 40)]
    assert len(found) >= 7


def test_lines_of_many_threads_stay_whole(tmp_path: Path) -> None:
    log = RotatingLog(tmp_path / "log", largest=1000, files=100)

    def write(name: int) -> None:
        for _ in range(50):
            log.write(f"{name}" * 20)

    writers = [threading.Thread(target=write, args=(name,)) for name in range(8)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    log.close()
    lines = [line for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    assert len(lines) == 400
    assert {len(set(line)) for line in lines} == {1}


def test_a_log_that_cannot_be_opened_is_a_problem_at_once(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FabricError) as caught:
        RotatingLog(tmp_path / "log")
    assert caught.value.exit_code == 73


def test_last_lines_of_a_missing_log_are_empty(tmp_path: Path) -> None:
    assert read_last_lines(tmp_path / "log", 3) == []
