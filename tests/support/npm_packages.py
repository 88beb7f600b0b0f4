"""Packages from npm that tests use: installed by a lock file, kept between runs by its digest."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN

_QUIET = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")


def kept(folder: Path, group: str) -> Path:
    """Where the packages of a folder with a lock are kept."""
    lock = (folder / "package-lock.json").read_bytes()
    name = f"{folder.name}-{hashlib.sha256(lock).hexdigest()[:12]}"
    return TOOLCHAIN.parent / group / name


def install(folder: Path, group: str, strategy: str = "hoisted") -> Path:
    """A copy of the folder with its packages, made where it is not there yet."""
    target = kept(folder, group)
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as made:
            fresh = Path(made) / folder.name
            shutil.copytree(folder, fresh, ignore=shutil.ignore_patterns("node_modules"))
            _npm_ci(fresh, strategy)
            fresh.rename(target)
    return target


def _npm_ci(folder: Path, strategy: str) -> None:
    npm = (*find_npm_command(ENVIRONMENT), "ci", f"--install-strategy={strategy}", *_QUIET)
    path = os.pathsep.join((str(find_node(ENVIRONMENT).parent), ENVIRONMENT["PATH"]))
    subprocess.run(npm, cwd=folder, check=True, env={**ENVIRONMENT, "PATH": path})


def linked_copy(packages: Path, target: Path, *left_out: str) -> None:
    """Files are shared with what is kept, by links."""
    ignore = shutil.ignore_patterns(*left_out)
    shutil.copytree(packages, target, symlinks=True, copy_function=_linked, ignore=ignore)


def _linked(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
    return target
