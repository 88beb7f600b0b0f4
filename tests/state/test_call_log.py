"""The log of calls: what was noted is found again, whatever else is in its files."""

import stat
from pathlib import Path

from fabric.state.call_log import CallEntry, CallLog, call_log_path, read_calls
from fabric.system.files.rotating_log import build_numbered_path


def noted(path: Path, *entries: CallEntry) -> None:
    log = CallLog(path)
    for one in entries:
        log.note(one)
    log.close()


def entry(at: int, *lines: str) -> CallEntry:
    return CallEntry(at, "hello", f"request-{at}", 7, "cloud1-lambda", "", lines)


def test_calls_are_found_oldest_first_from_a_time_on(tmp_path: Path) -> None:
    path = call_log_path(tmp_path, "dev", "shop")
    noted(path, entry(1, "a"), entry(2, "b\u2028c"), entry(3))
    assert [one.at for one in read_calls(path).entries] == [1, 2, 3]
    assert [one.at for one in read_calls(path, since=2).entries] == [2, 3]
    assert read_calls(path).entries[1].lines == ["b\u2028c"]


def test_missing_log_has_no_calls(tmp_path: Path) -> None:
    assert read_calls(call_log_path(tmp_path, "dev", "shop")).entries == ()


def test_log_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    path = call_log_path(tmp_path, "dev", "shop")
    noted(path, entry(1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_damaged_lines_are_counted_and_do_not_hide_valid_ones(tmp_path: Path) -> None:
    path = call_log_path(tmp_path, "dev", "shop")
    noted(path, entry(1))
    with path.open("ab") as file:
        file.write(b"\xff\xfe\n{}\n[1]\n")
    noted(path, entry(2))
    with path.open("ab") as file:
        file.write(b'{"at": 3, "function"')  # still being written
    found = read_calls(path)
    assert [one.at for one in found.entries] == [1, 2]
    assert found.damaged == 3


def test_rotated_files_are_read_oldest_first(tmp_path: Path) -> None:
    path = call_log_path(tmp_path, "dev", "shop")
    for number in (2, 1):
        noted(build_numbered_path(path, number), entry(3 - number))
    noted(path, entry(3))
    assert [one.at for one in read_calls(path).entries] == [1, 2, 3]


def test_long_call_output_is_truncated_with_a_notice(tmp_path: Path) -> None:
    path = call_log_path(tmp_path, "dev", "shop")
    noted(path, entry(1, "short", "x" * 300_000, "last"))
    (found,) = read_calls(path).entries
    assert len(found.lines) == 2
    assert found.lines[1].endswith("(2 lines truncated)")
    assert path.stat().st_size < 300_000


def test_unwritable_log_raises_no_error(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file in the place of the folder")
    noted(call_log_path(tmp_path, "dev", "shop"), entry(1))
