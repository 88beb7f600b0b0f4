"""What a killed process left is swept by the next; what may belong to a living one is left."""

import os
import subprocess
import sys
from pathlib import Path

from fabric.app.caching.payload_cleanup import sweep_payloads
from fabric.system.clock import SystemClock
from fabric.system.files.owned_folder import (
    create_owned_folder,
    create_temporary_folder,
    sweep_owned,
)
from fabric.system.process.process_identity import Mark, build_this_mark, is_mark_dead
from tests.support.project import REPO

_DAY = 24 * 3600.0


def _killed(above: Path) -> Path:
    """The folder of a process that was killed while it had one."""
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from fabric.system.files.owned_folder import create_owned_folder\n"
        "with create_owned_folder(Path(sys.argv[1])) as made:\n"
        "    (made / 'document').write_text('secret')\n    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(above)], cwd=REPO, check=False)
    (left,) = above.iterdir()
    return left


def test_owned_folder_exists_only_during_its_process(tmp_path: Path) -> None:
    with create_owned_folder(tmp_path / "above") as made:
        assert made.stat().st_mode & 0o777 == 0o700
        sweep_owned(tmp_path / "above", made.stat().st_mtime)
        assert made.exists()
    assert list((tmp_path / "above").iterdir()) == []


def test_folder_of_a_killed_process_is_removed_by_the_next_command(tmp_path: Path) -> None:
    left = _killed(tmp_path / "payloads")
    assert (left / "document").exists()
    sweep_payloads(tmp_path, SystemClock())
    assert not (tmp_path / "payloads").exists()


def test_folder_of_an_unknown_owner_is_removed_after_a_day(tmp_path: Path) -> None:
    """Of an earlier fabric, of another pid namespace, of another machine."""
    elsewhere = f"1-{build_this_mark().split('-')[1]}-0123456789ab.abc_1234"
    left = [tmp_path / name for name in ("fabric-payload-abc_1234", elsewhere)]
    for one in left:
        one.mkdir()
    made = left[0].stat().st_mtime
    sweep_owned(tmp_path, made + _DAY / 2)
    assert all(one.exists() for one in left)
    sweep_owned(tmp_path, made + 2 * _DAY)
    assert not any(one.exists() for one in left)


def test_pid_without_start_time_and_namespace_proves_nothing() -> None:
    pid, started, space = build_this_mark().split("-")
    assert pid == str(os.getpid())
    assert not is_mark_dead(build_this_mark())
    assert is_mark_dead(Mark(f"{pid}-{int(started) + 1}-{space}")), "the pid is another's now"
    assert not is_mark_dead(Mark(f"999999-1-{space[::-1]}")), "another namespace has its own pids"
    assert not is_mark_dead(Mark("1")), "a pid alone says nothing"


def test_temporary_folder_of_a_killed_process_is_removed_by_the_next_one(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from fabric.system.files.owned_folder import create_temporary_folder\n"
        "with create_temporary_folder('build', Path(sys.argv[1])):\n    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=REPO, check=False)
    (left,) = tmp_path.iterdir()
    others = [
        tmp_path / f"fabric-build-{build_this_mark()}.abc_1234",  # of a living process
        tmp_path / "fabric-build-abc_1234",
        tmp_path / left.name.replace("build", "vendor"),
    ]
    for one in others:
        one.mkdir()
    link = tmp_path / f"{left.name[:-8]}abc_1234"
    link.symlink_to(others[0])
    with create_temporary_folder("build", tmp_path) as made:
        assert made.stat().st_mode & 0o777 == 0o700
        assert sorted(tmp_path.iterdir()) == sorted([*others, link, made])
    assert not made.exists()
