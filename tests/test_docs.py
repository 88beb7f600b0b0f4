"""What the docs show of the code is as the code is."""

import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).parents[1]


def test_the_picture_of_the_layers_is_as_the_imports_are() -> None:
    check = [sys.executable, "scripts/draw_layers.py", "--check"]
    done = subprocess.run(check, cwd=REPO, check=False)
    assert done.returncode == 0, "run: python scripts/draw_layers.py"
