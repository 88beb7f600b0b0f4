"""What a killed run left is swept up by the next one; what a living one writes is left alone."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabric.engine.leftovers import mark_writing
from fabric.system.process.process_identity import build_this_mark
from tests.support.project import REPO

_DAYS = 3 * 24 * 3600
_WRITES = """\
import os, sys
from pathlib import Path
from fabric.engine.leftovers import mark_writing
from fabric.system.files.disk import RUN
base = Path(sys.argv[1])
with mark_writing(base / "cache", [base / ".fabric"]):
    for folder in (base / ".fabric" / "build", base / "cache"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f".hello.zip.{os.getpid():x}-1-{RUN}.tmp").touch()
    print("written", flush=True)
    sys.stdin.read()
"""


def _writer(folder: Path, *before: str) -> subprocess.Popen[bytes]:
    """A run that is in the middle of writing."""
    child = subprocess.Popen(
        [*before, sys.executable, "-c", _WRITES, str(folder)],
        cwd=REPO,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"written\n"
    return child


def _ended(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.communicate()


def _temporary(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.tmp"))


def _markers(folder: Path) -> list[Path]:
    return sorted((folder / "cache" / "running").iterdir())


def _of_another_space(folder: Path) -> Path:
    """The marker as a process of another pid namespace or machine leaves it."""
    (marker,) = _markers(folder)
    return marker.rename(marker.with_name(re.sub(r"-[0-9a-f]{12}-", f"-{'0' * 12}-", marker.name)))


def _aged(*paths: Path) -> None:
    for path in paths:
        then = path.stat().st_mtime - _DAYS
        os.utime(path, (then, then))


def test_the_temporary_files_of_a_killed_run_go(tmp_path: Path) -> None:
    _ended(_writer(tmp_path))
    assert len(_temporary(tmp_path)) == 2
    with mark_writing(tmp_path / "cache", []):
        assert _temporary(tmp_path) == []
    assert _markers(tmp_path) == []


def test_temporary_files_of_a_running_process_stay(tmp_path: Path) -> None:
    child = _writer(tmp_path)
    with mark_writing(tmp_path / "cache", []):
        assert len(_temporary(tmp_path)) == 2
    _ended(child)


def test_each_run_of_a_process_has_its_own_marker(tmp_path: Path) -> None:
    with mark_writing(tmp_path / "cache", []):
        with mark_writing(tmp_path / "cache", []):
            assert len(_markers(tmp_path)) == 2
        assert len(_markers(tmp_path)) == 1, "the first to end takes nobody else's away"
    assert _markers(tmp_path) == []


def test_files_of_a_process_with_the_same_pid_in_another_namespace_stay(tmp_path: Path) -> None:
    """In two containers on one folder each may have the pid of the other."""
    _ended(_writer(tmp_path))
    kept = _of_another_space(tmp_path)
    with mark_writing(tmp_path / "cache", []):
        assert len(_temporary(tmp_path)) == 2
        assert kept.exists()


def test_files_that_may_belong_to_a_live_process_are_deleted_after_a_while(tmp_path: Path) -> None:
    _ended(_writer(tmp_path))
    kept = _of_another_space(tmp_path)
    fresh, old = _temporary(tmp_path)
    _aged(kept, old)
    with mark_writing(tmp_path / "cache", []):
        assert _temporary(tmp_path) == [fresh], "what was just written may still be wanted"
        assert not kept.exists()


def test_marker_of_an_earlier_version_is_not_proof_of_death(tmp_path: Path) -> None:
    """It has a pid only, and that of a container is there on every machine, or on none."""
    _ended(_writer(tmp_path))
    (marker,) = _markers(tmp_path)
    old = marker.rename(marker.with_name(marker.name.partition("-")[0]))
    with mark_writing(tmp_path / "cache", []):
        assert len(_temporary(tmp_path)) == 2
    _aged(old, *_temporary(tmp_path))
    with mark_writing(tmp_path / "cache", []):
        assert _temporary(tmp_path) == []
        assert not old.exists()


def test_reused_pid_does_not_protect_old_files(tmp_path: Path) -> None:
    _ended(_writer(tmp_path))
    (marker,) = _markers(tmp_path)
    _, started, rest = marker.name.split("-", 2)
    same_pid = marker.with_name(f"{os.getpid()}-{int(started) - 1}-{rest}")
    marker.rename(same_pid)
    with mark_writing(tmp_path / "cache", []):
        assert not same_pid.exists()


def test_damaged_marker_is_ignored(tmp_path: Path) -> None:
    _ended(_writer(tmp_path))
    (marker,) = _markers(tmp_path)
    marker.write_text("{")
    with mark_writing(tmp_path / "cache", []):
        assert not marker.exists()


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_two_pid_namespaces_in_one_folder_do_not_delete_each_others_files(tmp_path: Path) -> None:
    space = ("unshare", "--pid", "--fork", "--mount-proc")
    if subprocess.run([*space, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not make a pid namespace")
    children = [_writer(tmp_path, *space) for _ in range(2)]
    names = [marker.name for marker in _markers(tmp_path)]
    assert len(names) == 2, names
    assert len({name.partition("-")[0] for name in names}) == 1, "they have the same pid"
    assert len(_temporary(tmp_path)) == 4
    with mark_writing(tmp_path / "cache", []):
        assert len(_temporary(tmp_path)) == 4
    for child in children:
        child.communicate()
    assert _markers(tmp_path) == []
    assert build_this_mark().rpartition("-")[2] not in "".join(names)
