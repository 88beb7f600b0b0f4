"""Entries that a plan refuses by their text, and those that it must not refuse."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.build import Runtimes
from tests.support.runtimes_project import node, write

AZURE = 'import { app } from "@azure/functions";\n'
GOOGLE = 'const functions = require("@google-cloud/functions-framework");\n'
WORKERS = 'export const handler = () => 1;\nimport { connect } from "cloudflare:sockets";\n'


def code(folder: Path, source: str, entry: str = "src/hello.ts", **options: object) -> str:
    """The code of the problem that a plan reports; empty for an entry that it takes."""
    write(folder, {"api/src/hello.ts": source})
    runtimes = Runtimes(folder / "tools", {}, install=False)
    try:
        runtimes.entry(folder, node(entry, **options))
    except FabricError as error:
        return error.first.code
    return ""


@pytest.mark.parametrize(
    "source",
    [
        AZURE + 'app.http("hello", { handler: async () => ({ body: "hi" }) });',
        AZURE + 'async function hello() {}\napp.timer("hello", { schedule: "0", handler: hello });',
        GOOGLE + 'functions.http("hello", (req, res) => res.send("hi"));',
        GOOGLE + 'functions.cloudEvent("hello", (event) => {});',
        AZURE + "export const other = 1;\napp.get('hello', () => ({}));",
    ],
)
def test_a_function_that_only_registers_itself_is_refused(source: str, tmp_path: Path) -> None:
    assert code(tmp_path, source) == "build/self-registered"


@pytest.mark.parametrize(
    ("source", "entry"),
    [
        (AZURE + "export async function hello() {}\napp.http('x', { handler: hello });",
         "src/hello.hello"),
        (AZURE + "const run = () => 1;\napp.http('x', {});\nexport { run as handler };",
         "src/hello.ts"),
        (AZURE + "app.http('x', {});\nexport default () => 1;", "src/hello.ts"),
        (GOOGLE + "exports.hello = () => 1;\nfunctions.http('hello', exports.hello);",
         "src/hello.hello"),
        (GOOGLE + "functions.http('x', y);\nmodule.exports = { handler: y };", "src/hello.ts"),
        ("import express from 'express';\nconst app = express();\napp.get('/', () => 1);",
         "src/hello.ts"),
        (f"// {AZURE}// app.http('x', {{}});\nexport const handler = 1;", "src/hello.ts"),
    ],
)  # fmt: skip
def test_a_function_that_also_exports_its_handler_is_taken(
    source: str, entry: str, tmp_path: Path
) -> None:
    assert code(tmp_path, source, entry) == ""


@pytest.mark.parametrize(
    "source",
    [
        WORKERS + 'connect("example.com:1");',
        'import { DurableObject as Base } from "cloudflare:workers";\nclass A extends Base {}',
        'import * as w from "cloudflare:workers";\nexport const handler = () => w.env;',
        'import "cloudflare:workers";',
        'export const handler = () => import("cloudflare:sockets");',
    ],
)
def test_a_module_of_workers_is_refused_elsewhere(source: str, tmp_path: Path) -> None:
    assert code(tmp_path, source) == "build/workers-only"
    assert code(tmp_path, source, provided=("cloudflare:*",)) == ""
    assert code(tmp_path, source, external=("cloudflare:*",)) == ""


@pytest.mark.parametrize(
    "source",
    [
        'import type { DurableObject } from "cloudflare:workers";\nlet a: DurableObject;',
        'import { DurableObject } from "cloudflare:workers";\nlet a: DurableObject | null = null;',
        '// import "cloudflare:workers";\nconst text = "see cloudflare:workers";',
    ],
)
def test_types_of_workers_are_taken_everywhere(source: str, tmp_path: Path) -> None:
    assert code(tmp_path, f"{source}\nexport const handler = () => 1;") == ""
