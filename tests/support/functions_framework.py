"""What functions of cloud2 are run by, and what its interfaces are described by: installed once for
all workers and runs."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from fabric.providers.cloud2.source import NODE_FRAMEWORK, PYTHON_FRAMEWORK
from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command
from fabric.system.files.disk import lock_file, make_folder
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN

_CACHE = TOOLCHAIN.parent
_NODE = "@google-cloud/functions-framework"
_CLIENT = "2.202.0"
_DOCUMENTS = (
    *("cloudfunctions.v2", "run.v2", "cloudscheduler.v1"),
    *("logging.v2", "monitoring.v3", "cloudtrace.v1"),
    *("eventarc.v1", "storage.v1"),
)


def node_framework() -> Path:
    """The package's own folder."""
    folder = _kept(f"functions-framework-nodejs-{NODE_FRAMEWORK}", _install_node)
    return folder / "node_modules" / _NODE


def python_framework() -> Path:
    """A folder to import from."""
    return _kept(f"functions-framework-python-{PYTHON_FRAMEWORK}", _install_python)


def discovery_documents() -> tuple[Path, ...]:
    """They come with the official client."""
    folder = _kept(f"google-discovery-{_CLIENT}-{len(_DOCUMENTS)}", _unpack_documents)
    return tuple(folder / f"{name}.json" for name in _DOCUMENTS)


def install_all() -> None:
    node_framework()
    python_framework()
    discovery_documents()


def _kept(name: str, install: Callable[[Path], None]) -> Path:
    folder = _CACHE / name
    if not folder.exists():
        with lock_file(_CACHE / f"{name}.lock", 600):
            if not folder.exists():
                fresh = folder.with_name(f"{name}.{os.getpid()}")
                shutil.rmtree(fresh, ignore_errors=True)
                make_folder(fresh)
                install(fresh)
                fresh.rename(folder)
    return folder


def _install_node(folder: Path) -> None:
    argv = [*find_npm_command(ENVIRONMENT), "install", "--no-audit", "--no-fund", "--no-save"]
    argv += ["--ignore-scripts", "--prefix", str(folder), f"{_NODE}@{NODE_FRAMEWORK}"]
    path = f"{find_node(ENVIRONMENT).parent}:{ENVIRONMENT['PATH']}"
    subprocess.run(argv, cwd=folder, check=True, env={**ENVIRONMENT, "PATH": path})


def _install_python(folder: Path) -> None:
    _pip("install", "--target", str(folder), f"functions-framework=={PYTHON_FRAMEWORK}")


def _unpack_documents(folder: Path) -> None:
    package = f"google-api-python-client=={_CLIENT}"
    _pip("download", "--no-deps", "--dest", str(folder), package)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in _DOCUMENTS:
            path = f"googleapiclient/discovery_cache/documents/{name}.json"
            (folder / f"{name}.json").write_bytes(archive.read(path))
    wheel.unlink()


def _pip(*words: str) -> None:
    argv = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words)
    subprocess.run(argv, check=True, env=dict(ENVIRONMENT))
