"""Bundled packages that need more than their code are named, with the line that packs them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.build import Runtimes
from fabric.runtimes.entry import locate
from fabric.runtimes.nodejs.bundler import Module
from fabric.runtimes.nodejs.unbundled_files import find_bundle_problems, find_unpacked_files
from tests.runtimes.nodejs.test_bundler import call
from tests.support.bundler_cache import real_runtimes
from tests.support.runtimes_project import names, node, write

CODE = "module.exports = 1;"
FILES = 'const fs = require("fs");\nconst path = require("path");\n'
PRISMA = "node_modules/@prisma/client"


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


def package(name: str, code: str = CODE, **manifest: object) -> dict[str, str]:
    said = {"name": name, "version": "1.0.0", **manifest}
    folder = f"node_modules/{name}"
    return {f"{folder}/package.json": json.dumps(said), f"{folder}/index.js": code}


def warned(folder: Path, files: Mapping[str, str], provided: tuple[str, ...] = ()) -> list[str]:
    """The message and the hint of what is reported of a bundle of all scripts."""
    write(folder, files)
    modules = [Module(str(folder / name)) for name in files if name.endswith(".js")]
    code = "".join(text for name, text in files.items() if name.endswith(".js"))
    found = find_bundle_problems(node(provided=provided), modules, code.encode())
    return [f"{one.message} | {one.hint}" for one in found]


@pytest.mark.parametrize(
    "files",
    [
        package("left", gypfile=True),
        package("left", binary={"module_name": "left"}),
        package("left", napi={"name": "left"}),
        package("left", dependencies={"node-gyp-build": "4"}),
        package("left") | {"node_modules/left/binding.gyp": "{}"},
        package("left", optionalDependencies={"@left/linux": "1"})
        | package("@left/linux", os=["linux"], cpu=["x64"]),
    ],
)
def test_a_native_package_is_named_with_its_line(files: dict[str, str], tmp_path: Path) -> None:
    (found,) = warned(tmp_path, {**package("plain"), **files})
    assert "package `left` loads a native module" in found
    assert found.endswith('add to fabric.yml: `build: {external: ["left"]}`')


@pytest.mark.parametrize(
    "files",
    [
        package("left", optionalDependencies={"fsevents": "2"})
        | package("fsevents", os=["darwin"]),
        package("left", optionalDependencies={"gone": "1"}, dependencies={"other": "1"}),
        {"api/src/hello.js": "module.exports = __dirname + '/a.txt';", "api/src/a.txt": ""},
    ],
)
def test_a_package_of_plain_code_is_not_named(files: dict[str, str], tmp_path: Path) -> None:
    assert warned(tmp_path, files) == []


@pytest.mark.parametrize(
    "code",
    [
        FILES + "module.exports = () => fs.readFileSync(__dirname + '/data/a.afm', 'utf8');",
        FILES + 'module.exports = fs.readFileSync(path.join(__dirname, "data", "a.afm"));',
        FILES + "export default fs.readFileSync(new URL('./data/a.afm', import.meta.url));",
        FILES
        + "module.exports = fs.openSync(path.join(__dirname, global.dir || 'data', 'a.afm'));",
        FILES + "module.exports = fs.createReadStream(path.resolve(__dirname, `./data/a.afm`));",
    ],
)
def test_package_that_reads_its_files_is_reported(code: str, tmp_path: Path) -> None:
    files = {**package("left", code), "node_modules/left/data/a.afm": "x"}
    (found,) = warned(tmp_path, files)
    assert "package `left` reads its file `data/a.afm`" in found


@pytest.mark.parametrize(
    "code",
    [
        FILES + "module.exports = fs.readFileSync(__dirname + '/gone.txt');",
        FILES + "module.exports = path.join(__dirname, '..'); fs.readFileSync('/etc/hosts');",
        "module.exports = __dirname + '/data/a.afm';",
    ],
)
def test_package_that_reads_no_files_is_not_reported(code: str, tmp_path: Path) -> None:
    files = {**package("left", code), "node_modules/left/data/a.afm": "x"}
    assert warned(tmp_path, files) == []


def test_workers_cannot_pack_a_package(tmp_path: Path) -> None:
    (found,) = warned(tmp_path, package("left", gypfile=True), provided=("cloudflare:*",))
    assert "use another package" in found


def prisma() -> dict[str, str]:
    client = {"name": ".prisma/client", "version": "1.0.0", "main": "index.js"}
    generated = "module.exports = require('fs').existsSync(__dirname + '/libquery.so.node');"
    return {
        "api/src/hello.ts": 'import it from "@prisma/client";\nexport const handler = () => it;',
        **package("@prisma/client", 'module.exports = require(".prisma/client");'),
        "node_modules/.prisma/client/package.json": json.dumps(client),
        "node_modules/.prisma/client/index.js": generated,
        "node_modules/.prisma/client/libquery.so.node": "",
    }


def test_the_engine_of_prisma_is_named_and_packed(tmp_path: Path, runtimes: Runtimes) -> None:
    write(tmp_path, prisma())
    (found,) = runtimes.build(tmp_path, node()).warnings
    assert found.code == "build/not-in-bundle"
    assert 'external: ["@prisma/client"]' in found.hint
    built = runtimes.build(tmp_path, node(external=("@prisma/client",)))
    assert built.warnings == ()
    assert "node_modules/.prisma/client/libquery.so.node" in names(built)
    assert call(built, tmp_path / "out") is True


def test_the_engine_of_prisma_is_found_in_a_store(tmp_path: Path, runtimes: Runtimes) -> None:
    store = "node_modules/.pnpm/it/"
    files = {name.replace("node_modules/", f"{store}node_modules/", 1): text
             for name, text in prisma().items()}  # fmt: skip
    write(tmp_path, files)
    (tmp_path / "node_modules/@prisma").mkdir()
    (tmp_path / PRISMA).symlink_to(tmp_path / store / PRISMA)
    built = runtimes.build(tmp_path, node(external=("@prisma/client",)))
    assert call(built, tmp_path / "out") is True


def test_a_native_file_of_a_package_names_the_package(tmp_path: Path, runtimes: Runtimes) -> None:
    source = 'import it from "left";\nexport const handler = () => it;'
    native = {"node_modules/left/build/left.node": ""}
    left = package("left", 'module.exports = require("./build/left.node");')
    write(tmp_path, {"api/src/hello.ts": source, **left, **native})
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, node())
    assert 'external: ["left"]' in caught.value.first.hint


@pytest.mark.parametrize(
    "code",
    [
        'import * as fs from "fs";\nfs.readFileSync(new URL("./page.html", import.meta.url));',
        'const { Worker } = require("worker_threads");\nnew Worker(__dirname + "/page.html");',
    ],
)
def test_a_file_beside_a_module_of_the_project_is_named_unless_it_is_included(
    code: str, tmp_path: Path
) -> None:
    root = tmp_path.resolve() / "api"
    write(root, {"src/hello.js": code, "src/page.html": ""})
    entry = locate(tmp_path, node(), (".js",))
    modules = [Module(str(root / "src/hello.js"))]
    [found] = find_unpacked_files(entry, node(), modules)
    assert "`src/hello.js` uses the file `src/page.html`" in found.message
    assert found.hint == 'add to the function in fabric.yml: `include: ["src/page.html"]`'
    assert not list(find_unpacked_files(entry, node(include=("src/*.html",)), modules))
    other = [Module(str(root / "lib/deep.js"))]
    write(root, {"lib/deep.js": code, "lib/page.html": ""})
    [found] = find_unpacked_files(entry, node(), other)
    assert found.hint.startswith("move it to the directory of `src/hello.js`")
