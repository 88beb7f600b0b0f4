"""Which rows of locks and manifests, and which patches, are inputs of a bundle."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabric.runtimes.contract import InputTrace
from fabric.runtimes.entry import NODE_EXTENSIONS, EntryFile, locate
from fabric.runtimes.nodejs.bundler import Import, Module
from fabric.runtimes.nodejs.lookups import look_ups
from tests.support.runtimes_project import node, write

LOCKS = ("package-lock.json", "api/yarn.lock", "node_modules/.package-lock.json")


def manifest(name: str, version: str = "1.0.0") -> str:
    return json.dumps({"name": name, "version": version})


def recorded(workspace: Path, files: Mapping[str, str], *bundled: str) -> InputTrace:
    """What is recorded for a bundle of the entry and these modules."""
    write(workspace, {"api/src/hello.js": "", **files})
    entry: EntryFile = locate(workspace, node(), NODE_EXTENSIONS)
    paths = [f"{entry.workspace}/{one}" for one in bundled]
    imports = tuple(Import(Path(one).parent.name, one) for one in paths)
    modules = (Module(entry.path, imports), *(Module(one, ()) for one in paths))
    return look_ups(entry, modules)


def rows(seen: InputTrace) -> dict[str, tuple[str, ...]]:
    return {one.file: one.rows for one in seen.rows}


def test_each_lock_on_the_way_up_counts_by_the_rows_of_packages_below_it(tmp_path: Path) -> None:
    files = {
        "node_modules/left/package.json": manifest("left"),
        "api/node_modules/right/package.json": manifest("right", "2.0.0"),
        **dict.fromkeys(LOCKS, "{}"),
    }
    seen = recorded(tmp_path, files, "node_modules/left/index.js", "api/node_modules/right/x.js")
    both = ("api/node_modules/right right@2.0.0", "node_modules/left left@1.0.0")
    assert rows(seen) == {
        "api/yarn.lock": ("node_modules/right right@2.0.0",),
        "node_modules/.package-lock.json": both,
        "package-lock.json": both,
    }
    assert not {*LOCKS}.intersection(seen.files)
    assert "node_modules/left/package.json" in seen.files


def test_packages_around_a_nested_package_count_as_well(tmp_path: Path) -> None:
    inner = "node_modules/left/node_modules/inner"
    files = {
        "node_modules/left/package.json": manifest("left"),
        f"{inner}/package.json": manifest("inner"),
        "package-lock.json": "{}",
    }
    seen = recorded(tmp_path, files, f"{inner}/index.js")
    assert rows(seen)["package-lock.json"] == (
        "node_modules/left left@1.0.0",
        f"{inner} inner@1.0.0",
    )


def test_directories_of_package_managers_are_no_packages(tmp_path: Path) -> None:
    folder = "node_modules/.pnpm/left@1.0.0/node_modules/left"
    files = {f"{folder}/package.json": manifest("left"), "pnpm-lock.yaml": ""}
    seen = recorded(tmp_path, files, f"{folder}/index.js")
    assert rows(seen)["pnpm-lock.yaml"] == (f"{folder} left@1.0.0",)


def test_manifests_of_the_project_count_by_their_fields(tmp_path: Path) -> None:
    files = {"package.json": "{}", "api/package.json": "{}", "api/src/data/package.json": "{}"}
    seen = recorded(tmp_path, files, "api/src/data/package.json")
    assert rows(seen) == {"api/package.json": ("",), "package.json": ("",)}
    assert "api/src/data/package.json" in seen.files, "the bundle contains it"


@pytest.mark.parametrize(
    "name",
    [
        "left+1.0.0.patch",
        "left+1.0.0+001+first.patch",
        "right++left+1.0.0.patch",
        "left@1.0.0.patch",
        "left+1.0.0.dev.patch",
    ],
)
def test_patch_of_a_package_is_an_input(name: str, tmp_path: Path) -> None:
    files = {"node_modules/left/package.json": manifest("left"), "patches/other+1.0.0.patch": ""}
    before = recorded(tmp_path, files, "node_modules/left/index.js")
    after = recorded(tmp_path, {f"patches/{name}": ""}, "node_modules/left/index.js")
    assert f"patches/{name}" in after.files
    assert after.listings != before.listings
    assert "patches/other+1.0.0.patch" not in after.files


def test_patches_of_scoped_packages_have_several_names(tmp_path: Path) -> None:
    files = {
        "node_modules/@sc/left/package.json": manifest("@sc/left"),
        "patches/@sc+left+1.0.0.patch": "",
        "patches/@sc%2Fleft@1.0.0.patch": "",
        "patches/@sc__left@1.0.0.patch": "",
    }
    seen = recorded(tmp_path, files, "node_modules/@sc/left/index.js")
    assert sum(one.startswith("patches/") for one in seen.files) == 3


def test_directory_of_patches_that_is_missing_is_noticed_later(tmp_path: Path) -> None:
    files = {"node_modules/left/package.json": manifest("left")}
    assert "patches" in recorded(tmp_path, files, "node_modules/left/index.js").absent
    assert "patches" not in recorded(tmp_path, {}).absent
