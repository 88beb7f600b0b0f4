"""Node functions with the real bundler: what comes out runs, and what decided it is known."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Built, FileRows
from fabric.runtimes.nodejs.bundler import Bundler
from fabric.runtimes.nodejs.toolchain import PINNED, find_node
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN, real_runtimes
from tests.support.runtimes_project import digests, names, node, text_of, unchanged, write

CALL = """
const [module, name] = process.argv[1].split(/\\.(?=[^.]+$)/);
const found = [".js", ".mjs"].map((end) => `${process.cwd()}/${module}${end}`)
  .find((path) => require("fs").existsSync(path));
import(found)
  .then((exports) => (exports[name] ?? exports.default[name])({}))
  .then((answer) => console.log(JSON.stringify(answer)));
"""


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Runtimes]:
    """No bundler anywhere, and none may be installed."""
    made = Runtimes(tmp_path / "no-tools", ENVIRONMENT, install=False)
    yield made
    made.close()


def call(built: Built, folder: Path) -> object:
    """Unpack into an empty folder and let plain Node call the handler."""
    shutil.rmtree(folder, ignore_errors=True)
    for file in built.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
    program = [str(find_node(ENVIRONMENT)), "-e", CALL, built.handler]
    done = subprocess.run(program, cwd=folder, check=True, capture_output=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["commonjs", "module"])
def test_the_output_runs_whatever_the_package_type_is(
    kind: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(
        tmp_path,
        {
            "package.json": json.dumps({"type": kind}),
            "api/src/hello.ts": 'import { n } from "./n.js";\nexport const handler = () => n;',
            "api/src/n.ts": "export const n: number = 7;",
        },
    )
    assert call(runtimes.build(tmp_path, node()), tmp_path / "out") == 7


def test_default_export_is_the_handler_if_no_export_is_named(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {"api/src/hello.js": "export default async () => 'hi';"})
    built = runtimes.build(tmp_path, node("src/hello.js"))
    assert built.handler == "src/hello.handler"
    assert call(built, tmp_path / "out") == "hi"


def test_a_bundle_finds_the_files_beside_its_source(tmp_path: Path, runtimes: Runtimes) -> None:
    write(
        tmp_path,
        {
            "package.json": '{"type": "module"}',
            "api/package.json": '{"version": "3"}',
            "api/src/words.txt": "hi",
            "api/src/orders.service.js": """
              const read = (name) => require("fs").readFileSync(`${__dirname}/${name}`, "utf8");
              exports.handler = () => [read("words.txt"), read("../package.json")];
            """,
        },
    )
    inputs = node("src/orders.service.js", include=("src/*.txt", "package.json"))
    built = runtimes.build(tmp_path, inputs)
    assert built.handler == "src/orders_service.handler"
    assert call(built, tmp_path / "out") == ["hi", '{"version": "3"}']


def test_an_entry_may_be_called_like_the_output(tmp_path: Path, runtimes: Runtimes) -> None:
    write(tmp_path, {"api/index.js": "exports.run = () => 3;"})
    assert call(runtimes.build(tmp_path, node("index.run")), tmp_path / "out") == 3


def test_a_source_map_names_sources_relative_to_the_service(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    write(
        tmp_path,
        {
            "api/src/hello.ts": 'import { n } from "../../libs/n";\nexport const handler = n;',
            "libs/n.ts": "export const n = () => Date.now();",
        },
    )
    built = runtimes.build(tmp_path, node(sourcemap=True, minify=True))
    assert names(built) == ["src/hello.js", "src/hello.js.map"]
    sources = json.loads(text_of(built, "src/hello.js.map"))["sources"]
    assert sorted(sources) == ["../../libs/n.ts", "hello.ts"]


def test_all_errors_are_reported_each_with_its_place(tmp_path: Path, runtimes: Runtimes) -> None:
    write(tmp_path, {"api/src/hello.ts": 'import "./a";\nimport "./b";\n'})
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, node())
    places = {str(problem.where) for problem in caught.value.problems}
    assert places == {"api/src/hello.ts:1:8", "api/src/hello.ts:2:8"}
    assert {problem.code for problem in caught.value.problems} == {"build/failed"}
    assert caught.value.first.frame == 'import "./a";'


def test_a_warning_of_the_bundler_is_passed_on(tmp_path: Path, runtimes: Runtimes) -> None:
    write(tmp_path, {"api/src/hello.ts": "export const handler = (a: number) => a === NaN;\n"})
    built = runtimes.build(tmp_path, node())
    assert [problem.code for problem in built.warnings] == ["build/warning"]


def test_a_package_counts_by_its_manifest_and_lock(tmp_path: Path, runtimes: Runtimes) -> None:
    write(
        tmp_path,
        {
            "package-lock.json": "{}",
            "node_modules/left/package.json": '{"name": "left", "version": "1.0.0"}',
            "node_modules/left/index.js": "module.exports = 5;",
            "api/src/hello.ts": 'import left from "left";\nexport const handler = () => left;',
        },
    )
    built = runtimes.build(tmp_path, node())
    known = digests(tmp_path, built.seen)
    assert call(built, tmp_path / "out") == 5
    assert "node_modules/left/package.json" in built.seen.files
    assert built.seen.rows == (FileRows("package-lock.json", ("node_modules/left left@1.0.0",)),)
    assert "node_modules/left/index.js" not in built.seen.files
    nearer = {"api/node_modules/left/package.json": "{}"}
    write(tmp_path, nearer)
    assert not unchanged(tmp_path, built.seen, known)


@pytest.mark.parametrize("manifest", [{}, {"node_modules/plain/package.json": '{"name": "plain"}'}])
@pytest.mark.parametrize("moved", ["sub.js", "index.js", "sub.ts", "later.js"])
def test_a_package_without_a_version_counts_file_by_file(
    manifest: dict[str, str], moved: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    source = (
        'import plain from "plain";\nimport "plain/sub";\ntry { require("plain/later") } catch {}'
    )
    write(
        tmp_path,
        {
            "node_modules/plain/index.js": 'module.exports = require("./sub");',
            "node_modules/plain/sub.js": "module.exports = 5;",
            "api/src/hello.ts": f"{source}\nexport const handler = () => plain;",
            **manifest,
        },
    )
    built = runtimes.build(tmp_path, node())
    known = digests(tmp_path, built.seen)
    assert unchanged(tmp_path, built.seen, known)
    write(tmp_path, {f"node_modules/plain/{moved}": "module.exports = 6;"})
    assert not unchanged(tmp_path, built.seen, known)


def test_a_package_without_a_version_counts_file_by_file_without_a_bundler_too(
    tmp_path: Path, bare: Runtimes
) -> None:
    write(
        tmp_path,
        {
            "node_modules/plain/package.json": "{}",
            "node_modules/plain/sub.js": "module.exports = 5;",
            "api/src/hello.js": 'exports.handler = () => require("plain/sub");',
        },
    )
    built = bare.build(tmp_path, node())
    known = digests(tmp_path, built.seen)
    assert unchanged(tmp_path, built.seen, known)
    write(tmp_path, {"node_modules/plain/sub.js": "module.exports = 6;"})
    assert not unchanged(tmp_path, built.seen, known)


def test_a_linked_package_counts_file_by_file_and_by_its_link(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    package = {"package.json": '{"name": "@shop/n"}', "index.ts": "export const n = 2;"}
    for folder in ("libs/one", "libs/two"):
        write(tmp_path / folder, package)
    write(
        tmp_path,
        {"api/src/hello.ts": 'import { n } from "@shop/n";\nexport const handler = () => n;'},
    )
    link = tmp_path / "node_modules/@shop/n"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "libs/one")
    built = runtimes.build(tmp_path, node())
    known = digests(tmp_path, built.seen)
    assert "libs/one/index.ts" in built.seen.files
    assert unchanged(tmp_path, built.seen, known)
    link.unlink()
    link.symlink_to(tmp_path / "libs/two")
    assert not unchanged(tmp_path, built.seen, known)


@pytest.mark.parametrize("name", ["tsconfig.json", "api/tsconfig.json", "api/src/package.json"])
def test_a_new_settings_file_is_noticed(name: str, tmp_path: Path, runtimes: Runtimes) -> None:
    write(tmp_path, {"api/src/hello.ts": "export const handler = () => 1;"})
    built = runtimes.build(tmp_path, node())
    known = digests(tmp_path, built.seen)
    write(tmp_path, {name: "{}"})
    assert not unchanged(tmp_path, built.seen, known)


def test_extended_tsconfig_is_an_input(tmp_path: Path, runtimes: Runtimes) -> None:
    write(
        tmp_path,
        {
            "api/tsconfig.json": '{ /* note */ "extends": "../base", }',
            "base.json": '{"compilerOptions": {"paths": {"@n": ["./libs/n"]}}}',
            "libs/n.ts": "export const n = 4;",
            "api/src/hello.ts": 'import { n } from "@n";\nexport const handler = () => n;',
        },
    )
    built = runtimes.build(tmp_path, node())
    assert call(built, tmp_path / "out") == 4
    assert {"api/tsconfig.json", "base.json", "libs/n.ts"} <= set(built.seen.files)
    assert "libs/n.tsx" in built.seen.absent


def test_the_projects_own_bundler_comes_first(tmp_path: Path, runtimes: Runtimes) -> None:
    assert runtimes.toolchain(tmp_path, node()).identity == f"esbuild {PINNED}"
    write(tmp_path, {"node_modules/esbuild/package.json": '{"version": "0.0.1"}'})
    toolchain = runtimes.toolchain(tmp_path, node())
    assert toolchain.identity == "esbuild 0.0.1"
    assert "api/node_modules/esbuild/package.json" in toolchain.watch


def test_many_builds_at_once_get_their_own_answers(tmp_path: Path, runtimes: Runtimes) -> None:
    count = 40
    write(
        tmp_path,
        {f"api/src/f{n}.ts": f"export const handler = () => 'is {n}';" for n in range(count)},
    )
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(runtimes.build, tmp_path, node(f"src/f{n}.ts")) for n in range(count)]
    for number, job in enumerate(jobs):
        assert f'"is {number}"' in text_of(job.result(), f"src/f{number}.js")


def test_a_dead_child_is_a_clear_error() -> None:
    bundler = Bundler(find_node(ENVIRONMENT), ENVIRONMENT)
    try:
        os.kill(bundler.pid, signal.SIGKILL)
        with pytest.raises(FabricError) as caught:
            bundler.ask(TOOLCHAIN, {})
        assert caught.value.first.code == "runtime/bundler-died"
    finally:
        bundler.close()


def test_plain_javascript_is_packed_as_it_is_without_a_bundler(
    tmp_path: Path, bare: Runtimes
) -> None:
    write(
        tmp_path,
        {
            "api/src/hello.js": "exports.handler = () => [require('./n'), require('left')];",
            "api/src/n.js": "module.exports = 1;",
            "api/src/unrelated.js": "",
            "node_modules/left/package.json": '{"dependencies": {"right": "1"}}',
            "node_modules/left/index.js": 'module.exports = require("right");',
            "node_modules/right/package.json": "{}",
            "node_modules/right/index.js": "module.exports = 2;",
            "node_modules/unused/package.json": "{}",
        },
    )
    built = bare.build(tmp_path, node())
    known = digests(tmp_path, built.seen)
    assert call(built, tmp_path / "out") == [1, 2]
    assert "src/unrelated.js" not in names(built)
    assert not any("unused" in name for name in names(built))
    assert [problem.code for problem in built.warnings] == ["runtime/not-bundled"]
    assert built.toolchain == bare.toolchain(tmp_path, node()).identity == "closure 1"
    write(tmp_path, {"api/src/n": "exports.never = 1;"})
    assert not unchanged(tmp_path, built.seen, known)


def test_typescript_without_a_bundler_is_a_clear_error(tmp_path: Path, bare: Runtimes) -> None:
    write(tmp_path, {"api/src/hello.ts": "export const handler = () => 1;"})
    with pytest.raises(FabricError) as caught:
        bare.build(tmp_path, node())
    assert caught.value.first.code == "runtime/bundler-missing"
    assert "devDependencies" in caught.value.first.hint
