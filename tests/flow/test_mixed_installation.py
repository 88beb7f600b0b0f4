"""A package in which the SSH library has left files says so at each start."""

import shutil
import subprocess
import sys
from pathlib import Path

from fabric.model.distribution import DISTRIBUTION
from fabric.system.mixed_installation import SSH_MODULE
from tests.support.project import REPO, environment


def test_mixed_installation_is_reported_and_the_command_continues(tmp_path: Path) -> None:
    mixed = tmp_path / "site" / "fabric"
    shutil.copytree(REPO / "fabric", mixed)
    (mixed / SSH_MODULE).touch()
    env = environment(tmp_path, {"PYTHONPATH": str(mixed.parent)})
    words = [sys.executable, "-m", "fabric", "--help"]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert "Usage:" in done.stdout
    assert str(mixed) in done.stderr
    assert f"uv tool install {DISTRIBUTION}" in done.stderr
