"""The handler SDK for Node: its package, what its tests use, and the Nodes that they run on."""

import os
import shutil
from pathlib import Path

from tests.support import npm_packages
from tests.support.bundler_cache import ENVIRONMENT

REPO = Path(__file__).parents[2]
SDK = REPO / "sdk" / "node"
# The oldest Node that the package is for. More of them would be some 100 MB each.
_NODES = REPO / "tests" / "sdk" / "nodes"
_GROUP = "sdk"


def install_packages() -> None:
    npm_packages.install(SDK, _GROUP)


def install_node() -> None:
    """The program alone: headers and manuals are half of what comes."""
    kept = npm_packages.install(_NODES, _GROUP)
    for part in ("include", "share"):
        for folder in kept.glob(f"node_modules/*/{part}"):
            shutil.rmtree(folder)


def nodes() -> list[Path]:
    """All that are on PATH, and the one that was fetched, where there is one for this machine."""
    folders = ENVIRONMENT["PATH"].split(os.pathsep)
    on_path = [Path(folder) / "node" for folder in folders if Path(folder).is_absolute()]
    fetched = sorted(npm_packages.kept(_NODES, _GROUP).glob("node_modules/*/bin/node"))
    found = [path for path in (*on_path, *fetched) if os.access(path, os.X_OK)]
    return list({path.resolve(): path for path in reversed(found)}.values())[::-1]


def packages() -> Path:
    return npm_packages.kept(SDK, _GROUP) / "node_modules"


def published() -> list[Path]:
    """What npm packs: `files` of the manifest, and what it always takes."""
    manifest = ("package.json", "README.md", "LICENSE")
    return [*(SDK / name for name in manifest), *SDK.glob("index.*"), *SDK.glob("lib/*")]


def copy(folder: Path) -> None:
    """A checkout of the package, with what its tests use."""
    shutil.copytree(SDK, folder, ignore=shutil.ignore_patterns("node_modules"))
    (folder / "node_modules").symlink_to(packages())


def copy_published(folder: Path) -> None:
    """As npm would lay it out in a project."""
    for path in published():
        target = folder / path.relative_to(SDK)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
