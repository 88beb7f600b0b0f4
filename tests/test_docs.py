"""What the docs show of the code is as the code is."""

import subprocess
import sys
from pathlib import Path

from fabric.local.http_request import LARGEST_BODY, LARGEST_HEAD
from fabric.local.http_server import HttpLimits
from fabric.model.conventions import CONVENTIONS
from fabric.model.names import TriggerKind
from fabric.runtimes.calls.call_end import LARGEST_ANSWER
from fabric.runtimes.calls.pool import PoolLimits

REPO = Path(__file__).parents[1]


def test_the_picture_of_the_layers_is_as_the_imports_are() -> None:
    check = [sys.executable, "scripts/draw_layers.py", "--check"]
    done = subprocess.run(check, cwd=REPO, check=False)
    assert done.returncode == 0, "run: python scripts/draw_layers.py"


def test_the_guide_names_every_export_that_a_provider_looks_for() -> None:
    rows = (REPO / "docs/guide/handlers.md").read_text().splitlines()
    told = {row.split("`")[1]: row for row in rows if row.startswith("| `")}
    methods = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}
    assert told.keys() == CONVENTIONS.keys()
    for provider, calls in CONVENTIONS.items():
        names = {*calls.nodejs.names, *calls.python.names} - methods
        assert {name for name in names if f"`{name}`" not in told[provider]} == set()


def test_the_guide_of_local_runs_names_every_preset() -> None:
    page = (REPO / "docs/guide/local.md").read_text()
    assert {kind for kind in TriggerKind if f"`{kind}`" not in page} == set()


def test_the_guide_of_local_runs_has_the_limits_of_the_code() -> None:
    page = (REPO / "docs/guide/local.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    limits, megabyte = HttpLimits(), 1024 * 1024
    for what, most in (
        ("body of a request", f"{LARGEST_BODY // megabyte} MB"),
        ("headers of a request", f"{LARGEST_HEAD // 1024} KB"),
        ("time for a request", f"{limits.request_seconds} s"),
        ("answer of a function", f"{LARGEST_ANSWER // megabyte} MB"),
    ):
        assert any(row.startswith(f"| {what}") and f"| {most}" in row for row in rows), what
    assert (PoolLimits().instances, PoolLimits().most, PoolLimits().idle_seconds) == (4, 40, 600)
