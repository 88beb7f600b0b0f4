"""wrangler from npm, with the runtime of Workers in it: installed once for all workers and runs."""

import os
import shutil
from pathlib import Path

from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command
from fabric.system.files.disk import lock_file, make_folder
from fabric.system.process.process import run_child
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN

_VERSION = "4.86.0"
_CACHE = TOOLCHAIN.parent


def installed() -> Path:
    """The folder that has its `node_modules`."""
    folder = _CACHE / f"wrangler-{_VERSION}"
    if not folder.exists():
        with lock_file(_CACHE / "wrangler.lock", 600):
            if not folder.exists():
                _install(folder)
    return folder


def _install(folder: Path) -> None:
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    argv = [*find_npm_command(ENVIRONMENT), "install", "--no-audit", "--no-fund", "--no-save"]
    argv += ["--ignore-scripts", "--prefix", str(fresh), f"wrangler@{_VERSION}"]
    env = {**ENVIRONMENT, "PATH": f"{find_node(ENVIRONMENT).parent}:{ENVIRONMENT['PATH']}"}
    make_folder(fresh)
    if run_child(argv, cwd=fresh, env=env, timeout=300).code:
        shutil.rmtree(fresh, ignore_errors=True)
        raise RuntimeError(f"cannot install wrangler: see npm's log, or run {argv}")
    fresh.rename(folder)
