"""What counts as moved, by events and by looks alike."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.local.watch import (
    Events,
    Hint,
    Looking,
    Stats,
    list_all_below,
    read_stats,
    wait_for_burst,
)

EACH = pytest.mark.parametrize("hint", [Looking, Events])


def write(path: Path) -> None:
    path.write_text("two")


def write_anew(path: Path) -> None:
    """As editors do: a new file takes the place of the old one."""
    other = path.with_name("other.tmp")
    other.write_text("one")
    other.rename(path)


def same_size_and_time(path: Path) -> None:
    before = path.stat()
    path.write_text("eno")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


MOVES: dict[str, Callable[[Path], object]] = {
    "written": write,
    "written-anew": write_anew,
    "deleted": Path.unlink,
    "same-size-and-time": same_size_and_time,
}


def seen(hint: Hint, before: Stats, stop: threading.Event | None = None) -> tuple[str, ...]:
    return wait_for_burst(hint, before, stop or threading.Event())[0]


@EACH
@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_changed_file_is_reported(
    hint: type[Looking | Events], move: Callable[[Path], object], tmp_path: Path
) -> None:
    file, other = tmp_path / "file", tmp_path / "still"
    for one in (file, other):
        one.write_text("one")
    before = read_stats([str(file), str(other)])
    timer = threading.Timer(0.05, move, (file,))
    timer.start()
    assert seen(hint(), before) == (str(file),)
    timer.join()


@EACH
def test_change_before_the_wait_is_reported(hint: type[Looking | Events], tmp_path: Path) -> None:
    before = read_stats([str(tmp_path / "file")])
    (tmp_path / "file").write_text("one")
    assert seen(hint(), before) == (str(tmp_path / "file"),)


@EACH
def test_file_created_in_a_missing_folder_is_reported(
    hint: type[Looking | Events], tmp_path: Path
) -> None:
    path = tmp_path / "not/there/yet.ts"

    def make() -> None:
        path.parent.mkdir(parents=True)
        path.write_text("now")

    timer = threading.Timer(0.05, make)
    timer.start()
    assert seen(hint(), read_stats([str(path)])) == (str(path),)
    timer.join()


def test_a_burst_is_one_move(tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.ts" for n in range(1000)]
    before = read_stats(map(str, paths))

    class CheckOut:
        def wait(self, _paths: object, _stop: object) -> None:
            for path in paths:
                path.write_text("x")

    found, now = wait_for_burst(CheckOut(), before, threading.Event())
    assert len(found) == 1000
    assert now == read_stats(map(str, paths))


@EACH
def test_stopped_watch_reports_nothing(hint: type[Looking | Events], tmp_path: Path) -> None:
    stop = threading.Event()
    timer = threading.Timer(0.05, stop.set)
    timer.start()
    assert seen(hint(), read_stats([str(tmp_path / "file")]), stop) == ()
    timer.join()


def test_tool_folders_are_skipped(tmp_path: Path) -> None:
    for name in ("src/a.ts", "node_modules/x/index.js", ".git/HEAD", ".fabric/build/a"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = {Path(path).relative_to(tmp_path).as_posix() for path in list_all_below(tmp_path)}
    assert found == {".", "src", "src/a.ts"}
