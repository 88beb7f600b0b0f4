"""Updates of npm packages in generated workspaces: fabric rebuilds what changed, and nothing else.

Each round moves one dependency to another version and installs it, or publishes other bytes of a
version. Then all functions are built cleanly, and compared with what fabric built.
"""

import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reliability.tally import Tally
from fabric.runtimes.build import Runtimes
from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command
from tests.support.bundler_cache import ENVIRONMENT, real_runtimes
from tests.support.in_process import project
from tests.support.npm_registry import Registry, serve_registry
from tests.support.npm_workspace import (
    NPM,
    VERSIONS,
    Workspace,
    build_twice,
    compare,
    generate_packages,
)

COUNT = 240
_ROUNDS = 10
_OTHER_BYTES = 0.15
_LOCKS = ("package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock")
# The package of each manager, its program, and its words for an install.
_MANAGERS = {
    "pnpm 9": ("pnpm@9", "pnpm/bin/pnpm.cjs", ("install", "--no-frozen-lockfile")),
    "pnpm 8": ("pnpm@8", "pnpm/bin/pnpm.cjs", ("install", "--no-frozen-lockfile")),
    "yarn 1": ("yarn@1", "yarn/bin/yarn.js", ("install", "--non-interactive")),
    "yarn berry": ("@yarnpkg/cli-dist@4", "@yarnpkg/cli-dist/bin/yarn.js", ("install",)),
}


def run(count: int, folder: Path, seed: int = 1) -> Tally:
    managers = {"npm": NPM, **_install_managers(folder / "managers")}
    figures: Counter[str] = Counter()
    wrong: list[str] = []
    runtimes = real_runtimes()
    try:
        for number in range(0, count, _ROUNDS):
            name = sorted(managers)[number // _ROUNDS % len(managers)]
            made = _Campaign(folder / str(number), managers[name], runtimes, seed + number)
            wrong += [f"{name}, seed {seed + number}: {one}" for one in made.run(figures)]
    finally:
        runtimes.close()
    return Tally("updates", count, tuple(wrong), figures)


def _install_managers(folder: Path) -> dict[str, Sequence[str]]:
    """Install the other package managers; without their packages, only npm is tested."""
    found: dict[str, Sequence[str]] = {}
    for name, (package, program, words) in _MANAGERS.items():
        target = folder / name.replace(" ", "")
        target.mkdir(parents=True)
        npm = (*find_npm_command(ENVIRONMENT), "install", "--silent", "--no-audit", package)
        if subprocess.run(npm, cwd=target, env=ENVIRONMENT, check=False).returncode == 0:
            path = target / "node_modules" / program
            found[name] = (str(find_node(ENVIRONMENT)), str(path), *words)
    return found


class _Campaign:
    """Some rounds in one workspace."""

    def __init__(self, folder: Path, install: Sequence[str], runtimes: Runtimes, seed: int) -> None:
        self._folder, self._install, self._runtimes = folder, install, runtimes
        self._dice = random.Random(seed)

    def run(self, figures: Counter[str]) -> list[str]:
        wrong = []
        with serve_registry(generate_packages(self._dice, 14)) as registry:
            made = self._make_workspace(registry)
            before = build_twice(made, self._runtimes)
            for number in range(_ROUNDS):
                self._update(made, registry)
                after = build_twice(made, self._runtimes)
                update = compare(before, after)
                figures["functions"] += len(after.clean)
                figures["changed"] += len(update.changed)
                figures["built"] += len(update.built)
                figures["built only because packages moved"] += len(update.moved)
                wrong += [] if update.is_exact else [f"round {number}: {update}"]
                before = after
        return wrong

    def _make_workspace(self, registry: Registry) -> Workspace:
        made = project(self._folder, sources={})
        (made.root / "fabric.yml").unlink()
        store = self._folder / "store"
        pnpm = f"registry={registry.url}\nstore-dir={store}\ncache-dir={store}\n"
        yarn = (
            f'nodeLinker: node-modules\nnpmRegistryServer: "{registry.url}"\n'
            'unsafeHttpWhitelist: ["127.0.0.1"]\nenableImmutableInstalls: false\n'
            "enableTelemetry: false\nenableGlobalCache: false\n"
        )
        made.write({".npmrc": f"{pnpm}link-workspace-packages=true\n", ".yarnrc.yml": yarn})
        workspace = Workspace(made, registry, self._install)
        workspace.generate(self._dice, services=3, functions=4)
        workspace.install()
        return workspace

    def _update(self, made: Workspace, registry: Registry) -> None:
        if self._dice.random() > _OTHER_BYTES:
            made.bump(self._dice)
            return
        name, version = self._dice.choice(sorted(registry.packages)), self._dice.choice(VERSIONS)
        files = registry.packages[name][version]
        more = f"module.exports += {self._dice.random()};\n"
        registry.packages[name][version] = {**files, "index.js": files["index.js"] + more}
        root = made.made.root
        caches = (self._folder / "store", made.made.home / "npm", root / ".yarn")
        for path in (*root.rglob("node_modules"), *caches):
            shutil.rmtree(path, ignore_errors=True)
        for lock in _LOCKS:
            (root / lock).unlink(missing_ok=True)
        made.install()
