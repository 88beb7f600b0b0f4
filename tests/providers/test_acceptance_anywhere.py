"""The acceptance run of each provider, against the server of the tests instead of an account."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project import REPO, environment
from tests.support.service_site import ServiceSite

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def test_the_acceptance_run_passes_and_leaves_nothing(
    any_site: ServiceSite, tmp_path: Path
) -> None:
    site = any_site
    fabric = tmp_path / "fabric"
    fabric.write_text(f'#!/bin/sh\nexec {sys.executable} -m fabric "$@"\n')
    fabric.chmod(0o755)
    env = {
        **environment(tmp_path / "home"),
        **site.environment,
        "ACCEPT_COSTS": "yes",
        "FABRIC": str(fabric),
        "EXTENSIONS": json.dumps(dict(site.settings)),
        "PYTHONPATH": str(REPO),
        "WAIT": "20",
    }
    script = REPO / "scripts" / "acceptance" / f"{site.provider}.sh"
    done = subprocess.run(
        ["sh", str(script)], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not site.left()


def test_an_acceptance_run_needs_a_confirmation() -> None:
    script = REPO / "scripts" / "acceptance" / "host1.sh"
    done = subprocess.run(["sh", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 64
    assert "set ACCEPT_COSTS=yes" in done.stderr
