"""A generated workspace of Node services, installed by a package manager from a local registry."""

import json
import os
import random
import subprocess
from collections.abc import Mapping, Sequence

from msgspec import Struct

from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.archive import hash_contents
from fabric.runtimes.build import Runtimes
from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.npm_registry import Packages, Registry, package
from tests.support.project import Project

VERSIONS = ("1.0.0", "1.1.0", "1.2.0", "2.0.0")
NPM = (*find_npm_command(ENVIRONMENT), "install", "--no-audit", "--no-fund", "--ignore-scripts")
Functions = Mapping[str, Sequence[str]]


def generate_packages(dice: random.Random, count: int) -> Packages:
    """Packages that depend on later ones, with ranges and exact versions."""
    names = [f"pkg{number}" for number in range(count)]
    return {
        name: {
            version: package(name, version, _choose_needs(dice, names[number + 1 :], 2))
            for version in VERSIONS
        }
        for number, name in enumerate(names)
    }


def _choose_needs(dice: random.Random, names: Sequence[str], most: int) -> dict[str, str]:
    chosen = dice.sample(names, min(len(names), dice.randint(0, most)))
    return {name: dice.choice(("", "^")) + dice.choice(VERSIONS) for name in sorted(chosen)}


class BuiltFunction(Struct, frozen=True):
    """A build's result, and the reason for the build; empty if it was cached."""

    sha256: str
    reason: str

    @property
    def is_moved(self) -> bool:
        """Return whether packages appeared in or disappeared from a searched directory."""
        return "node_modules" in self.reason and not self.reason.count(" changed")


class Workspace:
    """Services with functions; a library of the workspace is linked into all of them."""

    def __init__(self, made: Project, registry: Registry, install: Sequence[str] = NPM) -> None:
        self.made = made
        self._registry = registry
        self._install = tuple(install)
        self.needs: dict[str, dict[str, str]] = {}
        self.functions: dict[str, Functions] = {}

    def generate(self, dice: random.Random, services: int, functions: int) -> None:
        names = sorted(self._registry.packages)
        for number in range(services):
            needs = {name: "1.0.0" for name in dice.sample(names, 4)}
            self.needs[f"s{number}"] = needs
            self.functions[f"s{number}"] = {
                f"f{one}": dice.sample(sorted(needs), dice.randint(0, 2))
                for one in range(functions)
            }
        self.needs["lib"] = {dice.choice(names): "^1.0.0"}
        self.write()

    def write(self) -> None:
        members = [*(f"services/{name}" for name in self.functions), "lib"]
        lib = next(iter(self.needs["lib"]))
        rows = [
            f"  - {{name: {name}, config: ./services/{name}}}\n" for name in sorted(self.functions)
        ]
        files = {
            "package.json": json.dumps({"name": "all", "private": True, "workspaces": members}),
            "pnpm-workspace.yaml": "packages:\n" + "".join(f"  - {one}\n" for one in members),
            "fabric.compose.yml": "services:\n" + "".join(rows),
            "lib/index.js": f'exports.value = "lib " + require("{lib}");\n',
            # A new node_modules rebuilds every function that would search it.
            **{f"{one}/node_modules/.kept": "" for one in members},
            "lib/package.json": _manifest("@all/lib", self.needs["lib"]),
        }
        for name, functions in self.functions.items():
            needs = {**self.needs[name], "@all/lib": self._link_range}
            files[f"services/{name}/package.json"] = _manifest(name, needs)
            files[f"services/{name}/fabric.yml"] = _config(name, functions)
            for one, imports in functions.items():
                files[f"services/{name}/{one}.js"] = _handler(one, imports)
        self.made.write(files)

    @property
    def _link_range(self) -> str:
        return "*" if self._install == NPM else "1.0.0"

    def install(self) -> None:
        path = os.pathsep.join((str(find_node(ENVIRONMENT).parent), ENVIRONMENT["PATH"]))
        url = self._registry.url
        settings = {
            "npm_config_registry": url,
            "npm_config_cache": str(self.made.home / "npm"),
            "npm_config_update_notifier": "false",
            "YARN_REGISTRY": url,
        }
        done = subprocess.run(
            self._install,
            cwd=self.made.root,
            env={**ENVIRONMENT, "PATH": path, "HOME": str(self.made.home), **settings},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def build(self) -> dict[str, "BuiltFunction"]:
        """Build with fabric."""
        rows = self.made.json("compose", "build").result["artifacts"]
        return {
            f"{row['service']}/{row['function']}": BuiltFunction(
                row["sha256"], "" if row["cached"] else row["reason"]
            )
            for row in rows
        }

    def bump(self, dice: random.Random) -> tuple[str, str]:
        """Move one dependency of one member to another version, and install it."""
        member = dice.choice(sorted(self.needs))
        name = dice.choice(sorted(self.needs[member]))
        self.needs[member][name] = dice.choice(VERSIONS)
        self.write()
        self.install()
        return member, name

    def build_cleanly(self, runtimes: Runtimes) -> dict[str, str]:
        """The hash of each function's archive, without any cache."""
        found: dict[str, str] = {}
        for service, functions in self.functions.items():
            for one in functions:
                root = f"services/{service}"
                inputs = BuildInputs(service, one, root, f"{one}.handler", "nodejs20.x")
                built = runtimes.build(self.made.root, inputs)
                found[f"{service}/{one}"] = hash_contents(built.files)
        return found


class Built(Struct, frozen=True):
    """All functions of a workspace, built cleanly and by fabric."""

    clean: Mapping[str, str]
    functions: Mapping[str, BuiltFunction]


def build_twice(made: Workspace, runtimes: Runtimes) -> Built:
    return Built(made.build_cleanly(runtimes), made.build())


class Update(Struct, frozen=True):
    """What a change of packages did to the functions."""

    # Another clean build.
    changed: frozenset[str]
    # Another result of fabric. A cached result of an earlier state is restored, not built again.
    renewed: frozenset[str]
    built: frozenset[str]
    # Of these, the unchanged ones whose packages moved to another directory.
    moved: frozenset[str]

    @property
    def is_exact(self) -> bool:
        return self.renewed == self.changed and self.built - self.moved <= self.changed


def compare(before: Built, after: Built) -> Update:
    old, new = before.functions, after.functions
    changed = frozenset(one for one in after.clean if before.clean[one] != after.clean[one])
    built = frozenset(name for name, one in new.items() if one.reason)
    return Update(
        changed=changed,
        renewed=frozenset(one for one in new if old[one].sha256 != new[one].sha256),
        built=built,
        moved=frozenset(one for one in built - changed if new[one].is_moved),
    )


def _manifest(name: str, needs: Mapping[str, str]) -> str:
    return json.dumps({"name": name, "version": "1.0.0", "main": "index.js", "dependencies": needs})


def _config(name: str, functions: Functions) -> str:
    rows = "".join(f"  - {{name: {one}, entry: {one}.handler}}\n" for one in functions)
    head = f"service: {name}\nprovider: {{name: cloud1-lambda, runtime: nodejs20.x}}\n"
    return f"{head}functions:\n{rows}"


def _handler(name: str, imports: Sequence[str]) -> str:
    lines = [f'const {one} = require("{one}");\n' for one in imports]
    lib = 'const { value } = require("@all/lib");\n' if name == "f0" else 'const value = "";\n'
    return f"{''.join(lines)}{lib}exports.handler = () => [{', '.join((*imports, 'value'))}];\n"
