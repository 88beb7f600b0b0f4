"""What becomes of children whose caller ends without a word."""

import fcntl
import functools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fabric.system.process.child_reaper import ChildReaper
from tests.support.project import REPO
from tests.support.until import is_alive, until

NOBODY = 2_000_000_000  # no process has such a number

CALLER = """\
import sys
from pathlib import Path
from fabric.system.process.process import run_child
run_child(["true"], cwd=Path("/"))
run_child(sys.argv[1:], cwd=Path("/"))
"""


@contextmanager
def sleeping() -> Iterator["subprocess.Popen[bytes]"]:
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def test_children_of_a_killed_caller_are_killed(tmp_path: Path) -> None:
    """Also one that does not want to end, and looks at nothing."""
    script = "trap '' TERM HUP; sleep 600 & echo $! > $0.new; mv $0.new $0; wait"
    said = tmp_path / "said"
    words = [sys.executable, "-c", CALLER, "sh", "-c", script, str(said)]
    with subprocess.Popen(words, cwd=REPO) as caller:
        until(said.exists)
        below = int(said.read_text())
        assert is_alive(below)
        caller.kill()
    until(lambda: not is_alive(below))


def test_ended_child_is_not_killed_again() -> None:
    with sleeping() as over, sleeping() as other:
        keeper = ChildReaper()
        keeper.begun(over.pid)
        keeper.begun(other.pid)
        keeper.report_end(over.pid)
        keeper.close()
        assert other.wait() == -signal.SIGKILL
        assert over.poll() is None


def test_killed_reaper_is_replaced_and_tracks_all_children() -> None:
    with sleeping() as first, sleeping() as second:
        keeper = ChildReaper()
        keeper.begun(first.pid)
        assert keeper.pid
        os.kill(keeper.pid, signal.SIGKILL)
        os.waitid(os.P_PID, keeper.pid, os.WEXITED | os.WNOWAIT)
        keeper.begun(second.pid)
        keeper.close()
        assert (first.wait(), second.wait()) == (-signal.SIGKILL, -signal.SIGKILL)


def test_it_holds_nothing_open_that_its_caller_left_for_children(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as ours:
        fcntl.flock(ours, fcntl.LOCK_EX)
        fcntl.fcntl(ours, fcntl.F_SETFD, 0)  # every child is handed it
        keeper = ChildReaper()
    # Ours is closed: where another lock on the file can be had, nobody holds it open.
    with (tmp_path / "lock").open("w") as again:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    keeper.close()


def test_reaper_accepts_reports_from_many_threads() -> None:
    with sleeping() as child:
        keeper = ChildReaper()

        def tell(first: int) -> None:
            for number in range(first, first + 50):
                keeper.begun(number)
                keeper.report_end(number)

        threads = [threading.Thread(target=tell, args=[NOBODY + 50 * n]) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        keeper.begun(child.pid)
        keeper.close()
        assert child.wait() == -signal.SIGKILL


def test_starting_child_is_found_by_its_stdin() -> None:
    reader, writer = os.pipe()
    start = functools.partial(subprocess.Popen, ["sleep", "600"], start_new_session=True)
    with start(stdin=reader) as child, sleeping() as other:
        keeper = ChildReaper()
        keeper.soon(os.fstat(reader).st_ino)
        keeper.close()
        assert child.wait() == -signal.SIGKILL
        assert other.poll() is None
    os.close(reader)
    os.close(writer)


def test_reaper_deletes_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    (folder / "in").mkdir(parents=True)
    ChildReaper(folder).close()
    assert not folder.exists()
