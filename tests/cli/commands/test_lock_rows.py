"""Which functions an update of one package rebuilds: those whose bundle changes, and no others."""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.runtimes.build import Runtimes
from tests.support.bundler_cache import real_runtimes
from tests.support.git import commit, git, under_git
from tests.support.in_process import in_process, project
from tests.support.npm_registry import Registry, package, serve_registry
from tests.support.npm_workspace import (
    VERSIONS,
    Workspace,
    build_twice,
    compare,
    generate_packages,
)
from tests.support.project import Project

PACKAGES = {
    name: {version: package(name, version, {}) for version in VERSIONS}
    for name in ("left", "right", "both")
}


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


@pytest.fixture(scope="module")
def served() -> Iterator[Registry]:
    with serve_registry(PACKAGES) as registry:
        yield registry


@pytest.fixture
def registry(served: Registry) -> Registry:
    served.packages = {name: dict(versions) for name, versions in PACKAGES.items()}
    return served


def workspace(folder: Path, registry: Registry) -> Workspace:
    made = project(folder, sources={})
    (made.root / "fabric.yml").unlink()
    return Workspace(made, registry)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, served: Registry) -> Path:
    folder = tmp_path_factory.mktemp("installed") / "two"
    folder.mkdir()
    made = two_services(workspace(folder, served))
    made.write()
    made.install()
    return folder


def two_services(made: Workspace) -> Workspace:
    """s0 has `left`, s1 has `right`, and both have `both`."""
    made.needs = {
        "s0": {"left": "1.0.0", "both": "1.0.0"},
        "s1": {"right": "1.0.0", "both": "1.0.0"},
        "lib": {"both": "1.0.0"},
    }
    made.functions = {"s0": {"f0": ["left"], "f1": ["both"]}, "s1": {"f1": ["right"]}}
    return made


@pytest.fixture
def made(tmp_path: Path, installed: Path, registry: Registry) -> Workspace:
    shutil.copytree(installed, tmp_path / "copy", symlinks=True)
    copied = tmp_path / "copy"
    return two_services(
        Workspace(Project(copied / "project", copied / "home", in_process), registry)
    )


def rebuilt(made: Workspace) -> set[str]:
    return {name for name, one in made.build().items() if one.reason}


@pytest.mark.slow
def test_update_of_one_package_rebuilds_the_functions_that_bundle_it(made: Workspace) -> None:
    assert len(rebuilt(made)) == 3
    made.needs["s1"]["right"] = "1.1.0"
    made.write()
    made.install()
    plan = made.made.fabric("compose", "plan", "--for", "build").out
    assert "node_modules/right/package.json changed" in plan
    assert rebuilt(made) == {"s1/f1"}
    assert rebuilt(made) == set()


@pytest.mark.slow
def test_same_version_with_other_bytes_rebuilds_by_the_row(
    made: Workspace, registry: Registry
) -> None:
    made.build()
    registry.packages["left"]["1.0.0"] = package("left", "1.0.0", {}, mark=" again")
    for path in (made.made.root / "node_modules", made.made.home / "npm"):
        shutil.rmtree(path)
    (made.made.root / "package-lock.json").unlink()
    made.install()
    explained = made.made.fabric("explain", "build:s0/f0", cwd="services/s0").out
    assert "package-lock.json: row of left" in explained
    assert rebuilt(made) == {"s0/f0"}


def edit_manifest(made: Workspace, folder: str, **fields: object) -> None:
    path = made.made.root / folder / "package.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}, indent=4))


def test_scripts_and_tools_of_a_manifest_rebuild_nothing(made: Workspace) -> None:
    made.build()
    for folder in (".", "services/s0", "lib"):
        edit_manifest(made, folder, scripts={"test": "x"}, version="1.0.1", devDependencies={})
    assert rebuilt(made) == set()
    edit_manifest(made, "lib", main="other.js")
    made.made.write({"lib/other.js": "exports.value = 'other';"})
    assert rebuilt(made) == {"s0/f0"}


def test_patch_of_a_package_rebuilds_it(made: Workspace) -> None:
    made.build()
    made.made.write({"patches/right+1.0.0.patch": "1", "patches/other+1.0.0.patch": "1"})
    assert "s1/f1" in rebuilt(made)
    made.made.write({"patches/left+1.0.0.patch": "1"})
    assert rebuilt(made) == {"s0/f0"}
    made.made.write({"patches/left+1.0.0.patch": "2", "patches/other+1.0.0.patch": "2"})
    assert rebuilt(made) == {"s0/f0"}


def selected(made: Project) -> list[str]:
    rows = made.json("compose", "plan", "--for", "build", "--affected").result["services"]
    return [row["service"] for row in rows]


@pytest.mark.slow
def test_affected_leaves_out_services_without_the_updated_package(made: Workspace) -> None:
    under_git(made.made)
    made.made.write({".gitignore": "node_modules/\n.fabric/\n"})
    git(made.made, "rm", "-rq", "--cached", "--ignore-unmatch", "node_modules", "services", "lib")
    commit(made.made)
    made.build()
    assert selected(made.made) == []
    made.needs["s1"]["right"] = "1.1.0"
    made.write()
    made.install()
    # Without its packages of today, a service counts with the whole lock.
    assert selected(made.made) == ["s1"]
    made.build()
    assert selected(made.made) == ["s1"]
    commit(made.made)
    git(made.made, "checkout", "-q", "-b", "more")
    made.needs["lib"]["both"] = "2.0.0"
    made.write()
    made.install()
    assert "s0" in selected(made.made)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_updates_rebuild_exactly_the_changed_functions(
    seed: int, tmp_path: Path, runtimes: Runtimes
) -> None:
    dice = random.Random(seed)
    with serve_registry(generate_packages(dice, 14)) as served:
        made = workspace(tmp_path, served)
        made.generate(dice, services=3, functions=4)
        made.install()
        before = build_twice(made, runtimes)
        for _ in range(2):
            updated = made.bump(dice)
            after = build_twice(made, runtimes)
            assert compare(before, after).is_exact, updated
            before = after
