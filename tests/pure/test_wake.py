"""What a killed run left is swept up by the next one; what a living one writes is left alone."""

import os
import subprocess
import sys
from pathlib import Path

from fabric.engine.wake import marked


def a_dead_process() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def temporary(folder: Path, pid: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".hello.zip.{pid:x}-1-0123abcd.tmp"
    path.touch()
    return path


def killed_run(tmp_path: Path, pid: int) -> None:
    """A marker as a run leaves it that was killed while it wrote."""
    running = tmp_path / "cache" / "running"
    running.mkdir(parents=True, exist_ok=True)
    with marked(tmp_path / "cache", [tmp_path / "home"]):
        (running / str(os.getpid())).rename(running / str(pid))


def test_the_temporary_files_of_a_killed_run_go(tmp_path: Path) -> None:
    pid = a_dead_process()
    killed_run(tmp_path, pid)
    left = [temporary(tmp_path / "home" / "build", pid), temporary(tmp_path / "cache", pid)]
    with marked(tmp_path / "cache", []):
        assert not any(path.exists() for path in left)
    assert list((tmp_path / "cache" / "running").iterdir()) == []


def test_those_of_a_living_run_stay(tmp_path: Path) -> None:
    pid = os.getppid()
    killed_run(tmp_path, pid)
    kept = temporary(tmp_path / "home", pid)
    with marked(tmp_path / "cache", []):
        assert kept.exists()


def test_a_damaged_marker_is_no_obstacle(tmp_path: Path) -> None:
    pid = a_dead_process()
    killed_run(tmp_path, pid)
    (tmp_path / "cache" / "running" / str(pid)).write_text("{")
    with marked(tmp_path / "cache", []):
        assert not (tmp_path / "cache" / "running" / str(pid)).exists()
