"""Packages that a framework asks for only when they are wanted: bundles are made without them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.build import Runtimes
from tests.support.bundler_cache import real_runtimes
from tests.support.runtimes_project import digests, node, text_of, unchanged, write

SOURCE = {"api/src/hello.js": "exports.handler = () => require('frame').load();"}
ASKS = "exports.load = (name) => require('wanted/deep');"


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


Manifest = Mapping[str, Mapping[str, object]]


def frame(manifest: Manifest, text: str = ASKS) -> Mapping[str, str]:
    said = {"name": "frame", "version": "1.0.0", **manifest}
    return {
        "node_modules/frame/package.json": json.dumps(said),
        "node_modules/frame/index.js": text,
    }


OPTIONAL: Mapping[str, Manifest] = {
    "peers": {
        "peerDependencies": {"wanted": "1"},
        "peerDependenciesMeta": {"wanted": {"optional": True}},
    },
    "dependencies": {"optionalDependencies": {"wanted": "1"}},
}


@pytest.mark.parametrize("manifest", OPTIONAL.values(), ids=OPTIONAL)
def test_an_optional_package_that_is_not_installed_is_left_out(
    manifest: Manifest, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**SOURCE, **frame(manifest)})
    built = runtimes.build(tmp_path, node("src/hello.js"))
    assert 'require("wanted/deep")' in text_of(built, "src/hello.js")
    assert built.warnings == ()


def test_installing_an_optional_package_triggers_a_rebuild(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**SOURCE, **frame(OPTIONAL["peers"])})
    built = runtimes.build(tmp_path, node("src/hello.js"))
    known = digests(tmp_path, built.seen)
    assert unchanged(tmp_path, built.seen, known)
    there = {
        "node_modules/wanted/package.json": '{"name": "wanted", "version": "1.0.0"}',
        "node_modules/wanted/deep.js": "exports.here = 'here';",
    }
    write(tmp_path, there)
    assert not unchanged(tmp_path, built.seen, known)
    again = runtimes.build(tmp_path, node("src/hello.js"))
    assert '.here = "here"' in text_of(again, "src/hello.js")


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        ({}, ASKS),
        ({"peerDependencies": {"wanted": "1"}}, ASKS),
        ({"peerDependenciesMeta": {"wanted": {"optional": False}}}, ASKS),
        (OPTIONAL["peers"], ASKS + "require('needed');"),
        (OPTIONAL["peers"], ASKS + "require('./gone');"),
    ],
)
def test_whatever_else_is_missing_fails_the_build(
    manifest: Manifest, text: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**SOURCE, **frame(manifest, text)})
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, node("src/hello.js"))
    assert caught.value.first.code == "build/failed"


def test_optional_dependency_required_by_project_code_is_mandatory(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    manifest = {"name": "api", **OPTIONAL["dependencies"]}
    text = "exports.handler = () => require('wanted');"
    write(tmp_path, {"api/package.json": json.dumps(manifest), "api/src/hello.js": text})
    with pytest.raises(FabricError):
        runtimes.build(tmp_path, node("src/hello.js"))
