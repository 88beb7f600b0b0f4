"""Packages of Node.js layers: what they contain, and bundles that load them with `require`."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.task_inputs import LayerArchiveInputs
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Built
from fabric.runtimes.nodejs.layer_packages import collect_node_packages
from fabric.runtimes.nodejs.toolchain import find_node
from tests.runtimes.nodejs.test_bundler import CALL
from tests.runtimes.nodejs.test_external import package
from tests.support.bundler_cache import ENVIRONMENT, real_runtimes
from tests.support.runtimes_project import digests, names, node, unchanged, write

LAYER = LayerArchiveInputs("shop", "x", "api", "cloud1-lambda", packages=("left",))
PACKAGES = {
    "api/package.json": "{}",
    "package-lock.json": "{}",
    **package("node_modules/left", "exports.word = require('deep');", dependencies={"deep": "1"}),
    **package("node_modules/deep", "module.exports = 'deep';"),
    **package("node_modules/own", "exports.own = 'own';"),
}


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


def failure(workspace: Path) -> str:
    with pytest.raises(FabricError) as caught:
        collect_node_packages(workspace, LAYER)
    return caught.value.first.code


def test_a_layer_has_its_packages_with_their_dependencies(tmp_path: Path) -> None:
    write(tmp_path, PACKAGES)
    assert names(collect_node_packages(tmp_path, LAYER)) == [
        f"nodejs/node_modules/{path}"
        for path in ("deep/index.js", "deep/package.json", "left/index.js", "left/package.json")
    ]


def test_another_version_of_a_dependency_is_noticed(tmp_path: Path) -> None:
    write(tmp_path, PACKAGES)
    seen = collect_node_packages(tmp_path, LAYER).seen
    known = digests(tmp_path, seen)
    assert unchanged(tmp_path, seen, known)
    write(tmp_path, package("node_modules/deep", "", "2.0.0"))
    assert not unchanged(tmp_path, seen, known)


def test_a_nearer_package_is_noticed(tmp_path: Path) -> None:
    write(tmp_path, PACKAGES)
    seen = collect_node_packages(tmp_path, LAYER).seen
    known = digests(tmp_path, seen)
    write(tmp_path, package("api/node_modules/left", ""))
    assert not unchanged(tmp_path, seen, known)


def test_another_dependency_of_the_service_does_not_count(tmp_path: Path) -> None:
    locked = {"left": "1.0.0", "deep": "1.0.0"}
    write(tmp_path, {**PACKAGES, **npm_lock(locked)})
    seen = collect_node_packages(tmp_path, LAYER).seen
    known = digests(tmp_path, seen)
    manifest = {"api/package.json": '{"dependencies": {"left": "1", "own": "2"}}'}
    write(tmp_path, {**manifest, **npm_lock({**locked, "own": "2.0.0"})})
    assert unchanged(tmp_path, seen, known)
    write(tmp_path, npm_lock({**locked, "deep": "1.0.1"}))
    assert not unchanged(tmp_path, seen, known)


def npm_lock(versions: dict[str, str]) -> dict[str, str]:
    rows = {f"node_modules/{name}": {"version": version} for name, version in versions.items()}
    return {"package-lock.json": json.dumps({"lockfileVersion": 3, "packages": rows})}


def test_a_package_that_is_not_installed_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"api/package.json": "{}"})
    assert failure(tmp_path) == "layer/missing-package"


def test_the_hint_for_a_missing_package_quotes_its_name(tmp_path: Path) -> None:
    write(tmp_path, {"api/package.json": "{}"})
    with pytest.raises(FabricError) as caught:
        collect_node_packages(tmp_path, replace(LAYER, packages=("x; echo y",)))
    assert caught.value.first.hint == "run: npm install 'x; echo y'"


@pytest.mark.parametrize(
    ("manifest", "is_refused"),
    [
        ({"type": "module"}, True),
        ({"type": "module", "exports": "./index.js"}, True),
        ({"type": "module", "exports": {".": {"import": "./index.js"}}}, True),
        ({"type": "module", "main": "index.cjs"}, False),
        ({"type": "module", "exports": {"import": "./a.js", "require": "./a.cjs"}}, False),
        ({"type": "module", "exports": {".": {"node": {"require": "./a.cjs"}}}}, False),
        ({"exports": {"import": "./a.mjs", "default": "./a.js"}}, False),
    ],
)
def test_a_package_that_is_only_an_es_module_is_an_error(
    manifest: dict[str, object], tmp_path: Path, *, is_refused: bool
) -> None:
    text = json.dumps({"name": "left", "version": "1.0.0", **manifest})
    write(tmp_path, {"api/package.json": "{}", "node_modules/left/package.json": text})
    if is_refused:
        assert failure(tmp_path) == "layer/only-module"
    else:
        assert collect_node_packages(tmp_path, LAYER).files


def called(built: Built, layer: Built, folder: Path) -> object:
    """Call the handler in plain Node, with the layer where Lambda has it."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, part in (("task", built), ("opt", layer)):
        for file in part.files:
            path = folder / name / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
    program = [str(find_node(ENVIRONMENT)), "-e", CALL, built.handler]
    env = {**ENVIRONMENT, "NODE_PATH": str(folder / "opt/nodejs/node_modules")}
    done = subprocess.run(program, cwd=folder / "task", env=env, check=True, capture_output=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["commonjs", "module"])
@pytest.mark.parametrize(
    "code",
    [
        'import { word } from "left"; export const handler = () => word;',
        'import left from "left"; export const handler = () => left.word;',
        'import * as left from "left"; export const handler = () => left.word;',
        'export const handler = async () => (await import("left")).word;',
        'export const handler = () => require("left").word;',
        'export { word } from "left"; import { word } from "left"; '
        'import { own } from "own"; export const handler = () => own && word;',
    ],
)
def test_a_bundle_finds_packages_of_a_layer_by_the_node_path(
    kind: str, code: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    source = {"api/package.json": f'{{"type": "{kind}"}}', "api/src/hello.ts": code}
    write(tmp_path, PACKAGES | source)
    built = runtimes.build(tmp_path, node(layered=("left",)))
    assert not any("node_modules" in file.path for file in built.files)
    assert not any("fabric-layer" in path for path in (*built.seen.files, *built.seen.absent))
    layer = collect_node_packages(tmp_path, LAYER)
    assert called(built, layer, tmp_path / "out") == "deep"


def test_a_build_without_a_bundler_packs_the_packages(tmp_path: Path) -> None:
    runtimes = Runtimes(tmp_path / "tools", ENVIRONMENT, install=False)
    source = {"api/src/hello.js": 'exports.handler = () => require("left").word;'}
    write(tmp_path, PACKAGES | source)
    built = runtimes.build(tmp_path, node(layered=("left",)))
    runtimes.close()
    assert any("node_modules/left" in file.path for file in built.files)


def test_a_foreign_native_module_of_a_layer_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, PACKAGES)
    (tmp_path / "node_modules/left/a.node").write_bytes(b"MZ")
    with pytest.raises(FabricError, match="layer `x` runs on linux arm64, but"):
        collect_node_packages(tmp_path, replace(LAYER, architecture="arm64"))
