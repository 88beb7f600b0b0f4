"""A missing export is told where it is known, and nowhere else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.build import Runtimes
from tests.support.bundler_cache import real_runtimes
from tests.support.runtimes_project import node, write


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


BESIDE = {
    "api/src/esm.ts": "export const handler = () => 1;",
    "api/src/cjs.cjs": "exports.handler = () => 1;",
    "api/src/other.ts": "export const other = () => 1;",
    "node_modules/left/package.json": '{"name": "left", "version": "1.0.0"}',
    "node_modules/left/index.js": "module.exports = {};",
}


@pytest.mark.parametrize(
    "source",
    [
        "export const handler = 1;",
        "export { handler } from './esm';",
        "export { other as handler } from './other';",
        "export * from './esm';",
        "export * from './cjs.cjs';",
        "export * from 'left';",
        "export default () => 1;",
        "const other = () => 1; export { other as default };",
        "module.exports = { handler: () => 1 };",
        "module.exports = require('./cjs.cjs');",
        "exports.handler = () => 1;",
        "module.exports.handler = () => 1;",
        "exports['han' + 'dler'] = () => 1;",
        "Object.assign(exports, require('./cjs.cjs'));",
        "this.handler = () => 1;",
        "const self = exports; self.handler = () => 1;",
        "import { other } from './other';\nexports.handler = other;",
        "import { other } from './other';\nmodule.exports = { handler: other };",
    ],
)
@pytest.mark.parametrize("size", ["plain", "small"])
def test_an_export_that_is_or_may_be_there_is_let_pass(
    source: str, size: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**BESIDE, "api/src/hello.js": source})
    assert runtimes.build(tmp_path, node("src/hello.js", minify=size == "small")).files


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("export const other = 1, more = 2;", "`more`, `other`"),
        ("export * from './other';", "`other`"),
        ("import { other } from './other';\nconsole.log(other);", ""),
        ("exports.other = 1;", ""),
        ("// exports.handler = 1\n module.exports.other = 1;", ""),
        ("console.log(1);", ""),
        ("", ""),
    ],
)
@pytest.mark.parametrize("size", ["plain", "small"])
def test_an_export_that_is_surely_missing_fails_the_build(
    source: str, known: str, size: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**BESIDE, "api/src/hello.js": source})
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, node("src/hello.js", minify=size == "small"))
    assert caught.value.first.code == "build/no-export"
    assert known in caught.value.first.hint


FETCH = {"handlers": ("default", "app"), "methods": ("fetch", "scheduled")}


@pytest.mark.parametrize(
    "source",
    [
        "export default { fetch: () => 1 };",
        "const fetch = () => 1;\nexport default { fetch };",
        "const worker = {};\nexport default worker;",
        "import { other } from './other';\nexport default { ...other };",
        "export const app = () => 1;",
        "exports.app = () => 1;",
        "export const handler = () => 1;\nexport default {};",
    ],
)
def test_provider_specific_method_is_a_handler(
    source: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**BESIDE, "api/src/hello.js": source})
    assert runtimes.build(tmp_path, node("src/hello.js", **FETCH)).files


@pytest.mark.parametrize(
    ("source", "methods", "words"),
    [
        ("export default { get: () => 1 };", ("fetch",), "objects with one of `fetch`"),
        ("export default { fetch: () => 1 };", (), "calls functions"),
        ("// one\nexport default {\n  a: 1,\n};", ("fetch",), "is an object"),
    ],
)
def test_object_without_a_callable_method_fails_the_build(
    source: str, methods: tuple[str, ...], words: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**BESIDE, "api/src/hello.js": source})
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, node("src/hello.js", methods=methods))
    assert caught.value.first.code == "build/no-handler"
    assert words in caught.value.first.message


def test_searched_export_names_are_reported(tmp_path: Path, runtimes: Runtimes) -> None:
    write(tmp_path, {**BESIDE, "api/src/hello.js": "export const other = () => 1;"})
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, node("src/hello.js", **FETCH))
    assert "`handler` or `app`, and no default export" in caught.value.first.message


@pytest.mark.parametrize(
    ("source", "handler"),
    [
        ("export const app = () => 1;", "src/hello.app"),
        ("export const app = () => 1; export default app;", "src/hello.default"),
        ("export const app = () => 1; export const handler = app;", "src/hello.handler"),
    ],
)
def test_the_first_name_that_is_there_is_the_handler(
    source: str, handler: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**BESIDE, "api/src/hello.mjs": source})
    assert runtimes.build(tmp_path, node("src/hello.mjs", **FETCH)).handler == handler
