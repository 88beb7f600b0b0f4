"""Leases are counted by a clock that goes on while the machine sleeps."""

import shutil
import subprocess
import sys
import time

import pytest

from fabric.system.clock import SystemClock
from tests.support.project import REPO

_SLEPT = 86_400


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="no such clock here")
def test_lease_clock_includes_suspended_time() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    now = SystemClock().monotonic()
    assert before <= now <= time.clock_gettime(time.CLOCK_BOOTTIME)


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_day_of_sleep_is_a_day() -> None:
    """In a time namespace whose machine has slept a day longer than it was awake."""
    space = ("unshare", "--time", "--fork", f"--boottime={_SLEPT}")
    if subprocess.run([*space, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not make a time namespace")
    script = (
        "import time; from fabric.system.clock import SystemClock; "
        "print(SystemClock().monotonic() - time.monotonic())"
    )
    line = [*space, sys.executable, "-c", script]
    done = subprocess.run(line, cwd=REPO, capture_output=True, check=True)
    assert float(done.stdout) > _SLEPT / 2
