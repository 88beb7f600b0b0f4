"""`emitDecoratorMetadata`: by the project's TypeScript, or the build says why it cannot."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.build import Runtimes
from tests.runtimes.nodejs.test_bundler import call
from tests.support.bundler_cache import real_runtimes
from tests.support.runtimes_project import digests, node, unchanged, write

# Says what it was asked for, in place of what the real one does.
COMPILER = """
exports.ModuleKind = { ESNext: 99 };
exports.ScriptTarget = { ES2021: 8, ES2022: 9 };
exports.JsxEmit = { Preserve: 1 };
exports.transpileModule = (text, { compilerOptions }) => ({
  outputText: `export const asked = ${JSON.stringify(compilerOptions)};`,
});
"""
TYPESCRIPT = {
    "node_modules/typescript/package.json": '{"name": "typescript", "version": "5.0.0"}',
    "node_modules/typescript/index.js": COMPILER,
}
ASKED = '{"extends": "./base.json", "compilerOptions": {"strict": true, "target": "ES2022"}}'
PROJECT = {
    "api/base.json": '{"compilerOptions": {"emitDecoratorMetadata": true, "strict": false}}',
    "api/tsconfig.json": ASKED,
    "api/src/hello.ts": 'import { asked } from "./service";\nexport const handler = () => asked;',
    "api/src/service.ts": "@Injectable()\nexport class Service { constructor(a: A) {} }",
}


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


def test_files_with_decorators_go_through_the_projects_typescript(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**PROJECT, **TYPESCRIPT})
    built = runtimes.build(tmp_path, node())
    known = digests(tmp_path, built.seen)
    asked = call(built, tmp_path / "out")
    assert isinstance(asked, dict)
    assert asked["emitDecoratorMetadata"] is True
    assert (asked["strict"], asked["useDefineForClassFields"], asked["target"]) == (True, True, 9)
    assert unchanged(tmp_path, built.seen, known)
    write(tmp_path, {"node_modules/typescript/package.json": '{"version": "5.1.0"}'})
    assert not unchanged(tmp_path, built.seen, known)


def test_decorators_without_typescript_fail_with_a_reason(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, PROJECT)
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, node())
    problem = caught.value.first
    assert "`emitDecoratorMetadata`" in problem.message
    assert problem.where is not None
    assert problem.where.file == "api/src/service.ts"


def test_code_without_decorators_needs_no_typescript(tmp_path: Path, runtimes: Runtimes) -> None:
    write(tmp_path, {**PROJECT, "api/src/service.ts": "export const asked = 'a@b.c'; // @nobody"})
    write(tmp_path, {"api/src/service.ts": "export const asked = 'a@b.c';"})
    built = runtimes.build(tmp_path, node())
    assert call(built, tmp_path / "out") == "a@b.c"
    assert "node_modules/typescript/package.json" in built.seen.absent
