"""OpenWhisk's own client, from npm: fetched once for all workers and runs."""

import os
import shutil
from pathlib import Path

from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command
from fabric.system.files.disk import lock_file, make_folder
from fabric.system.process.process import run_child
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN

_PACKAGE = "openwhisk@3.21.9"
_CACHE = TOOLCHAIN.parent


def official_client() -> Path:
    """The folder of modules that it is in."""
    folder = _CACHE / f"whisk-client-{_PACKAGE.rpartition('@')[2]}"
    if not folder.exists():
        with lock_file(_CACHE / "whisk-client.lock", 600):
            if not folder.exists():
                _install(folder)
    return folder / "node_modules"


def _install(folder: Path) -> None:
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    argv = [*find_npm_command(ENVIRONMENT), "install", "--no-audit", "--no-fund", "--no-save"]
    argv += ["--ignore-scripts", "--prefix", str(fresh), _PACKAGE]
    env = {**ENVIRONMENT, "PATH": f"{find_node(ENVIRONMENT).parent}:{ENVIRONMENT['PATH']}"}
    make_folder(fresh)
    if run_child(argv, cwd=fresh, env=env, timeout=300).code:
        shutil.rmtree(fresh, ignore_errors=True)
        raise RuntimeError(f"cannot install OpenWhisk's client: see npm's log, or run {argv}")
    fresh.rename(folder)
