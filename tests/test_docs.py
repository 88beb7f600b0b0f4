"""What the docs show of the code is as the code is."""

import subprocess
import sys
from pathlib import Path

from fabric.model.conventions import CONVENTIONS

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
