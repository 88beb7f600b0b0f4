"""What an unresolved import is answered with: the cause, and the package to act on."""

import json
from pathlib import Path

import pytest

from fabric.runtimes.entry import NODE_EXTENSIONS, locate
from fabric.runtimes.nodejs.unresolved import import_hint
from tests.support.runtimes_project import node, write

ENTRY = {"api/src/hello.ts": ""}


def hint(workspace: Path, specifier: str, tsconfig: str = "") -> str:
    write(workspace, ENTRY)
    entry = locate(workspace.resolve(), node(), NODE_EXTENSIONS)
    place = {"file": "src/hello.ts", "line": 1, "column": 1, "frame": ""}
    return import_hint(
        entry, tsconfig, {"text": f'Could not resolve "{specifier}"', "place": place}
    )


def library(workspace: Path, name: str, **manifest: object) -> str:
    """A package of the workspace, linked as a package manager does it."""
    folder = f"libs/{name.rpartition('/')[2]}"
    write(workspace, {f"{folder}/package.json": json.dumps({"name": name, **manifest})})
    link = workspace / "node_modules" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(workspace / folder)
    return folder


@pytest.mark.parametrize(
    ("specifier", "package"),
    [("hono", "hono"), ("hono/basic-auth", "hono"), ("@a/b/c/d", "@a/b"), ("@a/b", "@a/b")],
)
def test_a_package_is_installed_by_its_name(specifier: str, package: str, tmp_path: Path) -> None:
    assert hint(tmp_path, specifier) == f"install `{package}`, or add it to `build.external`"


@pytest.mark.parametrize(
    "manifest",
    [
        {"main": "dist/index.js"},
        {"exports": {".": {"types": "./dist/index.d.ts", "import": "./dist/index.js"}}},
    ],
)
def test_a_package_of_the_workspace_is_built_first(
    manifest: dict[str, object], tmp_path: Path
) -> None:
    library(tmp_path, "@mimir/dynamodb", **manifest)
    assert hint(tmp_path, "@mimir/dynamodb") == (
        "build the package `@mimir/dynamodb` in `libs/dynamodb` first: its file `dist/index.js` "
        "does not exist"
    )


def test_a_package_without_that_subpath_is_not_to_be_installed(tmp_path: Path) -> None:
    manifest = json.dumps({"name": "hono", "version": "1.0.0", "main": "index.js"})
    folder = "node_modules/hono"
    write(tmp_path, {f"{folder}/package.json": manifest, f"{folder}/index.js": ""})
    assert hint(tmp_path, "hono/basic-auth") == (
        "update `hono`, or correct the import: it does not export `./basic-auth`"
    )


def test_an_installed_package_that_lacks_its_file_is_installed_again(tmp_path: Path) -> None:
    manifest = json.dumps({"name": "left", "version": "1.0.0", "main": "lib/index.js"})
    write(tmp_path, {"node_modules/left/package.json": manifest})
    assert "its file `lib/index.js` is missing" in hint(tmp_path, "left")


@pytest.mark.parametrize("tsconfig", ["", "../tsconfig.json"])
def test_an_alias_names_the_files_that_do_not_exist(tsconfig: str, tmp_path: Path) -> None:
    paths = {"@mimir/*": ["./libs/*/dist/index.js"]}
    write(tmp_path, {"tsconfig.json": json.dumps({"compilerOptions": {"paths": paths}})})
    found = hint(tmp_path, "@mimir/dynamodb", tsconfig)
    assert "is an alias of `libs/dynamodb/dist/index.js`" in found
    assert "install" not in found


def test_an_alias_of_a_folder_is_read_like_a_package(tmp_path: Path) -> None:
    paths = {"@mimir/dynamodb": ["./libs/dynamodb"]}
    manifest = json.dumps({"name": "@mimir/dynamodb", "main": "dist/index.js"})
    write(
        tmp_path,
        {
            "tsconfig.json": json.dumps({"compilerOptions": {"paths": paths}}),
            "libs/dynamodb/package.json": manifest,
        },
    )
    assert hint(tmp_path, "@mimir/dynamodb").startswith("build the package `@mimir/dynamodb`")


@pytest.mark.parametrize(
    "manifests",
    [
        {"package.json": json.dumps({"workspaces": ["libs/*"]})},
        {"package.json": json.dumps({"workspaces": {"packages": ["./libs/*", "../../etc"]}})},
        {"pnpm-workspace.yaml": "packages:\n  - 'libs/*'\n  - '!**/test/**'\n"},
    ],
)
def test_a_member_of_the_workspace_is_linked_and_not_fetched(
    manifests: dict[str, str], tmp_path: Path
) -> None:
    member = {"libs/dynamodb/package.json": json.dumps({"name": "@mimir/dynamodb"})}
    write(tmp_path, {**manifests, **member})
    found = hint(tmp_path, "@mimir/dynamodb")
    assert found.startswith("add `@mimir/dynamodb`, the workspace package in `libs/dynamodb`")
    assert hint(tmp_path, "@mimir/other").startswith("install `@mimir/other`")
