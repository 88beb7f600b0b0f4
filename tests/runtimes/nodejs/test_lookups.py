"""What decides a bundle from afar: settings, manifests, stylesheets, computed imports.

Each case is a project and one edit that gives another bundle: what was seen must tell of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.archive import hash_contents
from fabric.runtimes.build import Runtimes
from tests.support.bundler_cache import real_runtimes
from tests.support.runtimes_project import digests, node, unchanged, write

IMPORTS_N = 'import { n } from "@n";\nexport const handler = () => n;\n'
TRIES_N = 'let n; try { n = require("@n") } catch {}\nexport const handler = () => n;\n'
BOTH = {"libs/n.ts": "export const n = 1;", "libs/more/n.ts": "export const n = 2;"}
REPO_BASE = "node_modules/@repo/typescript-config"


def options(text: str) -> str:
    return f'{{"compilerOptions": {{{text}}}}}'


def config(extends: str, text: str = "") -> str:
    return f'{{"extends": {extends}, "compilerOptions": {{{text}}}}}'


def leads(file: str, target: str) -> str:
    """A config, by its place in the workspace, that maps `@n` to a module of `libs`."""
    return options(f'"paths": {{"@n": ["{"../" * file.count("/")}libs/{target}"]}}')


@dataclass(frozen=True)
class Case:
    """`before` is written first, `edit` later; links lead from a path to another one."""

    id: str
    before: Mapping[str, str]
    edit: Mapping[str, str]
    links: Mapping[str, str] = field(default_factory=dict)
    late_links: Mapping[str, str] = field(default_factory=dict)


def extended(case: str, manifest: str, name: str, file: str) -> Case:
    """A package's config, found by its manifest under `name`, that begins to lead elsewhere."""
    folder = "node_modules/base"
    sources = {"api/src/hello.ts": IMPORTS_N, "api/tsconfig.json": config(f'"{name}"'), **BOTH}
    path = f"{folder}/{file}"
    before = {**sources, f"{folder}/package.json": manifest, path: leads(path, "n")}
    return Case(case, before, {path: leads(path, "more/n")})


def manifest(extra: str) -> str:
    return f'{{"name": "base", "version": "1.0.0", {extra}}}'


BASE = "packages/typescript-config/base.json"
TURBO = {
    "api/src/hello.ts": IMPORTS_N,
    "api/tsconfig.json": config('"@repo/typescript-config/base.json"'),
    "packages/typescript-config/package.json": '{"name": "@repo/typescript-config"}',
    BASE: leads(BASE, "n"),
    **BOTH,
}
LINK = {REPO_BASE: "packages/typescript-config"}
LINKED = {"node_modules/@repo/lib": "packages/lib"}
CASES = (
    Case(
        "a linked package's config",
        TURBO,
        {BASE: leads(BASE, "more/n")},
        LINK,
    ),
    Case(
        "a linked package's config that comes with the install",
        {**TURBO, "api/src/hello.ts": TRIES_N},
        {},
        late_links=LINK,
    ),
    extended("the tsconfig field", manifest('"tsconfig": "./conf/x.json"'), "base", "conf/x.json"),
    extended("the tsconfig field of a folder", manifest('"tsconfig": "conf"'), "base", "conf.json"),
    extended("no field", manifest('"main": "x"'), "base", "tsconfig.json"),
    extended("exports", manifest('"exports": "./conf/x.json"'), "base", "conf/x.json"),
    extended(
        "exports of a subpath",
        manifest('"exports": {"./strict": {"import": "./no", "require": "./conf/s.json"}}'),
        "base/strict",
        "conf/s.json",
    ),
    extended(
        "exports of a pattern",
        manifest('"exports": {"./*": {"default": "./conf/*.json"}}'),
        "base/strict",
        "conf/strict.json",
    ),
    Case(
        "a field that begins to name another file",
        {
            "api/src/hello.ts": IMPORTS_N,
            "api/tsconfig.json": config('"base"'),
            "node_modules/base/package.json": manifest('"tsconfig": "./one.json"'),
            "node_modules/base/one.json": leads("node_modules/base/one.json", "n"),
            "node_modules/base/two.json": leads("node_modules/base/two.json", "more/n"),
            **BOTH,
        },
        {"node_modules/base/package.json": manifest('"tsconfig": "./two.json"')},
    ),
    Case(
        "the second of many",
        {
            "api/src/hello.ts": IMPORTS_N,
            "api/tsconfig.json": config('["../a.json", "../b.json"]'),
            "a.json": "{}",
            "b.json": options('"paths": {"@n": ["./libs/n"]}'),
            **BOTH,
        },
        {"b.json": options('"paths": {"@n": ["./libs/more/n"]}')},
    ),
    Case(
        "paths of a base, from the baseUrl of who extends it",
        {
            "api/src/hello.ts": IMPORTS_N,
            "api/tsconfig.json": config('"../base/tsconfig.json"', '"baseUrl": "../libs"'),
            "base/tsconfig.json": options('"paths": {"@n": ["./late", "./n"]}'),
            **BOTH,
        },
        {"libs/late.ts": "export const n = 3;"},
    ),
    Case(
        "paths of who extends, from the baseUrl of a base",
        {
            "api/src/hello.ts": IMPORTS_N,
            "api/tsconfig.json": config(
                '"../libs/tsconfig.json"', '"paths": {"@n": ["late", "n"]}'
            ),
            "libs/tsconfig.json": options('"baseUrl": "."'),
            **BOTH,
        },
        {"libs/late.ts": "export const n = 3;"},
    ),
    Case(
        "the folder of the config that the chain begins with",
        {
            "api/src/hello.ts": IMPORTS_N,
            "api/tsconfig.json": config('"../base/tsconfig.json"'),
            "base/tsconfig.json": options(
                '"paths": {"@n": ["${configDir}/late", "${configDir}/../libs/n"]}'
            ),
            **BOTH,
        },
        {"api/late.ts": "export const n = 3;"},
    ),
    Case(
        "a config behind a link",
        {
            "api/src/hello.ts": IMPORTS_N,
            "base/one/tsconfig.json": config('"./more"', '"baseUrl": "../../libs"'),
            "base/one/more.json": options('"paths": {"@n": ["n"]}'),
            **BOTH,
        },
        {"base/one/more.json": options('"paths": {"@n": ["more/n"]}')},
        {"api/tsconfig.json": "base/one/tsconfig.json"},
    ),
    Case(
        "paths of an absolute name",
        {
            "api/src/hello.ts": IMPORTS_N.replace("@n", "/n"),
            "api/tsconfig.json": options('"paths": {"/*": ["../libs/late/*", "../libs/*"]}'),
            **BOTH,
        },
        {"libs/late/n.ts": "export const n = 3;"},
    ),
    Case(
        "a stylesheet's import of a bare name",
        {
            "api/src/hello.ts": 'import "./a.css";\nexport const handler = () => 1;',
            "api/src/a.css": '@import "x.css";',
            "node_modules/x.css/package.json": '{"name": "x.css", "version": "1.0.0"}',
            "node_modules/x.css/index.css": "a {}",
        },
        {"api/src/x.css": "b {}"},
    ),
    Case(
        "a linked package's export that was not there",
        {
            "api/src/hello.ts": TRIES_N.replace("@n", "@repo/lib/deep"),
            "packages/lib/package.json": '{"exports": {"./*": "./src/*.js"}}',
        },
        {"packages/lib/src/deep.ts": "export const n = 3;"},
        LINKED,
    ),
    Case(
        "a package's own name",
        {
            "api/src/hello.ts": TRIES_N.replace("@n", "shop/deep"),
            "api/package.json": '{"name": "shop", "exports": {"./deep": "./src/deep.js"}}',
        },
        {"api/src/deep.js": "exports.n = 3;"},
    ),
    *(
        Case(
            f"a computed import into {folder}: {change}",
            {
                "api/src/hello.js": "exports.handler = (n) => import(`./lib/${n}.js`);",
                f"api/src/lib/{folder}/one.js": "exports.n = 1;",
                f"api/src/lib/{folder}/package.json": '{"version": "1.0.0"}',
            },
            {f"api/src/lib/{folder}/{change}.js": "exports.n = 2;"},
        )
        for folder in (".venv", "__pycache__", "node_modules/left", "[id]", "a\nb")
        for change in ("one", "two")
    ),
    Case(
        "a computed import beside brackets",
        {
            "api/[id]/hello.js": "exports.handler = (n) => import(`./lib/${n}.js`);",
            "api/src/hello.js": 'exports.handler = require("../[id]/hello.js").handler',
            "api/[id]/lib/one.js": "exports.n = 1;",
        },
        {"api/[id]/lib/two.js": "exports.n = 2;"},
    ),
    Case(
        "what an unversioned package has in a cache folder",
        {
            "api/src/hello.js": 'exports.handler = require("plain");',
            "node_modules/plain/index.js": 'module.exports = require("./__pycache__/x");',
            "node_modules/plain/__pycache__/x.js": "module.exports = 1;",
        },
        {"node_modules/plain/__pycache__/x.js": "module.exports = 2;"},
    ),
)


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


def link(workspace: Path, links: Mapping[str, str]) -> None:
    for name, target in links.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(workspace / target)


def bundle(runtimes: Runtimes, workspace: Path) -> str:
    try:
        return hash_contents(runtimes.build(workspace, node()).files)
    except FabricError as error:
        return error.first.message


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_change_that_affects_the_bundle_is_detected(
    case: Case, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, case.before)
    link(tmp_path, case.links)
    built = runtimes.build(tmp_path, node())
    known = digests(tmp_path, built.seen)
    assert unchanged(tmp_path, built.seen, known)
    write(tmp_path, case.edit)
    link(tmp_path, case.late_links)
    assert bundle(runtimes, tmp_path) != hash_contents(built.files)
    assert not unchanged(tmp_path, built.seen, known)


def test_pnp_manifest_does_not_hide_other_manifests(tmp_path: Path, runtimes: Runtimes) -> None:
    """A module without side effects, by a manifest above the workspace, is left out."""
    workspace = tmp_path / "repo"
    write(
        workspace,
        {
            ".pnp.js": "",
            "api/src/hello.ts": 'import "./n";\nexport const handler = () => 1;',
            "api/src/n.ts": "console.log(1);",
        },
    )
    built = runtimes.build(workspace, node())
    known = digests(workspace, built.seen)
    write(tmp_path, {"package.json": '{"sideEffects": false}'})
    assert bundle(runtimes, workspace) != hash_contents(built.files)
    assert not unchanged(workspace, built.seen, known)
