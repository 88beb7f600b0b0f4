"""What a config says to the bundler, each with the real one: what comes out runs in plain Node."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.build import Runtimes
from tests.runtimes.nodejs.test_bundler import call
from tests.support.bundler_cache import real_runtimes
from tests.support.runtimes_project import digests, names, node, text_of, unchanged, write

HELLO = "api/src/hello.ts"


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


def test_defines_and_loaders_are_applied(tmp_path: Path, runtimes: Runtimes) -> None:
    write(
        tmp_path,
        {
            HELLO: """
              import query from "./query.sql";
              export const handler = () => [process.env.STAGE, LIMIT, query];
            """,
            "api/src/query.sql": "select 1",
        },
    )
    inputs = node(
        define=(("LIMIT", "3"), ("process.env.STAGE", '"prod"')), loader=((".sql", "text"),)
    )
    built = runtimes.build(tmp_path, inputs)
    assert call(built, tmp_path / "out") == ["prod", 3, "select 1"]


def test_a_file_that_is_packed_beside_the_bundle_is_found(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    source = (
        'import way from "./a.txt"; import { readFileSync } from "fs"; import path from "path";'
    )
    read = "export const handler = () => `${readFileSync(path.join(__dirname, way))}`;"
    write(tmp_path, {HELLO: f"{source}\n{read}", "api/src/a.txt": "words"})
    built = runtimes.build(tmp_path, node(loader=((".txt", "file"),)))
    assert call(built, tmp_path / "out") == "words"


def test_banner_target_and_keep_names_are_applied(tmp_path: Path, runtimes: Runtimes) -> None:
    source = "class Order {}\nexport const handler = () => [Order.name, globalThis.a?.b ?? 1];"
    write(tmp_path, {HELLO: source})
    inputs = node(banner="/* shop */", target="es2019", keep_names=True, minify=True)
    built = runtimes.build(tmp_path, inputs)
    text = text_of(built, "src/hello.js")
    assert text.startswith("/* shop */")
    assert "??" not in text
    assert call(built, tmp_path / "out") == ["Order", 1]


def test_only_the_configured_tsconfig_is_used(tmp_path: Path, runtimes: Runtimes) -> None:
    write(
        tmp_path,
        {
            HELLO: 'import { n } from "@n";\nexport const handler = () => n;',
            "api/tsconfig.json": '{"compilerOptions": {"paths": {"@n": ["./src/one.ts"]}}}',
            "tsconfig.build.json": '{"compilerOptions": {"paths": {"@n": ["./api/src/two.ts"]}}}',
            "api/src/one.ts": "export const n = 1;",
            "api/src/two.ts": "export const n = 2;",
        },
    )
    built = runtimes.build(tmp_path, node(tsconfig="../tsconfig.build.json"))
    known = digests(tmp_path, built.seen)
    assert call(built, tmp_path / "out") == 2
    assert "api/tsconfig.json" not in built.seen.files
    write(tmp_path, {"tsconfig.build.json": "{}"})
    assert not unchanged(tmp_path, built.seen, known)


@pytest.mark.parametrize(
    "files",
    [
        {"api/src/hello.mjs": "export const handler = () => import.meta.url.slice(0, 5);"},
        {
            "api/package.json": '{"type": "module"}',
            "api/src/hello.js": "export default () => import.meta.url.slice(0, 5);",
        },
        {HELLO: 'const word = await Promise.resolve("file:");\nexport const handler = () => word;'},
    ],
    ids=["by extension", "by manifest", "by top-level await"],
)
def test_code_that_requires_esm_is_built_as_esm(
    files: dict[str, str], tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, files)
    entry = next(name for name in files if "hello" in name).removeprefix("api/")
    built = runtimes.build(tmp_path, node(entry))
    assert names(built) == ["src/hello.mjs"]
    assert call(built, tmp_path / "out") == "file:"


def test_a_package_in_commonjs_runs_in_an_es_module(tmp_path: Path, runtimes: Runtimes) -> None:
    write(
        tmp_path,
        {
            "node_modules/left/package.json": '{"name": "left", "version": "1.0.0"}',
            "node_modules/left/index.js": """
              const name = ["o", "s"].join("");
              exports.left = () => [typeof require(name).cpus, typeof __dirname, typeof __filename];
            """,
            "api/src/hello.mts": """
              import { left } from "left";
              import { createRequire } from "node:module";
              import { dirname } from "node:path";
              const require = createRequire(import.meta.url);
              const __dirname = dirname(import.meta.url);
              export const handler = () => [...left(), typeof require("fs").stat, typeof __dirname];
            """,
        },
    )
    built = runtimes.build(tmp_path, node("src/hello.mts"))
    assert call(built, tmp_path / "out") == ["function", *["string"] * 2, "function", "string"]


def test_commonjs_in_a_package_of_modules_stays_commonjs(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    write(
        tmp_path,
        {
            "api/package.json": '{"type": "module"}',
            "api/src/hello.js": "exports.handler = () => require('os').EOL;",
        },
    )
    built = runtimes.build(tmp_path, node())
    assert names(built) == ["src/hello.js", "src/package.json"]
    assert call(built, tmp_path / "out") == "\n"


def test_configured_format_is_used(tmp_path: Path, runtimes: Runtimes) -> None:
    write(tmp_path, {"api/src/hello.mjs": "export const handler = () => 4;"})
    assert names(runtimes.build(tmp_path, node(format="cjs"))) == ["src/hello.js"]
    write(tmp_path, {"api/src/hello.mjs": "await 1; export const handler = () => 4;"})
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, node(format="cjs"))
    assert "`build.format`" in caught.value.first.hint


def test_runtime_packages_and_layer_files_stay_external(tmp_path: Path, runtimes: Runtimes) -> None:
    write(
        tmp_path,
        {
            "node_modules/@aws-sdk/client-s3/package.json": '{"version": "3.0.0"}',
            "node_modules/@aws-sdk/client-s3/index.js": "throw new Error('packed');",
            HELLO: """
              export const handler = () => 1;
              export const sdk = () => require("@aws-sdk/client-s3");
              export const layer = () => require("/opt/nodejs/words.js");
            """,
        },
    )
    built = runtimes.build(tmp_path, node(provided=("@aws-sdk/*",)))
    assert names(built) == ["src/hello.js"]
    assert 'require("@aws-sdk/client-s3")' in text_of(built, "src/hello.js")
    assert 'require("/opt/nodejs/words.js")' in text_of(built, "src/hello.js")


def test_modules_of_workers_make_an_es_module(tmp_path: Path, runtimes: Runtimes) -> None:
    source = 'import { env } from "cloudflare:workers";\nexport const handler = () => env;'
    write(tmp_path, {HELLO: source})
    built = runtimes.build(tmp_path, node(provided=("cloudflare:*",)))
    assert names(built) == ["src/hello.mjs"]
    assert 'import { env } from "cloudflare:workers"' in text_of(built, "src/hello.mjs")


def test_a_module_of_workers_deeper_in_the_code_fails_elsewhere(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    write(
        tmp_path,
        {
            HELLO: 'import { a } from "./a";\nexport const handler = () => a;',
            "api/src/a.ts": 'import { env } from "cloudflare:workers";\nexport const a = env;',
        },
    )
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, node())
    assert "`edge1-workers`" in caught.value.first.hint


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ('import "left";', "`build.external`"),
        ('import "./a.svg";', "`build.loader`"),
        ('import "./a.node";', "`build.external`"),
    ],
)
def test_hints_name_our_own_options(
    source: str, hint: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {HELLO: source, "api/src/a.svg": "", "api/src/a.node": ""})
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, node())
    assert hint in caught.value.first.hint


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ({"define": (("STAGE", "not code"),)}, "`build.define`"),
        ({"tsconfig": "gone.json"}, "`build.tsconfig`"),
    ],
)
def test_an_option_that_cannot_be_is_named(
    option: dict[str, Any], hint: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {HELLO: "export const handler = () => 1;"})
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, node(**option))
    assert hint in caught.value.first.hint, json.dumps(caught.value.first.message)
