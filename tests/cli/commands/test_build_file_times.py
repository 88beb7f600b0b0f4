"""What files are stamped with decides; neither coarse stamps nor another clock lose an edit."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fabric.engine.memory.file_index import FileIndex, is_settled
from fabric.model.task import Output, Task
from fabric.model.task_id import TaskId
from fabric.system.clock import read_file_time_ns
from fabric.tasks.contract import TaskResult, TaskTools
from tests.support.fakes import Bench, JoinInputs, JoinKind, join
from tests.support.in_process import project
from tests.support.project import PYTHON
from tests.support.seals import sealed

SECOND = 1_000_000_000
TRIALS = 4


class EditingKind(JoinKind):
    """Somebody edits a source right after it was read."""

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: TaskTools) -> TaskResult:
        made = super().run(task, upstream, shop)
        assert isinstance(task.inputs, JoinInputs)
        for source in task.inputs.sources:
            (shop.workspace / source).write_text("new")
        return made


def test_edit_during_a_task_is_detected_despite_clock_skew(
    tmp_path: Path,
) -> None:
    """The bench's clock is an hour ahead of the file system's."""
    bench = Bench(tmp_path, EditingKind(), stamp=read_file_time_ns)
    bench.write(a="old")
    bench.run(join("a", "a"))
    again = Bench(tmp_path, stamp=read_file_time_ns)
    again.run(join("a", "a"))
    assert again.kind.ran == ["join:a"]
    assert (tmp_path / "out/a.txt").read_text() == "new"


def test_input_changed_since_the_decision_counts_as_modified(tmp_path: Path) -> None:
    """No time is looked at: by the stamps, all of this is long ago."""
    (tmp_path / "a").write_text("old")
    files = FileIndex(tmp_path, sealed(tmp_path / "index"), now_ns=read_file_time_ns(tmp_path))
    files.digest("a")
    (tmp_path / "a").write_text("new")
    late = read_file_time_ns(tmp_path) + 3600 * SECOND
    assert files.after(["a"], late)[1] == ("a",)
    assert files.after(["a"], late)[1] == ()


@pytest.mark.parametrize(
    ("stamps", "now", "proves"),
    [
        ((), 1, True),
        ((5 * SECOND + 1,), 5 * SECOND + 2, True),
        ((5 * SECOND + 1,), 5 * SECOND + 1, False),
        ((5 * SECOND,), 5 * SECOND + 999_999_999, False),
        ((5 * SECOND, SECOND + 1), 8 * SECOND, True),
        ((5 * SECOND, 6 * SECOND + 1), 6 * SECOND + 2, False),
    ],
)
def test_a_stamp_proves_something_once_a_later_write_has_another(
    stamps: tuple[int, ...], now: int, *, proves: bool
) -> None:
    assert is_settled(stamps, lambda: now) is proves


def test_file_time_is_between_times_of_files_written_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "before").write_text("")
    now = read_file_time_ns(tmp_path)
    (tmp_path / "after").write_text("")
    before, after = ((tmp_path / name).stat().st_ctime_ns for name in ("before", "after"))
    assert before <= now <= after
    assert sorted(path.name for path in tmp_path.iterdir()) == ["after", "before"]


@pytest.fixture
def whole_seconds(tmp_path: Path) -> Iterator[Path]:
    """A file system whose inodes have no room for parts of seconds; only root may mount it."""
    image, folder = tmp_path / "image", tmp_path / "mounted"
    image.write_bytes(bytes(8 << 20))
    folder.mkdir()
    made = _succeeds("mkfs.ext4", "-q", "-I", "128", str(image))
    if not made or not _succeeds("mount", "-o", "loop", str(image), str(folder)):
        pytest.skip("this machine mounts no file system for us")
    try:
        yield folder
    finally:
        assert _succeeds("umount", "-l", str(folder))


def _succeeds(*command: str) -> bool:
    try:
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def test_no_edit_is_lost_with_whole_second_timestamps(whole_seconds: Path) -> None:
    made = project(
        whole_seconds / "shop", PYTHON, {"src/one.py": "", "src/two.py": "handler = 0\n"}
    )
    shown = made.root / ".fabric/build/shop/one/src/one.py"
    for number in range(TRIALS):
        for text in (f"A = {number}; handler = 0\n", f"B = {number}; handler = 0\n"):
            (made.root / "src/one.py").write_text(text)
            assert made.fabric("build").code == 0
            assert shown.read_text() == text
