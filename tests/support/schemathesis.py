"""Schemathesis in an environment of its own: it wants other versions of what our tests use."""

import os
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN

VERSION = "4.32.5"
_FOLDER = TOOLCHAIN.parent / f"schemathesis-{VERSION}"
_DONE = _FOLDER / "installed"
HOOKS = Path(__file__).parents[1] / "daemon" / "interface" / "config_bodies.py"


def install_schemathesis() -> None:
    if _DONE.is_file():
        return
    venv.create(_FOLDER, clear=True, with_pip=True)
    pip = [str(_FOLDER / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, f"schemathesis=={VERSION}"], check=True, env=dict(ENVIRONMENT))
    _DONE.touch()


def run_schemathesis(
    url: str, folder: Path, words: Sequence[str], env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """All phases and checks over what a server says of itself."""
    own = {"PATH": os.defpath, "HOME": str(folder), "SCHEMATHESIS_HOOKS": str(HOOKS), **env}
    return subprocess.run(
        [str(_FOLDER / "bin" / "st"), "run", f"{url}/openapi.json", "--no-color", *words],
        cwd=folder,
        env=own,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


if __name__ == "__main__":
    install_schemathesis()
    sys.exit(0)
